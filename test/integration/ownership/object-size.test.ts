import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { clusters, ownedAccessKeys, virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { type ApiClient, contentTypes } from '../admission/api-client.ts';
import { pathOf, type TestObject, unreadObjectOf } from '../admission/objects.ts';
import { admissionWorld } from '../admission/world.ts';
import { annotated, expectEnd, makeKey, managing, type Way, ways, withMetadata } from './oversize.ts';
import { peopleOf } from './people.ts';

/** Claims below each other. */
const nested = (depth: number): object =>
  Array.from({ length: depth }).reduce<object>((inner) => ({ below: inner }), {});

/** So many claims of the same text. */
const claims = (count: number, text: string): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`claim-${index}`, text]));

describe('an object that is larger than it may be', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);

  it('is refused with the part that is too large', async () => {
    const path = await makeKey(people.mallory, 'mallory');
    const { body } = await people.master.send('GET', path);
    const large = (ways['owner references'] as Way)(body, 120_000);
    expect(await people.mallory.send('PUT', path, { body: large })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('metadata.ownerReferences: larger than 20000 characters') },
    });
    await expectEnd(people.root, path);
  });

  it('has the limit at its creation too, and for the other kinds', async () => {
    for (const [client, resource] of [
      [people.mallory, ownedAccessKeys],
      [people.master, virtualClusterInstanceKubeConfigs],
      [people.root, clusters],
    ] as const) {
      const body = annotated(unreadObjectOf(resource, {}), '<'.repeat(200_000));
      const answer = await client.send('POST', pathOf(resource), { body });
      expect(answer.status, resource.kind).toBe(403);
      expect(answer.body.message).toContain('metadata.annotations: larger than 300000 bytes');
    }
  });

  it.each([
    ['with more texts than its JSON may have bytes', 'x'.repeat(60_000)],
    ['with texts that JSON writes longer', '<'.repeat(10_000)],
  ])('is refused for claims %s', async (_, claim) => {
    const body = unreadObjectOf(ownedAccessKeys, {
      user: 'alice',
      identity: { extraClaims: claims(7, claim) },
    });
    expect(await people.platform.send('POST', pathOf(ownedAccessKeys), { body })).toMatchObject({
      status: 403,
      body: {
        message: expect.stringContaining('spec: larger than 400000 bytes of JSON, or nested too deep'),
      },
    });
  });

  it.each([
    ['nested deeper than may be measured', nested(20)],
    ['with more parts than are measured', Array.from({ length: 2_100 }, () => 1)],
    ['with a number', 1.234567890123456e-7],
  ])('is refused by the schema, which names the claim, for claims %s', async (_, claim) => {
    const body = unreadObjectOf(ownedAccessKeys, { user: 'alice', identity: { extraClaims: { claim } } });
    expect(await people.platform.send('POST', pathOf(ownedAccessKeys), { body })).toMatchObject({
      status: 422,
      body: {
        message: expect.stringContaining('spec.identity.extraClaims.claim in body must be of type string'),
      },
    });
  });

  const names = (count: number, text = 'x'.repeat(25)) =>
    Array.from({ length: count }, (_, index) => `${text}-${100 + index}`);
  const roles = (count: number, text?: string) => [{ role: 'platform-user', projects: names(count, text) }];

  it.each<[string, object]>([
    ['a scope', { scope: { roles: [...roles(128, 'x'.repeat(200)), ...roles(60, 'x'.repeat(200))] } }],
    ['rules', { scope: { rules: Array.from({ length: 32 }, () => ({ verbs: names(32) })) } }],
    [
      'a scope with an exchange',
      {
        scope: { roles: roles(128, 'x'.repeat(120)) },
        exchange: {
          tokens: Array.from({ length: 16 }, (_, index) => ({
            issuer: `https://issuer-${index}.example.com`,
            claims: { sub: 'x'.repeat(1_020), job: 'x'.repeat(1_020) },
          })),
        },
      },
    ],
  ])('has a smaller limit for what operator and gateways keep in memory: %s', async (_, spec) => {
    const post = async (sent: object) =>
      await people.mallory.send('POST', pathOf(ownedAccessKeys), {
        body: unreadObjectOf(ownedAccessKeys, { user: 'mallory', ...sent }),
      });
    expect(await post(spec)).toMatchObject({
      status: 403,
      body: {
        message: expect.stringContaining(
          'spec.scope, spec.rules, spec.exchange, spec.secretRef together: larger than 32768 bytes of JSON',
        ),
      },
    });
    const half = { scope: { roles: roles(128, 'x'.repeat(200)) } };
    const made = await post(half);
    expect(made.status, made.body.message).toBe(201);
  });

  it('may keep a scope from before the limit, and be disabled', async () => {
    const path = await makeKey(people.mallory, 'mallory');
    const contentType = contentTypes.mergePatch;
    const scope = { roles: [...roles(128, 'x'.repeat(200)), ...roles(128, 'x'.repeat(200))] };
    // No policy judges the operator.
    const grown = { body: { spec: { scope } }, contentType };
    expect((await people.operator.send('PATCH', path, grown)).status).toBe(200);
    const put = async (changes: object) => {
      const { body } = await people.master.send('GET', path);
      return await people.mallory.send('PUT', path, {
        body: { ...body, spec: { ...body.spec, ...changes } },
      });
    };
    const described = await put({ description: 'x' });
    expect(described.status, described.body.message).toBe(200);
    expect((await put({ scope: { roles: [...scope.roles, ...roles(1)] } })).body.message).toContain('32768');
    await expectEnd(people.root, path);
  });

  const managedBy = (manager: unknown, depth: number): TestObject => {
    const fieldsV1 = Array.from({ length: depth }).reduce<object>((inner) => ({ 'f:a': inner }), {});
    const entry = {
      manager,
      operation: 'Apply',
      apiVersion: 'management.platform.sh/v1',
      fieldsType: 'FieldsV1',
    };
    return withMetadata(unreadObjectOf(ownedAccessKeys, { user: 'mallory' }), {
      managedFields: [{ ...entry, time: '2026-11-21T10:00:00Z', fieldsV1 }],
    });
  };

  it('has managedFields of nine names below each other, and of no more', async () => {
    const post = async (depth: number) =>
      await people.mallory.send('POST', pathOf(ownedAccessKeys), { body: managedBy('deep', depth) });
    expect((await post(9)).status).toBe(201);
    expect(await post(10)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('metadata.managedFields: larger than 120000 bytes of JSON') },
    });
  });

  it('has a text as the name of a manager, or the API server does not take it', async () => {
    const body = managedBy(nested(20), 1);
    expect((await people.mallory.send('POST', pathOf(ownedAccessKeys), { body })).status).toBe(400);
  });

  it('can be disabled whatever its spec holds, and not be changed otherwise', async () => {
    const path = await makeKey(people.mallory, 'mallory');
    const contentType = contentTypes.mergePatch;
    const large = { spec: { identity: { extraClaims: claims(7, '<'.repeat(10_000)) } } };
    // No policy judges the operator.
    expect((await people.operator.send('PATCH', path, { body: large, contentType })).status).toBe(200);
    const described = { body: { spec: { description: 'x' } }, contentType };
    expect((await people.mallory.send('PATCH', path, described)).status).toBe(403);
    await expectEnd(people.root, path);
  });

  it('has the quotes of its annotations counted, too', async () => {
    const names = Array.from({ length: 2000 }, (_, index) => `long-${100_000 + index}`);
    const body = annotated(unreadObjectOf(ownedAccessKeys, { user: 'mallory' }), '<'.repeat(46_000));
    const notes = { ...body.metadata.annotations, ...Object.fromEntries(names.map((name) => [name, ''])) };
    const answer = await people.mallory.send('POST', pathOf(ownedAccessKeys), {
      body: withMetadata(body, { annotations: notes }),
    });
    expect({ status: answer.status, said: answer.body.message }).toEqual({
      status: 403,
      said: expect.stringContaining('metadata.annotations: larger than 300000 bytes'),
    });
  });

  it('may not be enabled with the managers for which only a disabled one has room', async () => {
    const spec = { user: 'mallory', disabled: true };
    const body = managing(unreadObjectOf(ownedAccessKeys, spec), 1, 135_000);
    const created = await people.mallory.send('POST', pathOf(ownedAccessKeys), { body });
    expect(created.status, created.body.message).toBe(201);
    const path = pathOf(ownedAccessKeys, created.body.metadata.name);
    const enabled = { ...created.body, spec: { ...created.body.spec, disabled: false } };
    expect(await people.mallory.send('PUT', path, { body: enabled })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('metadata.managedFields: larger than 120000 bytes') },
    });
    await expectEnd(people.root, path);
  });

  it('can be changed and disabled with as many claims as there may be', async () => {
    const extraClaims = claims(64, 'x'.repeat(6_000));
    const body = unreadObjectOf(ownedAccessKeys, { user: 'alice', identity: { extraClaims } });
    const created = await people.platform.send('POST', pathOf(ownedAccessKeys), { body });
    expect(created.status, created.body.message).toBe(201);
    const path = pathOf(ownedAccessKeys, created.body.metadata.name);
    const described = { body: { spec: { description: 'x' } }, contentType: contentTypes.mergePatch };
    const answer = await people.platform.send('PATCH', path, described);
    expect(answer.status, answer.body.message).toBe(200);
    await expectEnd(people.root, path);
  });

  it.each([
    ['out of bounds', 2_100, 1],
    ['too large', 1, 200_000],
  ])(
    'can be disabled once, and not enabled, with managers that were %s before the limits',
    async (_, count, length) => {
      const path = await makeKey(people.mallory, 'mallory');
      const { body } = await people.master.send('GET', path);
      // No policy judges the operator.
      const grown = await people.operator.send('PATCH', path, {
        body: { metadata: { managedFields: managing(body, count, length).metadata['managedFields'] } },
        contentType: contentTypes.mergePatch,
      });
      expect(grown.status, grown.body.message).toBe(200);
      const put = async (client: ApiClient, object: TestObject, disabled: boolean) => {
        const spec = { ...object.spec, disabled };
        const answer = await client.send('PUT', path, { body: { ...object, spec } });
        return { status: answer.status, said: answer.body.message };
      };
      const refused = {
        status: 403,
        said: expect.stringContaining('metadata.managedFields: larger than 120000 bytes'),
      };
      const { body: large } = await people.master.send('GET', path);
      if (count === 1) expect(await put(people.root, managing(large, 1, 300_000), true)).toEqual(refused);
      expect(await put(people.root, large, true)).toEqual({ status: 200, said: undefined });
      const { body: disabled } = await people.master.send('GET', path);
      expect(await put(people.mallory, disabled, false)).toEqual(refused);
      await expectEnd(people.root, path);
    },
  );

  it('may shrink in steps, and keep its size, but not grow, when it is too large already', async () => {
    const path = await makeKey(people.mallory, 'mallory');
    const patch = (value: string) => ({
      body: { metadata: { annotations: { long: value } } },
      contentType: contentTypes.mergePatch,
    });
    // No policy judges the operator.
    expect((await people.operator.send('PATCH', path, patch('<'.repeat(80_000)))).status).toBe(200);
    const describeAs = async (description: string): Promise<number> => {
      const { body } = await people.master.send('GET', path);
      const answer = await people.mallory.send('PUT', path, {
        body: { ...body, spec: { ...body.spec, description } },
      });
      return answer.status;
    };
    expect(await describeAs('the same size')).toBe(200);
    const { body } = await people.master.send('GET', path);
    const put = (value: string) => people.mallory.send('PUT', path, { body: annotated(body, value) });
    expect((await put('<'.repeat(81_000))).status).toBe(403);
    expect((await put('<'.repeat(70_000))).status).toBe(200);
  });

  it('loses labels and annotations together with its life to those who revoke', async () => {
    const path = await makeKey(people.alice, 'alice');
    const note = { metadata: { annotations: { note: 'long' }, labels: { a: 'b' } } };
    const merge = { contentType: contentTypes.mergePatch };
    const { body } = await people.master.send('GET', path);
    expect(
      (
        await people.alice.send('PUT', path, {
          body: withMetadata(body, {
            annotations: { ...body.metadata.annotations, ...note.metadata.annotations },
          }),
        })
      ).status,
    ).toBe(200);
    const drop = { annotations: { note: null }, labels: null };
    const alone = await people.warden.send('PATCH', path, { body: { metadata: drop }, ...merge });
    expect(alone.status).toBe(403);
    const both = await people.warden.send('PATCH', path, {
      body: { metadata: drop, spec: { disabled: true } },
      ...merge,
    });
    expect({ status: both.status, said: both.body.message }).toEqual({ status: 200, said: undefined });
    const stored = (await people.master.send('GET', path)).body;
    expect(stored.metadata).not.toHaveProperty('labels');
    expect(Object.keys(stored.metadata.annotations)).toEqual(
      expect.arrayContaining([annotations.requester, annotations.requesterGroups]),
    );
    expect(stored.metadata.annotations).not.toHaveProperty('note');
  });
});
