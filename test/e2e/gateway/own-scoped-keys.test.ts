import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { annotations } from '../../../src/api/names.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, OwnClient, ownAPI, ownClient, ownKeys } from './own-client.ts';

const world = await gatewayWorld();
const { admin, name } = world;
const alice = name('alice');
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const narrow = { roles: [{ role: 'platform-cli' }] };
const wide = { rules: [{ verbs: ['*'], resources: [{ group: '*', resources: ['*'] }] }] };
const mergePatch = 'application/merge-patch+json';
const unlimited = await ownClient(world, { user: alice });
const scoped = await ownClient(world, { user: alice, scope: narrow });

interface Named {
  readonly metadata: { readonly name: string };
}

/** What the gateway says to a request that alice may send, and that the narrow scope does not hold. */
async function refusalOutside(client: OwnClient): Promise<string> {
  const { status, body } = await client.send('GET', `${management}/api/v1/namespaces/default/configmaps`);
  return status === 200 ? '200' : `${status} ${body.details.causes[0].reason}`;
}

/** A key below the scoped one, and a client with it. */
async function makeChild(spec: object) {
  const { status, body } = await scoped.send('POST', ownKeys, { body: { spec: { ttl: 600, ...spec } } });
  expect(status).toBe(201);
  return Object.assign(new OwnClient(world, body.spec.key), { object: body });
}

type Change = readonly [
  way: string,
  form: string,
  toBody: (read: { spec: object }) => object,
  scope: object | undefined,
];

/** Ways to take the limits off a key, and the scope that it would have then. */
const changes: readonly Change[] = [
  [
    'a PUT without the scope',
    'PUT application/json',
    (read) => ({ ...read, spec: { ...read.spec, scope: undefined } }),
    undefined,
  ],
  [
    'a PUT of a wide scope',
    'PUT application/json',
    (read) => ({ ...read, spec: { ...read.spec, scope: wide } }),
    wide,
  ],
  ['a merge patch without the scope', `PATCH ${mergePatch}`, () => ({ spec: { scope: null } }), undefined],
  [
    'a merge patch to a wide scope',
    `PATCH ${mergePatch}`,
    () => ({ spec: { scope: { ...wide, roles: null } } }),
    wide,
  ],
  [
    'a JSON patch',
    'PATCH application/json-patch+json',
    () => [{ op: 'remove', path: '/spec/scope' }],
    undefined,
  ],
  ['an apply', 'PATCH application/apply-patch+yaml', () => ({ spec: { scope: wide } }), wide],
];

/** Others write too: the gateway notes when a key was used. */
async function attempt(client: OwnClient, { metadata }: Named, [, form, toBody]: Change) {
  const [method = '', type = ''] = form.split(' ');
  const place = `${ownKeys}/${metadata.name}`;
  const query = type.includes('apply') ? '?fieldManager=me&force=true' : '';
  return await until('there is no conflict', async () => {
    const read = await client.send('GET', place);
    const body = toBody(read.status === 200 ? read.body : { spec: {} });
    const answer = await client.send(method, place + query, { type, body });
    return answer.status !== 409 && answer;
  });
}

it('its user may do more than a key with a scope', async () => {
  await until('alice has the right', async () => (await refusalOutside(unlimited)) === '200');
  expect(await refusalOutside(scoped)).toBe('403 ERR_SCOPE');
});

describe.each(changes)('a key with a scope, by %s', (...change) => {
  it('takes no limit off itself', async () => {
    const { status, body } = await attempt(scoped, scoped.object, change);
    expect([status, body.reason, body.message]).toEqual([
      403,
      'Forbidden',
      expect.stringContaining('a request that came with this very credential'),
    ]);
    expect((await admin.get(scoped.object)).spec).toEqual(scoped.object.spec);
    expect(await refusalOutside(scoped)).toBe('403 ERR_SCOPE');
  });

  it('does not find the key above it, or another one of its user', async () => {
    const child = await makeChild({});
    for (const { object } of [scoped, unlimited]) {
      const { status, body } = await attempt(child, object, change);
      expect([status, body.reason]).toEqual([404, 'NotFound']);
      expect((await admin.get(object)).spec).toEqual(object.spec);
    }
  });

  it('reaches no more through a key below it', async () => {
    const child = await makeChild({ scope: narrow });
    const { status } = await attempt(scoped, child.object, change);
    expect(status).toBe(200);
    const [, , , scope] = change;
    await until('the gateway knows it', async () => {
      const { status: code, body } = await child.send('POST', `${ownAPI}/selves`, { body: {} });
      return code === 201 && isDeepStrictEqual(body.status.accessKeyScope, scope);
    });
    expect(await refusalOutside(child)).toBe('403 ERR_SCOPE');
  });
});

describe('a key below one with a scope', () => {
  it.each([
    ['no scope', {}],
    ['a wide scope', { scope: wide }],
  ])('reaches no more with %s', async (_, spec) => {
    expect(await refusalOutside(await makeChild(spec))).toBe('403 ERR_SCOPE');
  });

  it.each([
    ['none', null],
    ['another', unlimited.object.metadata.name],
  ])('is not moved to %s', async (_, accessKey) => {
    const child = await makeChild({});
    const sent = { type: mergePatch, body: { spec: { accessKey } } };
    for (const client of [scoped, child]) {
      const { status, body } = await client.send('PATCH', `${ownKeys}/${child.object.metadata.name}`, sent);
      expect([status, body.message]).toEqual([422, expect.stringContaining('spec.accessKey cannot change')]);
    }
    expect((await admin.get(child.object)).spec.accessKey).toBe(scoped.object.metadata.name);
    expect(await refusalOutside(child)).toBe('403 ERR_SCOPE');
  });
});

describe('what a key with a scope makes', () => {
  const { metadata } = unlimited.object;
  const forged = {
    [annotations.requester]: 'root',
    [annotations.requesterGroups]: '["system:masters"]',
    [annotations.createdWith]: `${metadata.name}/${metadata.uid}`,
  };

  async function expectTrueAnnotations(made: Stored): Promise<void> {
    const { name: parent, uid } = scoped.object.metadata;
    const { annotations: stored } = (await admin.get(made)).metadata;
    expect(stored).toMatchObject({
      [annotations.requester]: alice,
      [annotations.createdWith]: `${parent}/${uid}`,
    });
    expect(stored?.[annotations.requesterGroups]).not.toContain('system:masters');
  }

  it('says so from the beginning, whatever is sent', async () => {
    const sent = { body: { metadata: { annotations: forged } } };
    const { status, body } = await scoped.send('POST', ownKeys, sent);
    expect(status).toBe(201);
    await expectTrueAnnotations(body);
  });

  it('goes on saying so, whatever is sent', async () => {
    const { object } = await makeChild({});
    const place = `${ownKeys}/${object.metadata.name}`;
    const sent = { type: mergePatch, body: { metadata: { annotations: forged } } };
    expect((await scoped.send('PATCH', place, sent)).status).toBe(200);
    await expectTrueAnnotations(object);
  });
});
