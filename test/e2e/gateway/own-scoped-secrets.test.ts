import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { group } from '../../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { gatewayWorld } from './gateway-world.ts';
import { OwnClient, ownAPI, ownClient, ownKeys, ownTokens } from './own-client.ts';

const world = await gatewayWorld();
const { admin, name } = world;
const alice = name('alice');
for (const rule of [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] },
  { apiGroups: [group], resources: ['virtualclusterinstances'], verbs: ['use'] },
])
  await giveRight(admin, alice, rule);
const { api } = await world.user(alice);
const unlimited = await ownClient(world, { user: alice });
const scoped = await ownClient(world, { user: alice, scope: {} });
const below = await belowScoped();
const kubeConfigs = `${ownAPI}/namespaces/default/virtualclusterinstancekubeconfigs`;
const apply = 'application/apply-patch+yaml';

/** A key without a scope of its own, below the one with a scope. */
async function belowScoped() {
  const { status, body } = await scoped.send('POST', ownKeys, { body: { spec: { ttl: 600 } } });
  expect(status).toBe(201);
  return Object.assign(new OwnClient(world, body.spec.key), { object: body });
}

interface Kind {
  readonly resource: Resource;
  readonly place: string;
  readonly spec: object;
  readonly secretRef: () => { readonly name: string; readonly key?: string };
}

const inDefault = () => ({ namespace: 'default', name: name('secret') });
const kinds: readonly (readonly [string, Kind])[] = [
  ['key', { resource: ownedAccessKeys, place: ownKeys, spec: {}, secretRef: inDefault }],
  [
    'token',
    { resource: directClusterEndpointTokens, place: ownTokens, spec: { ttl: 600 }, secretRef: inDefault },
  ],
  [
    'kubeconfig',
    {
      resource: virtualClusterInstanceKubeConfigs,
      place: kubeConfigs,
      spec: { virtualClusterInstance: 'shop' },
      secretRef: () => ({ name: name('secret') }),
    },
  ],
];

/** A child of the client's credential that its user has made without it, as the client finds it. */
async function makeChild(client: typeof scoped, { resource, place, spec }: Kind, more: object = {}) {
  const accessKey = client.object.metadata.name;
  const metadata = { name: name('child'), ...(resource.namespaced ? { namespace: 'default' } : {}) };
  const object = await api.create(resource, { ...spec, ...more, accessKey }, metadata);
  const path = `${place}/${metadata.name}`;
  await until('the gateway has it', async () => (await client.send('GET', path)).status === 200);
  return { object, path };
}

const isNewSecretRefused = ({ status, body }: Awaited<ReturnType<OwnClient['send']>>) =>
  expect([status, body.reason, body.details.causes[0].reason, body.message]).toEqual([
    403,
    'Forbidden',
    'ERR_SECRET_REFERENCE',
    expect.stringContaining('use an access key without a scope'),
  ]);

async function expectNoSecret(secretRef: { readonly name: string }): Promise<void> {
  const metadata = { namespace: 'default', name: secretRef.name };
  expect(await admin.find({ kind: 'Secret', metadata })).toBeUndefined();
}

