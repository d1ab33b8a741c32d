import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { apiVersion, group } from '../../../src/api/names.ts';
import { Project, readingOf } from '../kubeconfigs/kubeconfig-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { untilReached, untilUnknown } from './known-holder.ts';
import { management, OwnClient, ownAPI, ownClient, ownKeys, ownTokens } from './own-client.ts';

/** Requests as clients of the API send them that were written before Latchkey: command lines, an SDK, a user interface, curl. */
const world = await gatewayWorld();
const { admin, gateway, name } = world;
const project = await Project.ready(world, await sharedVirtualCluster());
const { namespace } = project;
const instance = project.instance.metadata.name;
const alice = name('alice');
for (const rule of [
  { apiGroups: [group], resources: ['virtualclusterinstances'], verbs: ['get', 'list', 'watch', 'use'] },
  { apiGroups: [group], resources: ['ownedaccesskeys'], verbs: ['manage-platform-fields'] },
  { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] },
])
  await giveRight(admin, alice, rule);
const holder = await ownClient(world, { user: alice });
const target = `project/${project.name}/virtualcluster/${instance}`;
await untilReached(gateway, holder.key, target);

const accept = 'application/json, */*';
const send = async (method: string, path: string, body?: object, client: OwnClient = holder) =>
  await client.send(method, path, { accept, ...(body === undefined ? {} : { body }) });
const empty = (kind: string) => ({ kind, apiVersion, metadata: {}, spec: {}, status: {} });
const withSpec = (kind: string, spec: object, metadata: object = {}) => ({ ...empty(kind), metadata, spec });
const seconds = (object: {
  metadata: { creationTimestamp: string };
  status: { expirationTimestamp: string };
}) =>
  Math.round(
    (Date.parse(object.status.expirationTimestamp) - Date.parse(object.metadata.creationTimestamp)) / 1_000,
  );

describe('before every command', () => {
  it('asks who it is', async () => {
    const { status, body } = await send('POST', `${ownAPI}/selves`, empty('Self'));
    expect([status, body.kind, body.status.accessKey]).toEqual([201, 'Self', holder.object.metadata.name]);
    expect(body.status).toMatchObject({ user: { name: alice }, projectNamespacePrefix: 'p-' });
  });

  it('asks for the version, without a prefix and without a key', async () => {
    const { statusCode, body } = await gateway.send('/version', {});
    expect([statusCode, await body.json()]).toEqual([200, { version: expect.stringMatching(/^v?\d+\./) }]);
  });
});

