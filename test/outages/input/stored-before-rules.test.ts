import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../../lab/operator/api.ts';
import { storeInEtcd } from '../../../lab/operator/etcd.ts';
import { kubectlOf, placeOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations, group } from '../../../src/api/names.ts';
import { type Reason, reasons } from '../../../src/api/reasons.ts';
import {
  ownedAccessKeys as keys,
  type Resource,
  directClusterEndpointTokens as tokens,
} from '../../../src/api/resources.ts';
import { expectConfirmed, expectNothingConfirmed } from '../../e2e/input/nothing-confirmed.ts';

const world = await operatorWorld();
const { admin } = world;
const kubectl = await kubectlOf(world, 'before-user');
// The user that the stamps name may make all of this: what the operator refuses, it refuses for what is stored.
await giveRight(admin, 'alice', { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] });
await giveRight(admin, 'alice', {
  apiGroups: [''],
  resources: ['secrets'],
  verbs: ['get', 'create', 'update'],
});
const stamps = { [annotations.requester]: 'alice', [annotations.requesterGroups]: '[]' };

interface Unruly {
  readonly resource: Resource;
  readonly spec: unknown;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly status?: unknown;
}

/** Stores the object as one that the present rules and policies have never seen. */
const store = async ({ resource, spec, status, annotations: given = stamps }: Unruly) => {
  const { metadata, ...manifest } = manifestOf(resource, spec);
  const stored = {
    ...manifest,
    metadata: {
      ...metadata,
      uid: randomUUID(),
      generation: 1,
      creationTimestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      annotations: given,
    },
    ...(status === undefined ? {} : { status }),
  };
  kubectl.track(stored);
  await storeInEtcd(world.plane, resource, stored);
  return stored;
};

const { identityInvalid, malformedKey, secretFailed, requesterUnknown } = reasons;
const { requester, requesterGroups, createdWith } = annotations;

/** The operator's answer to specs that the rules refuse: a reason, and the field that is named with it. */
const refusedKeys: readonly [string, unknown, Reason, string][] = [
  ['for no one', {}, identityInvalid, 'spec.user'],
  ['for two', { user: 'a', team: 'b' }, identityInvalid, 'spec.team'],
  ['for an administrator of Kubernetes', { user: 'system:admin' }, identityInvalid, 'spec.user'],
  ['in a reserved group', { user: 'a', groups: ['system:masters'] }, identityInvalid, 'spec.groups[0]'],
  ['for a name with a letter of another script', { user: 'alic\u0435' }, identityInvalid, 'spec.user'],
  ['that is short', { user: 'a', key: 'short' }, malformedKey, 'spec.key'],
  ['of a hash that is none', { user: 'a', key: 'sha256:xyz' }, malformedKey, 'spec.key'],
  [
    'for a Secret without a name',
    { user: 'a', secretRef: { namespace: 'default' } },
    secretFailed,
    'spec.secretRef',
  ],
  ...['latchkey-system', 'latchkey-targets'].map((namespace): [string, unknown, Reason, string] => [
    `for a Secret in ${namespace}`,
    { user: 'a', secretRef: { namespace, name: 'a' } },
    secretFailed,
    'spec.secretRef',
  ]),
];

const refusedTokens: readonly [string, Omit<Unruly, 'resource'>, Reason, string][] = [
  ['without requester', { spec: {}, annotations: {} }, requesterUnknown, requester],
  [
    'with groups that are no list',
    { spec: {}, annotations: { ...stamps, [requesterGroups]: 'admins' } },
    requesterUnknown,
    requesterGroups,
  ],
  [
    'made with two credentials at once',
    { spec: {}, annotations: { ...stamps, [createdWith]: 'a/1,b/2' } },
    requesterUnknown,
    createdWith,
  ],
];

/** Specs of types that the rules cannot be computed for: the API server takes no write to such an object, from no one. */
const unwritable: readonly [string, Unruly][] = [
  ['a key for a number', { resource: keys, spec: { user: 7 } }],
  ['a key in a group that is a list', { resource: keys, spec: { user: 'a', groups: [['b']] } }],
  ['a key that is a number', { resource: keys, spec: { user: 'a', key: 12 } }],
  ['a key below a number', { resource: keys, spec: { user: 'a', accessKey: 3 } }],
  ['a key with a spec that is a text', { resource: keys, spec: 'spec' }],
  ['a key for a Secret that is a text', { resource: keys, spec: { user: 'a', secretRef: 'default/a' } }],
  ['a token below a list', { resource: tokens, spec: { accessKey: [] } }],
];

