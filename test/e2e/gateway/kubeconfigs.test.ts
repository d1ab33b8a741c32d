import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Stored } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { labels } from '../../../src/api/names.ts';
import { virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { credentialHash, keyIDOf } from '../../../src/credentials/keys/credential-hash.ts';
import { readAuditLog } from '../../builders/audit-lines.ts';
import { Project, readingOf } from '../kubeconfigs/kubeconfig-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder, untilReached } from './known-holder.ts';
import { OwnClient, ownAPI, ownClient } from './own-client.ts';

const folder = await mkdtemp(path.join(tmpdir(), 'kubeconfigs-'));
afterAll(async () => await rm(folder, { recursive: true }));
const auditLog = path.join(folder, 'audit.log');
const world = await gatewayWorld({
  LATCHKEY_AUDIT: 'best-effort',
  LATCHKEY_AUDIT_LOG: auditLog,
});
const { admin, gateway } = world;
const inside = await sharedVirtualCluster();
const project = await Project.ready(world, inside);
const closed = await Project.ready(world, inside, { verbs: [] });
const plain = await Project.ready(world, inside, { verbs: ['use'] });
const away = await Project.make(world, inside, {
  kubeConfig: (await inside.adminKubeConfig()).replace(/(server: https:\/\/127\.0\.0\.1):\d+/, '$1:1'),
});
const { key } = await knownHolder(world, { user: 'alice' });
for (const { name, instance } of [project, plain])
  await untilReached(gateway, key, `project/${name}/virtualcluster/${instance.metadata.name}`);

const pathOf = ({ namespace, instance }: Project, name = instance.metadata.name) =>
  `/kubernetes/management/apis/management.platform.sh/v1/namespaces/${namespace}/virtualclusterinstances/${name}/kubeconfig`;

interface Sent {
  readonly in?: Project;
  readonly name?: string;
  readonly key?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

async function post(sent: Sent = {}) {
  const { in: where = project, name, body = '{}', headers = {}, query = '' } = sent;
  const answer = await gateway.send(pathOf(where, name) + query, {
    method: 'POST',
    key: sent.key ?? key,
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, headers: answer.headers, text, body: parse(text) as Stored };
}

const withSpec = async (spec: object, sent: Sent = {}) =>
  await post({ ...sent, body: JSON.stringify({ spec }) });

/** Lists the objects for requests in the namespace. */
async function objectsIn({ namespace }: Project): Promise<readonly Stored[]> {
  const list = await admin.client.list<Stored>(virtualClusterInstanceKubeConfigs, { namespace });
  return list.items.filter(({ metadata }) => metadata.labels?.[labels.ephemeral] === 'true');
}

const namesIn = async (where: Project): Promise<readonly string[]> =>
  (await objectsIn(where)).map(({ metadata }) => metadata.name);

/** The object that stands for a kubeconfig: its names begin with that of the object. */
async function objectOf(document: string): Promise<Stored> {
  const found = (await objectsIn(project)).find(({ metadata }) => document.includes(metadata.name));
  if (found === undefined) throw new Error('no object has this kubeconfig');
  return found;
}

describe('POST virtualclusterinstances/<name>/kubeconfig', () => {
  it('answers with the object that was sent and the finished kubeconfig, which works through the gateway', async () => {
    const { status, headers, body } = await withSpec({ certificateTTL: 600 });
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    expect(body).toMatchObject({
      apiVersion: 'management.platform.sh/v1',
      kind: 'VirtualClusterInstanceKubeConfig',
      metadata: { name: project.instance.metadata.name, namespace: project.namespace },
      spec: { certificateTTL: 600 },
    });
    const { token = '' } = readingOf(body.status.kubeConfig);
    const target = `/kubernetes/project/${project.name}/virtualcluster/${project.instance.metadata.name}`;
    const answer = await gateway.send(`${target}/api/v1/namespaces/default`, { key: token });
    await answer.body.dump();
    expect(answer.statusCode).toBe(200);
  });

  it('is in the audit log: who fetched which kubeconfig', async () => {
    const { body } = await post();
    const { token = '' } = readingOf(body.status.kubeConfig);
    const { metadata } = await objectOf(body.status.kubeConfig);
    const line = await until('the line', async () => {
      const log = await readFile(auditLog, 'utf8');
      expect(log).not.toContain(token.slice(-40));
      return readAuditLog(log).find(({ annotations }) => annotations['changed-uid'] === metadata.uid);
    });
    expect(line).toMatchObject({
      verb: 'create',
      user: { username: 'alice' },
      responseStatus: { code: 200 },
    });
    expect(line.objectRef).toMatchObject({ resource: 'virtualclusterinstances', subresource: 'kubeconfig' });
    expect(line.annotations).toMatchObject({
      ...{ action: 'fetch', 'changed-kind': 'VirtualClusterInstanceKubeConfig', decision: 'allow' },
      'changed-key-id': keyIDOf(credentialHash(token)),
    });
  });

  it('makes an object of its own, which goes with the instance, ends with its life and revokes when it is deleted', async () => {
    const { body } = await withSpec({ certificateTTL: 600 });
    const made = await objectOf(body.status.kubeConfig);
    expect(made.metadata).toMatchObject({
      labels: { [labels.ephemeral]: 'true' },
      ownerReferences: [{ kind: 'VirtualClusterInstance', uid: project.instance.metadata.uid }],
    });
    expect(made.spec).toEqual({
      certificateTTL: 600,
      virtualClusterInstance: project.instance.metadata.name,
    });
    await admin.delete({ kind: 'VirtualClusterInstanceKubeConfig', metadata: made.metadata });
    const { token = '' } = readingOf(body.status.kubeConfig);
    const gone = async () => {
      const answer = await gateway.send('/kubernetes/management/version', { key: token });
      await answer.body.dump();
      return answer.statusCode === 401;
    };
    await until('the token is refused', gone);
  });

  it.each([
    ['an empty body', ''],
    ['nulls', '{"metadata":null,"spec":null}'],
    ['the namespace', () => JSON.stringify({ metadata: { namespace: project.namespace } })],
    [
      'the name of the instance',
      () => JSON.stringify({ metadata: { name: project.instance.metadata.name } }),
    ],
  ])('takes %s', async (_, body) => {
    const { status, body: answer } = await post({ body: typeof body === 'string' ? body : body() });
    expect([status, typeof answer.status.kubeConfig]).toEqual([200, 'string']);
  });

  it('takes and gives YAML, as the contract shows it', async () => {
    const { name } = project.instance.metadata;
    const body = [
      'apiVersion: management.platform.sh/v1',
      'kind: VirtualClusterInstanceKubeConfig',
      'metadata:',
      `  namespace: ${project.namespace}`,
      'spec:',
      '  certificateTTL: 86400',
      '  clientCert: false',
    ].join('\n');
    const type = { 'content-type': 'application/yaml' };
    const { status, headers } = await post({ body, headers: type });
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    const yaml = await post({ body, headers: { ...type, accept: 'application/yaml' } });
    expect([yaml.status, yaml.headers['content-type']]).toEqual([200, 'application/yaml']);
    expect(yaml.text).toMatch(/\n {2}kubeConfig: \|\n {4}apiVersion: v1\n/);
    expect(yaml.body.metadata.name).toBe(name);
  });

  it('mints nothing in a dry run', async () => {
    const before = await namesIn(project);
    const { status, body } = await withSpec({ certificateTTL: 600 }, { query: '?dryRun=All' });
    expect([status, body.status]).toEqual([200, {}]);
    // Objects that a test before has deleted may go at any time.
    expect((await namesIn(project)).filter((name) => !before.includes(name))).toEqual([]);
  });

  it('ignores how long the client would wait, and names the field manager of the client', async () => {
    const { status, body } = await post({ query: '?timeout=180s&fieldManager=somebody' });
    expect(status).toBe(200);
    const { metadata } = await objectOf(body.status.kubeConfig);
    expect(metadata.managedFields?.map(({ manager }) => manager)).toContain('somebody');
  });
});

describe('such a POST is refused', () => {
  it.each<[string, string, Sent, number]>([
    ['of another kind', '{"kind":"OwnedAccessKey"}', {}, 400],
    ['of another version', '{"apiVersion":"management.platform.sh/v2"}', {}, 400],
    ['for another name', '{"metadata":{"name":"other"}}', {}, 400],
    ['for another instance', '{"spec":{"virtualClusterInstance":"other"}}', {}, 400],
    ['with a Secret', '{"spec":{"secretRef":{"name":"a"}}}', {}, 400],
    ['that is no JSON', '{', {}, 400],
    ['of an unknown field', '{"spec":{"a":1}}', {}, 400],
    ['of an unknown field at the top', '{"scope":{}}', {}, 400],
    ['of an unknown field, strictly', '{"spec":{"a":1}}', { query: '?fieldValidation=Strict' }, 400],
    ['of a life that is no whole number', '{"spec":{"certificateTTL":60.5}}', {}, 422],
    ['of a life that is text', '{"spec":{"certificateTTL":"60"}}', {}, 422],
    ['of a life that is too short', '{"spec":{"certificateTTL":59}}', {}, 422],
    [
      'of a certificate for less than 600 seconds',
      '{"spec":{"certificateTTL":599,"clientCert":true}}',
      {},
      422,
    ],
    ['of a server with a password', '{"spec":{"server":"https://a:b@c.example.com"}}', {}, 422],
    ['in protobuf', '{}', { headers: { 'content-type': 'application/vnd.kubernetes.protobuf' } }, 415],
    ['of more than 1 MiB', JSON.stringify({ a: 'a'.repeat(2 ** 20) }), {}, 413],
  ])('%s', async (_, body, sent, expected) => {
    const { status, body: answer } = await post({ ...sent, body });
    expect([status, answer.kind]).toEqual([expected, 'Status']);
  });

  it('to a user without the verb "use", in the same words whether or not there is an instance', async () => {
    const answers = [await post({ in: closed }), await post({ in: closed, name: 'none' })];
    const messages = answers.map(({ status, body }) => [
      status,
      (body as unknown as { message: string }).message,
    ]);
    expect(messages[0]).toEqual([403, expect.stringContaining('User "alice" needs the verb "use"')]);
    const name = closed.instance.metadata.name;
    expect(String(messages[1]?.[1])).toBe(String(messages[0]?.[1]).replace(`/${name} `, '/none '));
  });

  it('with a client certificate to a user without the verb "use-as-admin"', async () => {
    const { status, text } = await withSpec({ clientCert: true }, { in: plain });
    expect([status, text]).toEqual([403, expect.stringContaining('use-as-admin')]);
    expect((await post({ in: plain })).status).toBe(200);
  });

  it('with a credential whose scope holds no virtual cluster', async () => {
    const narrow = await knownHolder(world, { user: 'alice', scope: { clusters: [{ cluster: '*' }] } });
    expect((await post({ key: narrow.key })).status).toBe(403);
  });
});

describe('what a limited credential gets', () => {
  const scope = {
    virtualClusters: [{ project: project.name, virtualCluster: project.instance.metadata.name }],
  };

  it('is below the access key, and ends with it', async () => {
    const holder = await knownHolder(world, { user: 'alice', scope });
    const { status, body } = await post({ key: holder.key });
    expect(status).toBe(200);
    const made = await objectOf(body.status.kubeConfig);
    expect([made.spec.accessKey, made.status.accessKeyUID]).toEqual([
      holder.object.metadata.name,
      holder.object.metadata.uid,
    ]);
    await admin.patch(holder.object, { spec: { disabled: true } });
    const { token = '' } = readingOf(body.status.kubeConfig);
    const refused = async () => {
      const answer = await gateway.send('/kubernetes/management/version', { key: token });
      await answer.body.dump();
      return answer.statusCode === 401;
    };
    await until('the kubeconfig is refused', refused);
  });

  it.each([
    ['team', { team: world.name('core'), scope }],
    ['subject', { subject: world.name('robot'), scope }],
  ])('works for the key of a %s too', async (_, spec) => {
    const holder = await knownHolder(world, spec);
    const user = 'team' in spec ? `team:${spec.team}` : spec.subject;
    await world.plane.kubectl([
      ...['create', 'rolebinding', world.name('use'), `--namespace=${project.namespace}`],
      ...['--role=users', `--user=${user}`],
    ]);
    await until(
      'the right counts',
      async () => (await post({ key: holder.key, query: '?dryRun=All' })).status === 200,
    );
    expect(await post({ key: holder.key })).toMatchObject({ status: 200 });
  });

  it('is no client certificate, which knows no scope, and nothing is left', async () => {
    const before = await namesIn(project);
    const { key: scoped } = await knownHolder(world, { user: 'alice', scope });
    const { status, text } = await withSpec({ clientCert: true }, { key: scoped });
    expect([status, text]).toEqual([403, expect.stringContaining('ClientCertNotAllowed')]);
    await until('nothing is left', async () =>
      (await namesIn(project)).every((name) => before.includes(name)),
    );
  });

  it('cannot be below another key', async () => {
    const [{ key: scoped }, other] = [
      await knownHolder(world, { user: 'alice', scope }),
      await knownHolder(world, { user: 'alice' }),
    ];
    const { status } = await withSpec({ accessKey: other.object.metadata.name }, { key: scoped });
    expect(status).toBe(403);
  });

  it('is nothing for a kubeconfig, which cannot be a parent', async () => {
    const { body } = await post();
    const { token = '' } = readingOf(body.status.kubeConfig);
    const { status, text } = await post({ key: token });
    expect([status, text]).toEqual([403, expect.stringContaining('a kubeconfig or a token has none')]);
  });
});

describe('an object of one’s own in place of a POST to the instance', async () => {
  const scope = { projects: [{ project: project.name }] };
  const limited = await ownClient(world, { user: 'alice', scope });
  const free = new OwnClient(world, key);
  const own = (namespace: string) => `${ownAPI}/namespaces/${namespace}/virtualclusterinstancekubeconfigs`;
  const bodyFor = ({ instance }: Project) => ({
    metadata: { name: world.name('kc') },
    spec: { virtualClusterInstance: instance.metadata.name },
  });

  /** By a POST, an apply, and dry runs of both. */
  async function eachDoor(client: OwnClient, namespace: string, body: ReturnType<typeof bodyFor>) {
    const apply = { body, type: 'application/apply-patch+yaml' };
    const place = `${own(namespace)}/${body.metadata.name}?fieldManager=a`;
    return [
      await client.send('POST', `${own(namespace)}?dryRun=All`, { body }),
      await client.send('PATCH', `${place}&dryRun=All`, apply),
      await client.send('PATCH', place, apply),
      await client.send('POST', own(namespace), { body: { ...body, metadata: { name: world.name('kc') } } }),
    ];
  }

  it('takes the same scope', async () => {
    const [outside, inScope] = [bodyFor(plain), bodyFor(project)];
    const byPath = await limited.send('POST', pathOf(plain), { body: {} });
    expect([byPath.status, byPath.body.details.causes[0].reason]).toEqual([403, 'ERR_SCOPE']);
    for (const { status, body } of await eachDoor(limited, plain.namespace, outside))
      expect([status, body.details?.causes[0].reason]).toEqual([403, 'ERR_SCOPE']);
    for (const { status } of await eachDoor(limited, project.namespace, inScope))
      expect([200, 201]).toContain(status);
    for (const { status } of await eachDoor(free, plain.namespace, bodyFor(plain)))
      expect([200, 201]).toContain(status);
  });

  const parent = (await knownHolder(world, { user: 'alice' })).object.metadata.name;
  const year = 31_536_000;

  it.each([
    ['a scope', { user: 'alice', scope }],
    ['an end', { user: 'alice', ttl: 900 }],
    ['a parent', { accessKey: parent }],
  ])('is below a maker with %s, whichever the door, and below no other key', async (_, spec) => {
    const maker = await ownClient(world, spec);
    const { name: accessKey } = maker.object.metadata;
    await untilReached(
      gateway,
      maker.key,
      `project/${project.name}/virtualcluster/${project.instance.metadata.name}`,
    );
    const end = Date.parse(String(maker.object.status.expirationTimestamp));
    const long = { ...bodyFor(project).spec, certificateTTL: year };
    const made = await eachDoor(maker, project.namespace, { ...bodyFor(project), spec: long });
    for (const { status, body } of made) {
      expect([[200, 201].includes(status), body.spec.accessKey]).toEqual([true, accessKey]);
      const ends = Date.parse(body.status?.expirationTimestamp ?? '');
      // Dry runs end nowhere, and a maker without an end has none.
      if (!Number.isNaN(ends) && !Number.isNaN(end)) expect(ends).toBeLessThanOrEqual(end);
    }
    expect(made.filter(({ body }) => body.status?.expirationTimestamp !== undefined)).not.toEqual([]);
    const byPath = await withSpec({ certificateTTL: year }, { key: maker.key });
    expect((await objectOf(byPath.body.status.kubeConfig)).spec.accessKey).toBe(accessKey);
    const elsewhere = { ...long, accessKey: parent };
    const refused = await eachDoor(maker, project.namespace, { ...bodyFor(project), spec: elsewhere });
    for (const { status, body } of refused) {
      expect([status, body.details.causes[0].reason]).toEqual([403, 'ERR_PARENT']);
      expect(body.message).toContain('log in again, or ask an administrator of the platform');
    }
    for (const query of ['', '?dryRun=All']) {
      const { status, text } = await withSpec({ accessKey: parent }, { key: maker.key, query });
      expect([status, text]).toEqual([403, expect.stringContaining('leave spec.accessKey out')]);
    }
  });

  const disabled = (await knownHolder(world, { user: 'alice' })).object;
  await admin.patch(disabled, { spec: { disabled: true } });
  const below = (accessKey: string) => {
    const { metadata, spec } = bodyFor(project);
    return { metadata, spec: { ...spec, accessKey } };
  };

  it('below a key that is not there is refused as one below a key of someone else', async () => {
    for (const { status, body } of await eachDoor(free, project.namespace, below('no-such-key')))
      expect([status, body.message]).toEqual([403, expect.stringContaining('names no key of your own')]);
  });

  it('below a key that does not work is no 201 without the reason, also for one who may create any', async () => {
    const resources = ['virtualclusterinstancekubeconfigs'];
    await giveRight(admin, 'alice', { apiGroups: ['management.platform.sh'], resources, verbs: ['create'] });
    const dryRun = `${own(project.namespace)}?dryRun=All`;
    const mayCreate = async () =>
      (await free.send('POST', dryRun, { body: below('no-such-key') })).status === 201;
    await until('the right counts', mayCreate);
    for (const [accessKey, reason] of [
      ['no-such-key', 'AccessKeyNotFound'],
      [disabled.metadata.name, 'AccessKeyNotLive'],
    ] as const) {
      const [, , applied, posted] = await eachDoor(free, project.namespace, below(accessKey));
      expect([posted?.status, posted?.body.message]).toEqual([422, expect.stringContaining(`(${reason})`)]);
      // It stays, and its conditions go on saying why.
      const warning = expect.stringContaining(`the credential does not work yet: ${reason}`);
      expect([applied?.status, String(applied?.headers['warning'])]).toEqual([201, warning]);
    }
  });

  it('with a field that is not known is refused by name', async () => {
    const sent = bodyFor(project);
    const spec = { ...sent.spec, certificateTtl: 600 };
    const [dry, dryApply, apply, post] = await eachDoor(free, project.namespace, { ...sent, spec });
    for (const answer of [dry, post])
      expect([answer?.status, answer?.body.message]).toEqual([
        400,
        expect.stringContaining('unknown field "spec.certificateTtl"'),
      ]);
    // In the words of the API server.
    for (const answer of [dryApply, apply])
      expect([answer?.status, answer?.body.message]).toEqual([
        400,
        expect.stringContaining('.spec.certificateTtl: field not declared'),
      ]);
  });

  it.each(['latchkey-system', 'latchkey-targets'])('is none in %s', async (namespace) => {
    const answers = [
      ...(await eachDoor(free, namespace, bodyFor(project))),
      await free.send('POST', `${ownAPI}/namespaces/${namespace}/virtualclusterinstances/a/kubeconfig`, {
        body: {},
      }),
    ];
    for (const { status, body } of answers)
      expect([status, body.details.causes[0].reason]).toEqual([403, 'ERR_NAMESPACE']);
    const { items } = await admin.client.list(virtualClusterInstanceKubeConfigs, { namespace });
    expect(items).toEqual([]);
  });
});

describe('an instance that cannot be used before someone corrects it', () => {
  it('is answered at once, with the reason, and leaves nothing', async () => {
    const stalled = await Project.make(world, inside, { kubeConfig: 'this is no kubeconfig' });
    const answer = await until('the gateway knows', async () => {
      const seen = await post({ in: stalled, query: '?dryRun=All' });
      return seen.status === 422 && seen;
    });
    expect(answer.text).toContain('KubeConfigRefused');
    const began = performance.now();
    const { status, text } = await withSpec({ certificateTTL: 600 }, { in: stalled });
    expect([status, text]).toEqual([422, expect.stringContaining('KubeConfigRefused')]);
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(await objectsIn(stalled)).toEqual([]);
  });
});

describe('a client that leaves', () => {
  it('takes the object with it', async () => {
    const isKnown = async () => (await post({ in: away, query: '?dryRun=All' })).status === 200;
    await until('the gateway knows the instance', isKnown);
    const leaving = new AbortController();
    const request = gateway.send(pathOf(away), {
      method: 'POST',
      key,
      headers: { 'content-type': 'application/json' },
      body: '{}',
      signal: leaving.signal,
    });
    request.catch(() => undefined);
    await until('the object is there', async () => (await objectsIn(away)).length === 1);
    leaving.abort();
    await until('the object is gone', async () => (await objectsIn(away)).length === 0);
  });
});

it('a kubeconfig that has ended is called expired', async () => {
  const brief = await knownHolder(world, { user: 'alice', ttl: 20 });
  const instance = project.instance.metadata.name;
  await untilReached(gateway, brief.key, `project/${project.name}/virtualcluster/${instance}`);
  const briefToken = readingOf((await post({ key: brief.key })).body.status.kubeConfig).token ?? '';
  const { status, text } = await until('it has ended', async () => {
    const answer = await gateway.send('/kubernetes/management/version', { key: briefToken });
    const seen = { status: answer.statusCode, text: await answer.body.text() };
    return seen.status !== 200 && seen;
  });
  expect([status, text]).toEqual([
    401,
    expect.stringContaining('the token in the kubeconfig has expired: fetch the kubeconfig again'),
  ]);
});