describe('an access key', () => {
  const roles = [{ role: 'vcluster' }];
  const virtualClusters = [{ project: project.name, virtualCluster: instance }];

  it.each([
    ['a name', {}],
    ['a name and a life', { ttl: 3_600 }],
    ['a name and a role', { scope: { roles } }],
  ])('is made with %s', async (_, more) => {
    const metadata = { name: name('named') };
    const spec = { displayName: 'CI', user: alice, type: 'User', ...more };
    const { status, body } = await send('POST', ownKeys, withSpec('OwnedAccessKey', spec, metadata));
    expect([status, body.metadata.name]).toEqual([201, metadata.name]);
    expect(body.spec).toEqual({ ...spec, key: expect.stringMatching(/^lk_/) });
  });

  it.each([
    ['of a user', () => ({ user: alice, team: '' })],
    ['of a team', () => ({ user: '', team: name('team') })],
  ])('is made without a name, %s, for a role', async (_, who) => {
    const spec = { displayName: 'agent', ...who(), scope: { roles } };
    const { status, body, text } = await send('POST', ownKeys, withSpec('OwnedAccessKey', spec));
    expect([status, text]).toEqual([201, text]);
    expect([body.metadata.name, body.spec.key]).toEqual([
      expect.stringMatching(/./),
      expect.stringMatching(/^lk_/),
    ]);
  });

  it('is made without a name, for 90 days and one virtual cluster, and opens that alone', async () => {
    const spec = { displayName: 'workspace', user: alice, ttl: 7_776_000, scope: { virtualClusters } };
    const { status, body } = await send('POST', ownKeys, withSpec('OwnedAccessKey', spec));
    expect([status, body.spec.ttl, seconds(body)]).toEqual([201, 7_776_000, 7_776_000]);
    const narrow = new OwnClient(world, body.spec.key);
    await untilReached(gateway, narrow.key, target);
    const inside = await send('GET', `/kubernetes/${target}/api/v1/namespaces/default`, undefined, narrow);
    const outside = await send('GET', `${management}/api/v1/namespaces/default`, undefined, narrow);
    expect([inside.status, outside.status]).toEqual([200, 403]);
  });

  it('of a login finds itself and deletes itself with an empty body', async () => {
    const spec = { displayName: 'login', user: alice, type: 'Login', ttl: 3_600 };
    const made = await send('POST', ownKeys, withSpec('OwnedAccessKey', spec));
    expect(made.status).toBe(201);
    const login = new OwnClient(world, made.body.spec.key);
    const self = await send('POST', `${ownAPI}/selves`, empty('Self'), login);
    const { accessKey } = self.body.status;
    expect(accessKey).toBe(made.body.metadata.name);
    const { status, body } = await send('DELETE', `${ownKeys}/${accessKey}`, {}, login);
    expect([status, ['Status', 'OwnedAccessKey'].includes(body.kind)]).toEqual([200, true]);
    await untilUnknown(gateway, login.key);
  });

  it('is made by kubectl, read, replaced, patched and applied', async () => {
    const metadata = { name: name('kept') };
    const query = '?fieldManager=kubectl-create&fieldValidation=Strict';
    const object = { apiVersion, kind: 'OwnedAccessKey', metadata, spec: { displayName: 'CI', user: alice } };
    expect((await send('POST', ownKeys + query, object)).status).toBe(201);
    const path = `${ownKeys}/${metadata.name}`;
    const put = await until('no one else writes', async () => {
      const read = await send('GET', path);
      expect([read.status, read.body.metadata.resourceVersion]).toEqual([
        200,
        expect.stringMatching(/^\d+$/),
      ]);
      const answer = await send('PUT', path, {
        ...read.body,
        spec: { ...read.body.spec, displayName: 'put' },
      });
      return answer.status !== 409 && answer;
    });
    expect([put.status, put.body.spec.displayName]).toEqual([200, 'put']);
    const patch = async (type: string, body: object, more = '') => {
      const { status, body: answer } = await holder.send('PATCH', path + more, { accept, type, body });
      return [status, answer.spec?.displayName];
    };
    const operations = [{ op: 'replace', path: '/spec/displayName', value: 'json' }];
    const named = (displayName: string) => ({ ...object, spec: { displayName, user: alice } });
    const lastApplied = {
      'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(named('merge')),
    };
    const merge = { metadata: { annotations: lastApplied }, spec: { displayName: 'merge' } };
    expect(await patch('application/json-patch+json', operations)).toEqual([200, 'json']);
    expect(await patch('application/merge-patch+json', merge)).toEqual([200, 'merge']);
    const apply = '?fieldManager=kubectl&force=true';
    expect(await patch('application/apply-patch+yaml', named('apply'), apply)).toEqual([200, 'apply']);
  });

  it('is listed, watched and deleted with others, and no one writes its status', async () => {
    const user = name('other');
    const other = await ownClient(world, { user });
    const made = await send('POST', ownKeys, withSpec('OwnedAccessKey', { displayName: 'x', user }), other);
    const path = `${ownKeys}/${made.body.metadata.name}`;
    const list = await send('GET', `${ownKeys}?limit=500`, undefined, other);
    expect([list.status, list.body.kind, list.body.items.length]).toEqual([200, 'OwnedAccessKeyList', 2]);
    const watch = await other.watch(
      `${ownKeys}?watch=true&resourceVersion=${list.body.metadata.resourceVersion}`,
    );
    const { body: read } = await send('GET', path, undefined, other);
    const status = { ...read.status, lastActivity: '2001-01-01T00:00:00Z' };
    expect((await send('PUT', `${path}/status`, { ...read, status }, other)).status).toBe(403);
    expect(
      (
        await send(
          'DELETE',
          `${ownKeys}?fieldSelector=metadata.name%3D${read.metadata.name}`,
          undefined,
          other,
        )
      ).status,
    ).toBe(200);
    await watch.until('its end is seen', (events) =>
      events.some(({ type, object }) => type === 'DELETED' && object.metadata.name === read.metadata.name),
    );
    watch.end();
  });

  it('is tried out by a Self that names it, and another one is no key', async () => {
    const asSelf = async (accessKey: string) =>
      await send('POST', `${ownAPI}/selves`, withSpec('Self', { accessKey }));
    const made = await send('POST', ownKeys, withSpec('OwnedAccessKey', { user: alice, ttl: 600 }));
    const good = await asSelf(made.body.spec.key);
    expect([good.status, good.body.status.subject]).toEqual([201, alice]);
    expect((await asSelf('none')).status).toBeGreaterThanOrEqual(400);
  });
});