describe.each([
  ['a credential with a scope', scoped],
  ['a credential below one with a scope', below],
])('%s has no Secret made', (_, client) => {
  it.each(kinds)('by a new %s, in any form', async (__, kind) => {
    const secretRef = kind.secretRef();
    const body = { metadata: { name: name('child') }, spec: { ...kind.spec, secretRef } };
    const path = `${kind.place}/${body.metadata.name}`;
    isNewSecretRefused(await client.send('POST', kind.place, { body }));
    isNewSecretRefused(await client.send('POST', `${kind.place}?dryRun=All`, { body }));
    isNewSecretRefused(await client.send('PATCH', `${path}?fieldManager=me`, { body, type: apply }));
    expect((await client.send('GET', path)).status).toBe(404);
    await expectNoSecret(secretRef);
  });

  it.each(kinds)('by a changed %s, in any form', async (__, kind) => {
    const { object, path } = await makeChild(client, kind);
    const secretRef = kind.secretRef();
    const { body: read } = await client.send('GET', path);
    const put = { ...read, spec: { ...read.spec, secretRef } };
    const add = [{ op: 'add', path: '/spec/secretRef', value: secretRef }];
    const merge = { spec: { secretRef } };
    isNewSecretRefused(await client.send('PUT', path, { body: put }));
    isNewSecretRefused(
      await client.send('PATCH', path, { body: merge, type: 'application/merge-patch+json' }),
    );
    isNewSecretRefused(await client.send('PATCH', path, { body: add, type: 'application/json-patch+json' }));
    const query = '?fieldManager=me&force=true';
    isNewSecretRefused(await client.send('PATCH', path + query, { body: merge, type: apply }));
    expect((await admin.get(object)).spec).not.toHaveProperty('secretRef');
    await expectNoSecret(secretRef);
  });
});

it('a kubeconfig by POST to an instance names no Secret, with a scope or without', async () => {
  const place = `${ownAPI}/namespaces/default/virtualclusterinstances/shop/kubeconfig`;
  const secretRef = { name: name('secret') };
  for (const client of [scoped, unlimited]) {
    const { status } = await client.send('POST', place, { body: { spec: { secretRef } } });
    expect(status).toBeGreaterThanOrEqual(400);
  }
  await expectNoSecret(secretRef);
});

describe('a Secret that the user has named without the scope', () => {
  it.each(kinds)('stays while a key with a scope changes something else: %s', async (_, kind) => {
    const secretRef = { key: 'credential', ...kind.secretRef() };
    const { object, path } = await makeChild(scoped, kind, { secretRef });
    const changed = await changeAll(object, path);
    expect(changed.map(({ status, text }) => [status, status === 200 ? '' : text])).toEqual(
      changed.map(() => [200, '']),
    );
    expect((await admin.get(object)).spec.secretRef).toEqual(secretRef);
  });

  it.each(kinds)('is exchanged for no other: %s', async (_, kind) => {
    const secretRef = { key: 'credential', ...kind.secretRef() };
    const { object, path } = await makeChild(scoped, kind, { secretRef });
    for (const part of [{ key: 'other' }, { name: name('other') }]) {
      const sent = { body: { spec: { secretRef: part } }, type: 'application/merge-patch+json' };
      isNewSecretRefused(await scoped.send('PATCH', path, sent));
    }
    expect((await admin.get(object)).spec.secretRef).toEqual(secretRef);
  });

  /** A label by each form that there is. The operator writes, too: conflicts are tried again. */
  async function changeAll({ spec }: Stored, path: string) {
    const labels = { by: 'scoped' };
    const merge = { body: { metadata: { labels } }, type: 'application/merge-patch+json' };
    const patch = [{ op: 'add', path: '/metadata/labels', value: { by: 'patch' } }];
    const manifest = { spec: { secretRef: spec.secretRef } };
    return [
      await until('there is no conflict', async () => {
        const { body } = await scoped.send('GET', path);
        const put = await scoped.send('PUT', path, {
          body: { ...body, metadata: { ...body.metadata, labels } },
        });
        return put.status !== 409 && put;
      }),
      await scoped.send('PATCH', path, merge),
      await scoped.send('PATCH', path, { body: patch, type: 'application/json-patch+json' }),
      await scoped.send('PATCH', `${path}?fieldManager=me&force=true`, { body: manifest, type: apply }),
    ];
  }
});

it('a key without a scope names a Secret, which is made', async () => {
  const secretRef = inDefault();
  const { status } = await unlimited.send('POST', ownKeys, { body: { spec: { ttl: 600, secretRef } } });
  expect(status).toBe(201);
  const metadata = { namespace: secretRef.namespace, name: secretRef.name };
  await until('it is there', async () => (await admin.find({ kind: 'Secret', metadata })) !== undefined);
});
