import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
} from '@kubernetes/client-node';
import { afterAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { buildGoProgram } from '../../../lab/go/build-program.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { apiVersion } from '../../../src/api/names.ts';
import { Project, readingOf } from '../kubeconfigs/kubeconfig-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { untilKnown, untilReached, untilUnknown } from './known-holder.ts';
import {
  credential,
  management,
  OwnClient,
  type OwnWatch,
  ownAPI,
  ownClient,
  ownKeys,
  ownTokens,
} from './own-client.ts';

const maxTokens = 4;
const env = {
  LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8',
  LATCHKEY_MAX_OBJECTS_PER_OWNER: String(maxTokens),
};
const world = await gatewayWorld(env);
const { admin, guard } = world;
const other = await RunningGateway.start(world.plane, guard, { name: world.name('replica'), env });
afterAll(async () => void (await other.end()));
const replicas = [world.gateway, other];
const project = await Project.ready(world, await sharedVirtualCluster());
const here = await ownClient(world, { user: 'alice' });
const there = new OwnClient({ gateway: other, admin }, here.key);
const target = `project/${project.name}/virtualcluster/${project.instance.metadata.name}`;
for (const gateway of replicas) await untilReached(gateway, here.key, target);
const kubeConfigs = `${ownAPI}/namespaces/${project.namespace}/virtualclusterinstancekubeconfigs`;
const forInstance = { virtualClusterInstance: project.instance.metadata.name, certificateTTL: 600 };

describe('what is made at one replica', () => {
  it.each([
    ['keys', ownKeys, { ttl: 600 }],
    ['tokens', ownTokens, { ttl: 600 }],
    ['kubeconfigs', kubeConfigs, forInstance],
  ])('is read, changed and deleted at the other one: %s', async (_, place, spec) => {
    const metadata = { name: world.name('both') };
    const made = await here.send('POST', place, { body: { metadata, spec } });
    expect([made.status, credential.test(made.text)]).toEqual([201, true]);
    const own = `${place}/${metadata.name}`;
    await until('the other replica has it', async () => (await there.send('GET', own)).status === 200);
    const read = await there.send('GET', own);
    expect(read.text).not.toMatch(credential);
    const list = await there.send('GET', `${place}?fieldSelector=metadata.name%3D${metadata.name}`);
    expect(list.body.items).toEqual([read.body]);
    const label = { metadata: { labels: { from: 'there' } } };
    const type = 'application/merge-patch+json';
    expect((await there.send('PATCH', own, { type, body: label })).status).toBe(200);
    const { body } = await here.send('GET', own);
    expect(body.metadata.labels['from']).toBe('there');
    const put = await here.send('PUT', own, { body });
    expect([put.status, put.body.metadata.uid]).toEqual([200, made.body.metadata.uid]);
    expect((await there.send('DELETE', own)).status).toBe(200);
    await until('it is gone here', async () => (await here.send('GET', own)).status === 404);
  });

  it('opens the other one, and no longer when it is deleted there', async () => {
    const made = await here.send('POST', ownKeys, { body: { spec: { ttl: 600 } } });
    const key = made.body.spec.key as string;
    await untilKnown(other, key);
    const read = await new OwnClient({ gateway: other, admin }, key).send('GET', ownKeys);
    expect(read.status).toBe(200);
    await there.send('DELETE', `${ownKeys}/${made.body.metadata.name}`);
    for (const gateway of replicas) await untilUnknown(gateway, key);
  });

  it('by a POST of a kubeconfig leads into the virtual cluster through the other one', async () => {
    const instance = project.instance.metadata.name;
    const place = `${ownAPI}/namespaces/${project.namespace}/virtualclusterinstances/${instance}/kubeconfig`;
    const { status, body } = await here.send('POST', place, { body: { spec: { certificateTTL: 600 } } });
    expect(status).toBe(200);
    const { token = '' } = readingOf(body.status.kubeConfig);
    const inside = `/kubernetes/project/${project.name}/virtualcluster/${instance}/api/v1/namespaces/default`;
    const enters = async () => {
      const answer = await other.send(inside, { key: token });
      await answer.body.dump();
      return answer.statusCode === 200;
    };
    await until('the other replica lets it in', enters);
  });

  it('is seen by a watch at the other one that goes on from a list of the first', async () => {
    const { body: list } = await here.send('GET', ownKeys);
    const from = `${ownKeys}?watch=true&resourceVersion=${list.metadata.resourceVersion}`;
    const watch = await there.watch(from);
    const metadata = { name: world.name('watched') };
    await here.send('POST', ownKeys, { body: { metadata, spec: { ttl: 600 } } });
    const typesIn = (events: OwnWatch['events']) =>
      events.filter(({ object }) => object.metadata.name === metadata.name).map(({ type }) => type);
    // An object that comes and goes before a replica has read it is never seen there.
    await watch.until('it is seen', (events) => typesIn(events)[0] === 'ADDED');
    await here.send('DELETE', `${ownKeys}/${metadata.name}`);
    await watch.until('its end is seen', (events) => typesIn(events).at(-1) === 'DELETED');
    expect(watch.text).not.toMatch(credential);
    watch.end();
  });
});

describe('what both replicas say of the API', () => {
  const read = async (gateway: RunningGateway, path: string, headers: Readonly<Record<string, string>>) => {
    const answer = await gateway.send(management + path, { key: here.key, headers });
    const { etag, 'content-type': type } = answer.headers;
    return { status: answer.statusCode, etag, type, text: await answer.body.text() };
  };
  const aggregated = (form: string) =>
    `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`;

  it.each([
    ['/apis', aggregated('v2'), 'selves'],
    ['/openapi/v3/apis/management.platform.sh/v1', 'application/json', 'selves'],
  ])('is the same text with the same ETag: %s as %s', async (path, accept, part) => {
    const one = await read(world.gateway, path, { accept });
    expect(one).toMatchObject({ status: 200, type: accept, etag: expect.stringMatching(/^"[0-9A-F]{64}"$/) });
    expect(one.text).toContain(part);
    expect(await read(other, path, { accept })).toEqual(one);
    const again = { accept, 'if-none-match': String(one.etag) };
    expect(await read(other, path, again)).toMatchObject({ status: 304, etag: one.etag, text: '' });
  });

  it('is the same index of OpenAPI, in which a hash stands for each document', async () => {
    const headers = { accept: 'application/json' };
    const one = await read(world.gateway, '/openapi/v3', headers);
    const { serverRelativeURL } = JSON.parse(one.text).paths['apis/management.platform.sh/v1'];
    expect([one.status, serverRelativeURL]).toEqual([200, expect.stringMatching(/\?hash=[0-9A-F]{64}$/)]);
    expect(await read(other, '/openapi/v3', headers)).toEqual(one);
  });

  it('is the same in the older form: what the API server says of it, which has the newer one only', async () => {
    const headers = { accept: aggregated('v2beta1') };
    const one = await read(world.gateway, '/apis', headers);
    const direct = await world.plane.kubectl(['get', '--raw', '/apis']);
    expect([one.status, await read(other, '/apis', headers)]).toEqual([406, one]);
    const either = { accept: `${headers.accept},application/json` };
    const groups = await read(other, '/apis', either);
    expect(JSON.parse(groups.text)).toEqual(JSON.parse(direct.stdout));
    expect(await read(world.gateway, '/apis', either)).toEqual(groups);
  });
});

it('two replicas exceed a quota by no more than what is under way', async () => {
  const holder = await ownClient(world, { user: world.name('eager') });
  const elsewhere = new OwnClient({ gateway: other, admin }, holder.key);
  await untilKnown(other, holder.key);
  const both = [holder, elsewhere];
  const make = async (client: OwnClient) =>
    await client.send('POST', ownTokens, { body: { spec: { ttl: 600 } } });
  const clients = both.flatMap((client) => Array.from({ length: 3 * maxTokens }, () => client));
  const answers = await Promise.all(clients.map(make));
  let made = answers.filter(({ status }) => status === 201).length;
  // A token that a watch brought before its POST was answered is counted twice for a moment.
  for (; made < maxTokens; made++) expect((await make(holder)).status).toBe(201);
  // Each replica knows of its own at least.
  expect(made).toBeLessThanOrEqual(both.length * maxTokens);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 429]));
  for (const client of both) {
    await until(
      'it has all of them',
      async () => (await client.send('GET', ownTokens)).body.items.length === made,
    );
    const { status, headers, body } = await make(client);
    expect([status, headers['retry-after'], body.reason]).toEqual([429, '60', 'TooManyRequests']);
    expect(body.message).toContain(`${made} directclusterendpointtokens`);
  }
});

