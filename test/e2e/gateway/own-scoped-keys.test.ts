import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { annotations } from '../../../src/api/names.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, OwnClient, ownAPI, ownClient, ownKeys, ownTokens } from './own-client.ts';

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

/** Returns the answer to a request that alice may send, and that the narrow scope does not hold. */
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
    // The policies refuse it as well, and an apply is theirs to judge first.
    expect([status, body.reason, body.message]).toEqual([
      403,
      'Forbidden',
      expect.stringMatching(
        /(displayName and description, and set disabled|may change of itself only displayName, description).*log in again, or ask an administrator of the platform/i,
      ),
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
    const refusals = [
      [scoped, 422, 'spec.accessKey cannot change'],
      [child, 403, 'has an end, a scope or a parent'],
    ] as const;
    for (const [client, code, text] of refusals) {
      const { status, body } = await client.send('PATCH', `${ownKeys}/${child.object.metadata.name}`, sent);
      expect([status, body.message]).toEqual([code, expect.stringContaining(text)]);
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

const year = 31_536_000;
const paths = { OwnedAccessKey: ownKeys, DirectClusterEndpointToken: ownTokens } as const;
type Kind = keyof typeof paths;

/** With an end, and below a key that has none. */
const [bounded, free] = [await ownClient(world, { user: alice, ttl: 900 }), unlimited];
const childOfFree = await makeBelow(free, 'OwnedAccessKey', {
  accessKey: free.object.metadata.name,
  ttl: 900,
});
const refusals = { 403: /log in again, or ask an administrator of the platform/i, 404: /not found/ } as const;

/** Beside a maker: the answer when it changes another key of its user. With a scope it does not find that. */
const makers = [
  ['a key with an end', bounded, 403],
  ['a key with a scope', scoped, 404],
  [
    'a child of a key without',
    Object.assign(new OwnClient(world, childOfFree.spec.key), { object: childOfFree }),
    403,
  ],
] as const;

async function makeBelow(client: OwnClient, kind: Kind, spec: object) {
  const { status, body } = await client.send('POST', paths[kind], { body: { spec } });
  expect([status, body.message]).toEqual([201, undefined]);
  return body;
}

/** A new object, by each way to make one, and without making it. */
const ways = [
  [
    'POST',
    async (client: OwnClient, kind: Kind, spec: object, query: string) =>
      await client.send('POST', paths[kind] + query, { body: { spec } }),
  ],
  [
    'apply',
    async (client: OwnClient, kind: Kind, spec: object, query: string) =>
      await client.send('PATCH', `${paths[kind]}/${name('applied')}${query || '?'}&fieldManager=me`, {
        type: 'application/apply-patch+yaml',
        body: { spec },
      }),
  ],
] as const;

/** Each as a change of the spec of a stored object. */
const specChanges = changes
  .map(([way, form]) => [way.replace(/ (?:without|of|to).*/, ''), form] as const)
  .filter(([way], index, all) => all.findIndex(([other]) => other === way) === index);

interface SpecChange {
  readonly form: string;
  readonly change: object;
  readonly dryRun?: string;
}

async function changeSpec(client: OwnClient, { metadata }: Named, { form, change, dryRun = '' }: SpecChange) {
  const [method = '', type = ''] = form.split(' ');
  const query = type.includes('apply') ? `?fieldManager=me&force=true${dryRun}` : `?${dryRun}`;
  const place = `${ownKeys}/${metadata.name}`;
  return await until('there is no conflict', async () => {
    const read = await client.send('GET', place);
    const [field = '', value] = Object.entries(change)[0] ?? [];
    const body = type.includes('json-patch')
      ? [{ op: 'add', path: `/spec/${field}`, value }]
      : method === 'PUT'
        ? { ...read.body, spec: { ...read.body.spec, ...change } }
        : { spec: change };
    const answer = await client.send(method, place + query, { type, body });
    return answer.status !== 409 && answer;
  });
}

describe.each(makers)('with %s', (_, maker, otherKey) => {
  it.each(
    ways.flatMap(([way, make]) =>
      (['OwnedAccessKey', 'DirectClusterEndpointToken'] as const).map((kind) => [way, kind, make] as const),
    ),
  )('what is made by %s, a %s, is below it, or refused, also in a dry run', async (way, kind, make) => {
    for (const query of ['', '?dryRun=All']) {
      const made = await make(maker, kind, { ttl: 7_776_000 }, query);
      expect([made.status, made.body.spec?.accessKey]).toEqual([201, maker.object.metadata.name]);
      const other = await make(maker, kind, { ttl: 60, accessKey: free.object.metadata.name }, query);
      expect([way, other.status, other.body.details.causes[0].reason]).toEqual([way, 403, 'ERR_PARENT']);
      expect(other.body.message).toContain('log in again, or ask an administrator of the platform');
    }
  });

  it('a token ends no later, however long it is to last', async () => {
    const { status } = await makeBelow(maker, 'DirectClusterEndpointToken', { ttl: 7_776_000 });
    const end = (await admin.get(maker.object)).status.expirationTimestamp as string | undefined;
    expect(typeof end).toBe(maker === scoped ? 'undefined' : 'string');
    if (end !== undefined)
      expect(Date.parse(status.expirationTimestamp)).toBeLessThanOrEqual(Date.parse(end));
  });

  it.each(specChanges)(
    '%s changes neither it nor another key of its user, also in a dry run',
    async (_way, form) => {
      for (const [object, refusal] of [
        [maker.object, 403],
        [free.object, otherKey],
      ] as const)
        for (const dryRun of ['', '&dryRun=All']) {
          const { status, body } = await changeSpec(maker, object, { form, change: { ttl: year }, dryRun });
          expect([status, body.message]).toEqual([refusal, expect.stringMatching(refusals[refusal])]);
          expect((await admin.get(object)).spec['ttl']).toBe(object.spec['ttl']);
        }
    },
  );

  it('it is given no longer life by a rotation, and rotates no other', async () => {
    const rotate = { metadata: { annotations: { [annotations.rotate]: 'now' } } };
    const send = async ({ metadata }: Named) =>
      await maker.send('PATCH', `${ownKeys}/${metadata.name}`, { type: mergePatch, body: rotate });
    expect((await send(free.object)).status).toBe(otherKey);
    const { expirationTimestamp } = (await admin.get(maker.object)).status;
    expect((await send(maker.object)).status).toBe(200);
    const seen = await admin.until(maker.object, 'the operator has seen it', ({ status }) =>
      JSON.stringify(status).includes('RotationNotPossible'),
    );
    expect(seen.status.expirationTimestamp).toBe(expirationTimestamp);
  });

  it('its child is changed, and ends with it', async () => {
    const child = await makeBelow(maker, 'OwnedAccessKey', { ttl: year });
    const longer = { form: `PATCH ${mergePatch}`, change: { ttl: 2 * year } };
    const grandchild = await makeBelow(new OwnClient(world, child.spec.key), 'OwnedAccessKey', { ttl: year });
    expect((await changeSpec(maker, child, longer)).status).toBe(200);
    expect(grandchild.spec.accessKey).toBe(child.metadata.name);
  });

  it('another key of its user is deleted, if it is found', async () => {
    const other = await makeBelow(free, 'OwnedAccessKey', { ttl: 600 });
    const place = `${ownKeys}/${other.metadata.name}`;
    await until('the gateway knows it', async () => (await free.send('GET', place)).status === 200);
    expect((await maker.send('DELETE', place)).status).toBe(otherKey === 404 ? 404 : 200);
  });
});

it('what a key with an end made is refused when the key is disabled, at every level', async () => {
  const root = await ownClient(world, { user: alice, ttl: 900 });
  const child = await makeBelow(root, 'OwnedAccessKey', { ttl: year });
  const below = await makeBelow(new OwnClient(world, child.spec.key), 'OwnedAccessKey', { ttl: year });
  const last = new OwnClient(world, below.spec.key);
  expect((await last.send('GET', `${management}/version`)).status).toBe(200);
  await admin.patch(root.object, { spec: { disabled: true } });
  await until('it is refused', async () => (await last.send('GET', `${management}/version`)).status === 401);
});