describe('an access key from before the rules', () => {
  it.each(refusedKeys)('%s gets nothing and is told why', async (_, spec, reason, field) => {
    const after = await admin.untilRefused(await store({ resource: keys, spec }), reason);
    expectNothingConfirmed(after);
    expect(conditionOf(after)?.message).toContain(field);
  });

  it.each([-1, 1.5, '3600', 2 ** 60, null])('with ttl %j has ended, or none', async (ttl) => {
    const key = await store({ resource: keys, spec: { user: 'a', ttl } });
    if (ttl === null) expectConfirmed(await admin.untilReady(key));
    else await admin.untilRefused(key, reasons.expired);
  });

  it('with a scope that is a text works and lets nothing through', async () => {
    const after = await admin.untilReady(await store({ resource: keys, spec: { user: 'a', scope: 'all' } }));
    expectConfirmed(after);
    expect(after.spec.scope).toBe('all');
  });
});

describe('claims that are no texts, from before the rules', () => {
  const extraClaims = { plan: { size: 3 }, seats: 3 };
  const stored = async () => await store({ resource: keys, spec: { user: 'a', identity: { extraClaims } } });

  it('keep no key from working and from being disabled', async () => {
    const key = await stored();
    expectConfirmed(await admin.untilReady(key));
    await admin.patch(key, { spec: { disabled: true } });
    await admin.untilRefused(key, reasons.disabled);
  });

  it('are named when they are changed, and can be written as texts', async () => {
    const { api } = await world.user('alice');
    await giveRight(admin, 'alice', {
      ...{ apiGroups: [group], resources: [keys.plural] },
      verbs: ['manage-platform-fields'],
    });
    const key = await admin.untilReady(await stored());
    const change = async (claims: object): Promise<unknown> =>
      await api.patch(key, { spec: { identity: { extraClaims: claims } } });
    await until(
      'the right acts',
      async () =>
        await change({ plan: null, seats: '3' }).then(
          () => true,
          () => false,
        ),
    );
    await expect(change({ seats: 4 })).rejects.toMatchObject({
      status: 422,
      statusMessage: expect.stringContaining(
        'spec.identity.extraClaims.seats in body must be of type string',
      ),
    });
    expect((await admin.get(key)).spec.identity).toEqual({ extraClaims: { seats: '3' } });
  });
});

describe('a token from before the rules', () => {
  it.each(refusedTokens)('%s gets nothing and is told why', async (_, token, reason, field) => {
    const after = await admin.untilRefused(await store({ resource: tokens, ...token }), reason);
    expectNothingConfirmed(after);
    expect(conditionOf(after)?.message).toContain(field);
  });
});

describe('a status that the operator did not write', () => {
  it.each([
    ['is a text', 'Ready'],
    ['has conditions that are a text', { conditions: 'Ready' }],
    [
      'has fields of wrong types',
      { serial: 'x', observedGeneration: 'y', notAfter: 5, previous: [], active: 'no' },
    ],
    ['confirms what no one issued', { serial: 3, credentialHash: 'f'.repeat(64), fingerprint: 'v1:0' }],
  ])('and that %s is replaced whole', async (_, status) => {
    const user = { resource: keys, spec: { user: 'alice' } };
    const after = await admin.untilReady(await store({ ...user, status }));
    expectConfirmed(after);
    expect(after.status.credentialHash).not.toBe('f'.repeat(64));
  });
});

describe('an object that no one can write to any more', () => {
  it.each(unwritable)(
    '(%s) stays unconfirmed, the operator says so in its log, and it can be deleted',
    async (_, unruly) => {
      const object = await store(unruly);
      const { name } = object.metadata;
      await until(`the operator has met ${name}`, async () => {
        const lines = (await world.operator.log()).split('\n').filter((line) => line.includes(name));
        return lines.some((line) => line.includes('"status":422') && line.includes('reconcile failed'));
      });
      expect((await admin.get(object)).status).toEqual({
        observedGeneration: -1,
        state: 'Waiting',
        conditions: [expect.objectContaining({ type: 'Ready', status: 'Unknown', reason: reasons.pending })],
      });
      await kubectl.ok(['delete', '--timeout=120s', ...placeOf(object)]);
      expect(await admin.find(object)).toBeUndefined();
    },
  );
});

describe('the operator beside all of them', () => {
  it('goes on with other objects', async () => {
    expectConfirmed(await admin.untilReady(await admin.createKey()));
    expectConfirmed(await admin.untilReady(await (await world.user('alice')).api.createToken()));
  });

  it('lets each of them be deleted', async () => {
    const objects = await Promise.all([
      ...refusedKeys.map(async ([, spec]) => await store({ resource: keys, spec })),
      ...refusedTokens.map(async ([, token]) => await store({ resource: tokens, ...token })),
    ]);
    for (const object of objects)
      await admin.until(object, 'reconciled', ({ status }) => status.observedGeneration === 1);
    await kubectl.ok(['delete', '--timeout=120s', ...objects.flatMap((object) => placeOf(object))]);
    for (const object of objects) expect(await admin.find(object)).toBeUndefined();
  });

  it('has no defect to report', async () => {
    expect(await world.operator.log()).not.toMatch(/cannot be read|TypeError|RangeError/);
  });
});
