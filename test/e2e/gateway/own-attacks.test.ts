import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group } from '../../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { Project, readingOf } from '../kubeconfigs/kubeconfig-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { type OwnAnswer, ownAPI, ownClient, ownKeys, ownTokens } from './own-client.ts';

const world = await gatewayWorld();
const { admin, name } = world;
const alice = name('alice');
const holder = await ownClient(world, { user: alice });
const mallory = await ownClient(world, { user: name('mallory') });
const jsonPatch = 'application/json-patch+json';
const { api } = await world.user(alice);
const project = await Project.ready(world, await sharedVirtualCluster());
await giveRight(admin, alice, { apiGroups: [group], resources: ['virtualclusterinstances'], verbs: ['use'] });

interface Held {
  readonly kind: string;
  readonly place: string;
  readonly field: string;
  readonly object: Stored;
  readonly secret: string;
}

/** An object of alice whose credential stands in it, where, and what it is. */
const objects: readonly Held[] = await Promise.all([
  (async () => {
    const key = await admin.untilReady(await api.create(ownedAccessKeys, {}, { name: name('key') }));
    return { kind: 'a key', place: ownKeys, field: '/spec/key', object: key, secret: key.spec.key };
  })(),
  (async () => {
    const spec = { accessKey: holder.object.metadata.name };
    const made = await api.create(directClusterEndpointTokens, spec, { name: name('token') });
    const token = await admin.untilReady(made);
    const { token: secret } = token.status;
    return { kind: 'a token', place: ownTokens, field: '/status/token', object: token, secret };
  })(),
  (async () => {
    const object = await admin.untilReady(
      await project.create({ clientCert: false, certificateTTL: 600 }, { api }),
    );
    const { token: secret = '' } = readingOf(object.status.kubeConfig);
    const place = `${ownAPI}/namespaces/${project.namespace}/virtualclusterinstancekubeconfigs`;
    return { kind: 'a kubeconfig', place, field: '/status/kubeConfig', object, secret };
  })(),
]);

/** Where others read, or an error would quote it. */
const publicPlaces = [
  '/metadata/name',
  '/metadata/generateName',
  '/metadata/labels',
  '/metadata/labels/note',
  '/metadata/annotations',
  '/metadata/annotations/note',
  '/metadata/finalizers',
  '/metadata/finalizers/0',
  '/metadata/resourceVersion',
  '/metadata/uid',
  '/metadata/ownerReferences',
  '/kind',
  '/apiVersion',
  '/spec/displayName',
  '/spec/user',
  '/spec/ttl',
  '/spec/scope',
  '/spec/secretRef',
  '/spec/accessKey',
  '/spec',
  '/status/note',
  '',
];

describe.each(objects)('a patch of $kind', ({ place, field, object, secret }) => {
  const path = `${place}/${object.metadata.name}`;
  const patch = async (body: unknown): Promise<OwnAnswer> =>
    await holder.send('PATCH', `${path}?fieldValidation=Strict`, { type: jsonPatch, body });

  it.each(publicPlaces)('copies no credential to "%s", nor into the error about it', async (to) => {
    await until('the gateway has it', async () => (await holder.send('GET', path)).status === 200);
    expect(secret.length).toBeGreaterThan(40);
    for (const op of ['copy', 'move'])
      for (const from of [field, field.replace(/\/[^/]+$/, ''), '']) {
        const { text } = await patch([{ op, from, path: to }]);
        expect(text).not.toContain(secret);
      }
    const stored = await admin.get(object);
    const { spec, status, metadata } = stored;
    if (field === '/spec/key') expect(spec['key']).toBe(secret);
    const rest = [metadata, { ...spec, key: '' }, { ...status, token: '', kubeConfig: '' }];
    expect(JSON.stringify(rest)).not.toContain(secret);
    for (const answer of [await holder.send('GET', path), await holder.send('GET', place)])
      expect(answer.text).not.toContain(secret);
  });

  it('tells nothing to who guesses', async () => {
    const answers = [];
    for (const value of [secret, `${secret.slice(0, -1)}?`])
      answers.push(await patch([{ op: 'test', path: field, value }]));
    const [right, wrong] = answers;
    expect([right?.status, right?.body.message]).toEqual([wrong?.status, wrong?.body.message]);
  });
});

describe('a continue token that its holder has written', () => {
  const write = (token: object) => Buffer.from(JSON.stringify(token)).toString('base64url');
  const read = (token: string) => JSON.parse(Buffer.from(token, 'base64url').toString());

  it('shows nothing of anybody else', async () => {
    for (const client of [holder, mallory])
      for (let made = 0; made < 2; made++)
        expect((await client.send('POST', ownKeys, { body: { spec: { ttl: 600 } } })).status).toBe(201);
    const page = async (client: typeof holder, token: string) =>
      await client.send('GET', `${ownKeys}?limit=1&continue=${token}`);
    const first = async (client: typeof holder) =>
      (await client.send('GET', `${ownKeys}?limit=1`)).body.metadata.continue as string;
    const [ofAlice, own] = [await first(holder), await first(mallory)];
    expect((await page(mallory, ofAlice)).status).toBe(410);
    const { items } = (await mallory.send('GET', ownKeys)).body;
    const mine = new Set(items.map((item: Stored) => item.metadata.name));
    const last = objects.map(({ object }) => object.metadata.name);
    for (const forged of [
      { ...read(own), after: '!' },
      { ...read(own), last: [...last, holder.object.metadata.name] },
      { ...read(own), after: last[0], last },
      { ...read(ofAlice), holder: read(own).holder },
    ]) {
      const { status, body } = await page(mallory, write(forged));
      expect(status).toBe(200);
      for (const item of body.items) expect(mine).toContain(item.metadata.name);
    }
    for (const forged of [
      { ...read(own), until: Date.now() + 86_400_000 },
      { ...read(own), holder: read(ofAlice).holder },
    ])
      expect((await page(mallory, write(forged))).status).toBe(410);
  });
});
