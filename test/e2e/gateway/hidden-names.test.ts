import { afterAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { group } from '../../../src/api/names.ts';
import { virtualClusterInstanceKubeConfigs, virtualClusterInstances } from '../../../src/api/resources.ts';
import { fourTargets } from './four-targets.ts';
import { gatewaySettings } from './gateway-world.ts';
import { untilKnown, untilReached } from './known-holder.ts';
import { OwnClient, ownAPI, ownClient, ownKeys, ownTokens } from './own-client.ts';

const { world, user: guest, paths } = await fourTargets();
const { admin } = world;
const gate = await WriteGate.start(world.plane);
afterAll(async () => await gate.close());
const replica = await RunningGateway.start(gate.access, world.guard, {
  name: world.name('replica'),
  env: gatewaySettings,
});
afterAll(async () => void (await replica.end()));

/** The holder of a new key, through the replica whose requests are seen. */
async function seenHolder(spec: object) {
  const { key, object } = await ownClient(world, spec);
  await untilKnown(replica, key);
  return Object.assign(new OwnClient({ gateway: replica, admin }, key), { object });
}

const user = world.name('alice');
await giveRight(admin, user, {
  apiGroups: [group],
  resources: [virtualClusterInstances.plural],
  verbs: ['use'],
});
const owner = await seenHolder({ user });
const strangers = [
  ['another user', await seenHolder({ user: world.name('bob') })],
  ['the same user, with a scope', await seenHolder({ user, scope: { roles: [{ role: 'platform-cli' }] } })],
] as const;

/** All names are of one length. */
const newName = () => world.name('of-alice');
const { api } = await world.user(user);
const below = { accessKey: owner.object.metadata.name };
const kubeConfigSpec = { ...below, virtualClusterInstance: 'none' };
const objects = await Promise.all([
  api.createKey(below, { name: newName() }),
  api.createToken(below, { name: newName() }),
  api.create(virtualClusterInstanceKubeConfigs, kubeConfigSpec, { name: newName() }),
]);
const instance = await admin.create(virtualClusterInstances, {}, { name: newName() });
const inDefault = `${ownAPI}/namespaces/default`;
const places = [ownKeys, ownTokens, `${inDefault}/virtualclusterinstancekubeconfigs`];
const foreign = objects.map((object, index) => ({
  place: places[index] ?? '',
  name: object.metadata.name,
  object,
}));
for (const { place, name } of foreign)
  await until('the replica has it', async () => (await owner.send('GET', `${place}/${name}`)).status === 200);

/** A question about an object: method, path, what is sent, and the status of the answer. */
type Question = readonly [
  method: string,
  path: string,
  sent: { readonly body?: unknown; readonly type?: string; readonly accept?: string },
  status: number,
];

/** Stands for the name, and in answers for what differs from one to the next anyway. */
const masked = 'NAME';
const mask = (text: string, name: string): string =>
  text.replaceAll(name, masked).replace(/"resourceVersion":"\d+"/g, '"resourceVersion":"0"');
/** Of the replica itself: watches, whether they are current, and when its keys were used. */
const background = /[?&](?:watch|limit)=|\/status(?:\?|$)/;

/** Headers about the time, the length or the connection. */
const ofMessage: ReadonlySet<string> = new Set(['connection', 'content-length', 'date', 'keep-alive']);

/** The answer, and what the API server was asked for it. */
async function outcomeOf(client: OwnClient, [method, path, sent]: Question, name: string) {
  const before = gate.requests.length;
  const { status, headers, text } = await client.send(method, path.replaceAll(masked, name), sent);
  const asked = gate.requests.slice(before).filter((request) => !background.test(request));
  const length = Number(headers['content-length']);
  const compared = Object.entries(headers).filter(([header]) => !ofMessage.has(header));
  return {
    status,
    headers: Object.fromEntries(compared.map(([header, value]) => [header, mask(String(value), name)])),
    isWhole: length === Buffer.byteLength(text),
    text: mask(text, name),
    asked: asked.map((request) => mask(request, name)),
  };
}

async function expectNoDifference(client: OwnClient, question: Question, name: string): Promise<void> {
  const found = await outcomeOf(client, question, name);
  const missing = await outcomeOf(client, question, newName());
  expect(found).toEqual(missing);
  expect(found.status).toBe(question[3]);
  // Even with the same number of requests one about what is there would take longer.
  expect(found.asked.join()).not.toContain(masked);
}

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const metadataOnly = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const json = { type: 'application/json' };
const jsonPatch = { type: 'application/json-patch+json' };
const mergePatch = { type: 'application/merge-patch+json' };
const byName = '?fieldSelector=metadata.name%3DNAME';

const questions: readonly Question[] = [
  ['GET', '/NAME', {}, 404],
  ['GET', '/NAME?pretty=true', { accept: 'application/yaml' }, 404],
  ['GET', '/NAME', { accept: `${table},application/json` }, 404],
  ['GET', '/NAME', { accept: metadataOnly }, 404],
  ['GET', '/NAME', { accept: 'application/vnd.kubernetes.protobuf' }, 404],
  ['HEAD', '/NAME', {}, 404],
  ['GET', '/NAME/status', {}, 404],
  ['PUT', '/NAME', { ...json, body: { metadata: { name: 'NAME' }, spec: {} } }, 404],
  ['PUT', '/NAME?dryRun=All', { ...json, body: '{"a' }, 404],
  ['PATCH', '/NAME', { ...jsonPatch, body: [{ op: 'test', path: '/spec/ttl', value: 1 }] }, 404],
  ['PATCH', '/NAME', { ...mergePatch, body: { spec: { ttl: 'x' } } }, 404],
  ['PATCH', '/NAME', { type: 'application/strategic-merge-patch+json', body: {} }, 415],
  ['DELETE', '/NAME', {}, 404],
  ['DELETE', '/NAME', { ...json, body: { preconditions: { uid: objects[0].metadata.uid } } }, 404],
  ['DELETE', '/NAME?dryRun=All', {}, 404],
  ['DELETE', '/NAME', { ...json, body: { dryRun: ['All'] } }, 404],
  ['GET', byName, {}, 200],
  ['GET', byName, { accept: `${table},application/json` }, 200],
  ['DELETE', byName, {}, 200],
];

const fromBeginning =
  'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

/** Follows what has this name. */
async function watchOf({ key }: OwnClient, place: string, name: string) {
  const { body } = await replica.send(`${place + byName.replace(masked, name)}&${fromBeginning}`, { key });
  let text = '';
  body
    .setEncoding('utf8')
    .on('data', (chunk: string) => {
      text += chunk;
    })
    .on('error', () => undefined);
  return { seen: () => text, end: () => void body.destroy() };
}

const hasBegun = (text: string): boolean => text.includes('k8s.io/initial-events-end');
const eventsAbout = (text: string): number => text.match(/^\{"type":"(?!BOOKMARK)/gm)?.length ?? 0;

describe.each(strangers)('a stranger, who is %s', (_, stranger) => {
  it.each(questions)(
    'cannot tell what is somebody else’s from what is not there: %s %s %j',
    async (...question) => {
      const [method, path, sent, status] = question;
      for (const { place, name } of foreign)
        await expectNoDifference(stranger, [method, place + path, sent, status], name);
    },
  );

  it('gets no kubeconfig for an instance, there or not', async () => {
    const path = `${inDefault}/virtualclusterinstances/NAME/kubeconfig`;
    const { name } = instance.metadata;
    const dryRun = `${path.replace(masked, name)}?dryRun=All`;
    await until(
      'the replica has it',
      async () => (await owner.send('POST', dryRun, { body: {} })).status === 200,
    );
    await expectNoDifference(stranger, ['POST', path, { body: {} }, 403], name);
    const elsewhere = path.replace(masked, newName()).replace('default', masked);
    await expectNoDifference(stranger, ['POST', elsewhere, { body: {} }, 403], 'default');
  });

  it('sees nothing of it in a watch of its name', async () => {
    for (const { place, name, object } of foreign) {
      const before = gate.requests.length;
      const watching = [
        watchOf(owner, place, name),
        watchOf(stranger, place, name),
        watchOf(stranger, place, newName()),
      ];
      const watches = await Promise.all(watching);
      const seen = () => watches.map((watch) => watch.seen());
      await until('they have begun', async () => seen().every(hasBegun), { seen });
      const reads = () => gate.requests.slice(before).filter((request) => request.includes(name));
      const told = () => eventsAbout(seen()[0] ?? '');
      const isReadForOwner = async () => reads().length === told();
      await until('it was read for its owner alone', isReadForOwner, { seen: reads });
      const note = newName();
      await api.annotate(object, { note });
      await until('its owner sees the change', async () => seen()[0]?.includes(note), { seen });
      // An object that has just arrived is sent without a read.
      expect(reads().length).toBeLessThanOrEqual(told());
      const [, found = '', missing = ''] = seen();
      expect(mask(found, name)).toBe(mask(missing, name));
      for (const { end } of watches) end();
    }
  });
});

describe('a user who may not use the instance', () => {
  const [, bob] = strangers[0];
  const inNamespace = `${ownAPI}/namespaces/NAME/${virtualClusterInstanceKubeConfigs.plural}`;
  const applied = { type: 'application/apply-patch+yaml' };

  it.each<[string, object]>([
    ['without an access key', {}],
    ['with one that does not exist', { accessKey: 'no-such-key' }],
    ['with that of somebody else', below],
    ['with one of their own', { accessKey: bob.object.metadata.name }],
  ])('makes no kubeconfig, and learns of no namespace, %s', async (_, named) => {
    const name = newName();
    const spec = { ...named, virtualClusterInstance: newName() };
    const body = { metadata: { name }, spec };
    await expectNoDifference(bob, ['POST', inNamespace, { body }, 403], 'default');
    await expectNoDifference(bob, ['POST', `${inNamespace}?dryRun=All`, { body }, 403], 'kube-system');
    const path = `${inNamespace}/${name}?fieldManager=me`;
    await expectNoDifference(bob, ['PATCH', path, { ...applied, body }, 403], 'kube-public');
    const { kind } = virtualClusterInstanceKubeConfigs;
    expect(await admin.find({ kind, metadata: { namespace: 'default', name } })).toBeUndefined();
  });

  it('is told apart from one who may', async () => {
    const own = await owner.send('POST', `${inNamespace.replace(masked, 'default')}?dryRun=All`, {
      body: { metadata: { name: newName() }, spec: { ...below, virtualClusterInstance: 'none' } },
    });
    expect(own.status).toBe(201);
  });

  it('sends no name that is too long to be one, nor is it kept', async () => {
    const before = gate.requests.length;
    // An object that is larger than any is refused for that.
    const spec = { virtualClusterInstance: 'a'.repeat(300_000) };
    const sent = { body: { metadata: { name: newName() }, spec } };
    const { status } = await bob.send('POST', inNamespace.replace(masked, 'default'), sent);
    const asked = gate.requests.slice(before).filter((request) => !background.test(request));
    expect([status, asked]).toEqual([400, []]);
  });
});

describe('a user who may use one instance', () => {
  const place = `${ownAPI}/namespaces/default/${virtualClusterInstanceKubeConfigs.plural}`;
  const applied = { type: 'application/apply-patch+yaml' };
  const name = newName();
  const user = world.name('carol');

  it('makes a kubeconfig of its name, which need not be said again', async () => {
    await giveRight(admin, user, {
      apiGroups: [group],
      resources: [virtualClusterInstances.plural],
      verbs: ['use'],
      resourceNames: [name],
    });
    const carol = await seenHolder({ user });
    const body = { metadata: { name }, spec: {} };
    const posted = await carol.send('POST', `${place}?dryRun=All`, { body });
    const patch = { ...applied, body };
    const put = await carol.send('PATCH', `${place}/${name}?fieldManager=me&dryRun=All`, patch);
    expect([posted.status, put.status]).toEqual([201, 201]);
  });

  it('gets none below a key of somebody else that invites the namespace, unless they may make one themselves', async () => {
    const key = await admin.untilReady(await admin.createKey({ user, allowedNamespaces: ['default'] }));
    const { name: accessKey } = key.metadata;
    const use = { apiGroups: [group], resources: [virtualClusterInstances.plural], verbs: ['use'] };
    const create = {
      apiGroups: [group],
      resources: [virtualClusterInstanceKubeConfigs.plural],
      verbs: ['create'],
    };
    const [dave, erin] = [world.name('dave'), world.name('erin')];
    for (const holder of [dave, erin]) await giveRight(admin, holder, { ...use, resourceNames: [name] });
    await giveRight(admin, erin, create);
    const [stranger, maker] = await Promise.all([seenHolder({ user: dave }), seenHolder({ user: erin })]);
    const body = { metadata: { name: newName() }, spec: { accessKey, virtualClusterInstance: name } };
    const posted = await stranger.send('POST', place, { body });
    const path = `${ownAPI}/namespaces/default/virtualclusterinstances/${name}/kubeconfig`;
    const asked = await stranger.send('POST', path, { body: { spec: { accessKey } } });
    expect([posted, asked].map(({ status }) => status)).toEqual([403, 403]);
    for (const { body: said } of [posted, asked]) expect(said.message).toContain('AccessKeyNotAllowed');
    expect((await maker.send('POST', `${place}?dryRun=All`, { body })).status).toBe(201);
  });
});

const mayEnter = await ownClient(world, { user: guest });
const scope = {
  spaces: [{ project: '*', space: '*' }],
  projects: [{ project: '*' }],
  clusters: [{ cluster: '*' }],
};
const outsiders = [
  ['a stranger', await ownClient(world, { user: world.name('stranger') })],
  ['a stranger with a scope', await ownClient(world, { user: world.name('limited'), scope })],
] as const;
const { platform: _, ...targets } = paths;

/** The same target with another name, and where it has a project one of another project. */
const missing = (path: string): readonly string[] => [
  `${path}-missing`,
  ...(path.startsWith('project/') ? [path.replace(/^project\/[^/]+/, 'project/missing')] : []),
];
const requests: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/version'],
  ['GET', '/api/v1/namespaces/default/configmaps'],
  ['GET', '/api/v1/namespaces/kube-system/configmaps'],
  ['GET', '/api/v1/namespaces'],
  ['GET', '/api/v1/namespaces/default/configmaps?watch=true'],
  ['DELETE', '/api/v1/namespaces/default/configmaps/a'],
];

describe.each(Object.entries(targets))('a %s', (_kind, path) => {
  it.each(outsiders)('that is there and one that is not are the same for %s', async (__, client) => {
    await untilReached(world.gateway, mayEnter.key, path);
    for (const [method, rest] of requests) {
      const answers = [path, ...missing(path)].map(async (place) => {
        const { status, text } = await client.send(method, `/kubernetes/${place}${rest}`);
        return [status, withoutNames(text, place)];
      });
      const [there, ...others] = await Promise.all(answers);
      expect(there?.[0]).toBe(403);
      for (const other of others) expect([method, rest, other]).toEqual([method, rest, there]);
    }
  });

  it('that is there and one that is not cost the same: the API server is asked one question', async () => {
    await untilReached(replica, mayEnter.key, path);
    const client = await seenHolder({ user: world.name('newcomer') });
    for (const place of [path, ...missing(path)]) {
      const before = gate.requests.length;
      await client.send('GET', `/kubernetes/${place}/version`);
      const asked = gate.requests.slice(before).filter((request) => !background.test(request));
      expect(asked).toEqual(['POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews']);
    }
  });

  it('that is not there is not found by who may enter all', async () => {
    for (const place of missing(path))
      expect((await mayEnter.send('GET', `/kubernetes/${place}/version`)).status).toBe(404);
  });
});

/** An answer may say what was asked for. */
function withoutNames(text: string, place: string): string {
  const [, project = '', , name = ''] = place.startsWith('project')
    ? place.split('/')
    : ['', '', '', place.split('/')[1]];
  return text.replaceAll(name, '<name>').replaceAll(project === '' ? '<none>' : project, '<project>');
}