describe('a client that follows at one replica what it does at the other', async () => {
  const writing = await world.gateway.kubeconfig(here.key);
  const reading = await other.kubeconfig(here.key);

  it('in Go, with types of its own, does all with one of each kind, and its informers hear of it', async () => {
    const program = path.join(guard.folder, 'own');
    const source = path.join(import.meta.dirname, '../../clientgo/own');
    expect(await buildGoProgram(source, program)).toBe(true);
    const { metadata } = project.instance;
    const args = [writing, reading, project.namespace, metadata.name, world.name('go')];
    const { stdout } = await promisify(execFile)(program, args, { timeout: 240_000 });
    const plurals = ['ownedaccesskeys', 'directclusterendpointtokens', 'virtualclusterinstancekubeconfigs'];
    const told = plurals.flatMap((plural) =>
      ['added', 'updated', 'updated', 'deleted'].flatMap((event) => [
        `${plural} objects ${event}`,
        `${plural} metadata ${event}`,
      ]),
    );
    expect(stdout.trimEnd().split('\n')).toEqual(told);
  });

  it.each<[string, string, object, string?]>([
    ['OwnedAccessKey', ownKeys, { ttl: 600 }],
    ['DirectClusterEndpointToken', ownTokens, { ttl: 600 }],
    ['VirtualClusterInstanceKubeConfig', kubeConfigs, forInstance, project.namespace],
  ])('in JavaScript does the same: %s', async (kind, place, spec, namespace) => {
    const [writer, reader] = [writing, reading].map(configOf) as [KubeConfig, KubeConfig];
    const [api, follower] = [writer, reader].map((config) => KubernetesObjectApi.makeApiClient(config)) as [
      KubernetesObjectApi,
      KubernetesObjectApi,
    ];
    const name = world.name('node');
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
    const header = { apiVersion, kind, metadata };
    const list = async () => await follower.list(apiVersion, kind, namespace);
    const seen: string[] = [];
    const informer = makeInformer<KubernetesObject>(reader, place.replace(management, ''), list);
    for (const event of ['add', 'update', 'delete'] as const)
      informer.on(event, ({ metadata: of }) => {
        if (of?.name === name) seen.push(`${event} ${of.labels?.['step'] ?? ''}`.trim());
      });
    const isSeen = async (event: string) =>
      void (await until(`the informer: ${event}`, async () => seen.includes(event), { seen: () => seen }));
    await informer.start();
    expect(JSON.stringify(await api.create({ ...header, spec } as KubernetesObject))).toMatch(credential);
    await isSeen('add');
    expect((await list()).items.map((item) => item.metadata?.name)).toContain(name);
    const found = await follower.read(header);
    expect(JSON.stringify(found)).not.toMatch(credential);
    const labels = { ...found.metadata?.labels, step: 'put' };
    await api.replace({ ...found, metadata: { ...found.metadata, labels } } as KubernetesObject);
    await isSeen('update put');
    await patch(api, { ...header, metadata: { ...metadata, labels: { step: 'patched' } } });
    await isSeen('update patched');
    await api.delete(header);
    await isSeen('delete patched');
    await informer.stop();
  });
});