describe('a token', () => {
  it.each<[string, object, number]>([
    ['with nothing', {}, 86_400],
    [
      'for 90 days and a virtual cluster',
      {
        ttl: 7_776_000,
        scope: { virtualClusters: [{ project: project.name, virtualCluster: instance }] },
      },
      7_776_000,
    ],
    [
      'for 90 days and a space',
      { ttl: 7_776_000, scope: { spaces: [{ project: project.name, space: 'a' }] } },
      7_776_000,
    ],
  ])('is made %s', async (_, spec, life) => {
    const { status, body } = await send('POST', ownTokens, withSpec('DirectClusterEndpointToken', spec));
    expect([status, body.status.token.split('.').length]).toEqual([201, 3]);
    const { exp, iat } = JSON.parse(Buffer.from(body.status.token.split('.')[1], 'base64url').toString());
    expect(exp - iat).toBe(life);
  });
});

interface Sent {
  readonly metadata?: object;
  readonly query?: string;
  /** Seconds that it is good for. */
  readonly life: number;
}

describe('a kubeconfig of an instance', () => {
  const place = `${ownAPI}/namespaces/${namespace}/virtualclusterinstances/${instance}/kubeconfig`;
  const kind = 'VirtualClusterInstanceKubeConfig';

  it.each<[string, object, Sent]>([
    ['with nothing', {}, { life: 86_400 }],
    ['for a day', { certificateTTL: 86_400 }, { metadata: { name: instance }, life: 86_400 }],
    ['for 90 days', { certificateTTL: 7_776_000 }, { metadata: { namespace }, life: 7_776_000 }],
    ['for ten years', { certificateTTL: 315_360_000 }, { query: '?timeout=180s', life: 31_536_000 }],
    ['for ten minutes', { certificateTTL: 600, clientCert: false }, { metadata: { namespace }, life: 600 }],
  ])('comes %s, and opens the virtual cluster', async (_, spec, { metadata = {}, query = '', life }) => {
    const { status, body } = await send('POST', place + query, withSpec(kind, spec, metadata));
    expect([status, body.kind, body.spec]).toEqual([200, kind, spec]);
    const { token = '', server } = readingOf(body.status.kubeConfig);
    expect(server).toMatch(new RegExp(`/kubernetes/${target}$`));
    const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(exp - iat).toBe(life);
    await untilReached(gateway, token, target);
  });

  it('is sent by curl in YAML', async () => {
    const text = [`apiVersion: ${apiVersion}`, `kind: ${kind}`, 'metadata:', `  namespace: ${namespace}`];
    const { status, body } = await holder.send('POST', place, {
      type: 'application/yaml',
      body: [...text, 'spec:', '  certificateTTL: 86400', '  clientCert: false', ''].join('\n'),
    });
    expect([status, parse(body.status.kubeConfig).kind]).toEqual([200, 'Config']);
  });
});

describe('an instance', () => {
  it.each([
    ['of all namespaces', '/virtualclusterinstances?extended=true'],
    ['of a project', `/namespaces/${namespace}/virtualclusterinstances?extended=true`],
  ])('is found in the list %s', async (_, path) => {
    const { status, body } = await send('GET', ownAPI + path);
    expect(status).toBe(200);
    const names = body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect(names).toContain(instance);
  });

  it.each(['?extended=true', ''])('is waited for by its phase: "%s"', async (query) => {
    const path = `${ownAPI}/namespaces/${namespace}/virtualclusterinstances/${instance}${query}`;
    const { status, body } = await send('GET', path);
    expect([status, body.status.phase]).toEqual([200, 'Ready']);
    expect(body.status.virtualCluster.accessPoint.ingress.enabled).toBe(true);
  });

  it('is entered with the access key', async () => {
    const { status } = await send('GET', `/kubernetes/${target}/api/v1/namespaces/default`);
    expect(status).toBe(200);
  });
});