const watcher = world.name('watcher');
await giveRight(admin, watcher, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';
/** Of several rounds. A change takes some tens of milliseconds; a machine that stands still may spoil a round, but not most of them. */
const maxMedianMs = 250;
const rounds = 7;
/** A replica that has to wait for its next watch is far above it. */
const maxMs = 2_000;

function expectTogether(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((one, other) => one - other);
  console.info(`${what} at two replicas: ${sorted.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(maxMedianMs);
  expect(sorted.at(-1)).toBeLessThan(maxMs);
}

const statusOf = async (gateway: RunningGateway, key: string): Promise<number> => {
  const { statusCode, body } = await gateway.send(maps, { key });
  await body.dump();
  return statusCode;
};

/** How long after now each replica gives this answer. */
const timesUntil = async (key: string, status: number): Promise<readonly number[]> =>
  await Promise.all(
    replicas.map(async (gateway) => {
      const holds = async () => (await statusOf(gateway, key)) === status;
      return await timeUntil(`the answer ${status}`, holds, { everyMs: 5 });
    }),
  );

async function openWatch(gateway: RunningGateway, key: string) {
  const { statusCode, body } = await gateway.send(`${maps}?watch=true`, { key });
  expect(statusCode).toBe(200);
  let isOpen = true;
  body
    .on('error', () => undefined)
    .on('close', () => {
      isOpen = false;
    });
  body.resume();
  return { isOpen: () => isOpen };
}

it('two replicas refuse a key as soon as it is disabled, cut its watches, and accept it again together', async () => {
  const { key, object } = await world.holder({ user: watcher });
  const [off, on]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(replicas.map(async (gateway) => await untilKnown(gateway, key)));
    const watches = await Promise.all(replicas.map(async (gateway) => await openWatch(gateway, key)));
    const allCut = async () => watches.every(({ isOpen }) => !isOpen());

    await admin.patch(object, { spec: { disabled: true } });
    const [refused, closed] = await Promise.all([
      timesUntil(key, 401),
      timeUntil('both watches are cut', allCut, { everyMs: 5 }),
    ]);
    off.push(Math.max(...refused, closed));

    await admin.untilReady(await admin.patch(object, { spec: { disabled: false } }));
    on.push(Math.max(...(await timesUntil(key, 200))));
  }
  expectTogether('refused', off);
  expectTogether('accepted again', on);
});

it('a key that was used at one replica alone is known at the other, last use included', async () => {
  const { key, object } = await world.holder({ user: watcher, ttl: 3_600, ttlAfterLastActivity: true });
  await untilKnown(world.gateway, key);
  expect(await statusOf(world.gateway, key)).toBe(200);
  await admin.until(object, 'used', ({ status }) => 'lastActivity' in status);
  await untilKnown(other, key);
  expect(await statusOf(other, key)).toBe(200);
});

function configOf(file: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(file);
  return config;
}

const patch = async (api: KubernetesObjectApi, object: KubernetesObject) =>
  await api.patch(object, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
