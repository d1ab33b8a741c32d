import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { give, impersonate, introduce, type Person } from '../../e2e/rights/people.ts';
import {
  type Attempt,
  bindingsOf,
  type CrowdOptions,
  casesOf,
  expectJustice,
  forged,
  forgedChange,
  type Made,
  stamps,
  whileAway,
} from './crowd.ts';
import type { Piece } from './policies-away.ts';

const plane: ControlPlane = await startControlPlane({ name: 'second-look' });
afterAll(async () => await plane.stop());
// It is thousands of objects.
const world = await operatorWorld({ plane, clear: false });
const { admin } = world;

const nameOf = (index: number): string => `stranger-${index}`;
let people: readonly Person[];
beforeAll(async () => {
  const names = Array.from({ length: 10 }, (_, index) => nameOf(index));
  people = await Promise.all(names.map(async (user) => naming(user, await introduce(world, user))));
});

/** Their keys say whose they are: the policy that stamps would say it for them, and without it the schema refuses the key. */
function naming(user: string, person: Person): Person {
  const named = (resource: Resource, spec: object) =>
    resource !== ownedAccessKeys || 'user' in spec || 'team' in spec ? spec : { user, ...spec };
  return {
    ...person,
    tryCreate: async (resource, spec, metadata) =>
      await person.tryCreate(resource, named(resource, spec), metadata),
  };
}

const secretRef = { namespace: 'kube-system', name: 'out' };

/** The first two are everyone's right; the policies refuse the others, or stamp them otherwise. */
const attempts: readonly Attempt[] = [
  [ownedAccessKeys, { ttl: 600 }, {}],
  [directClusterEndpointTokens, { ttl: 600 }, {}],
  [ownedAccessKeys, { user: 'bob', ttl: 600 }, {}],
  [ownedAccessKeys, { user: 'bob', ttl: 600 }, forged],
  [ownedAccessKeys, { team: 'ops', ttl: 600, scope: {} }, {}],
  [ownedAccessKeys, { groups: ['ops'], ttl: 600, scope: {} }, {}],
  [ownedAccessKeys, { ttl: 600, secretRef }, {}],
  [directClusterEndpointTokens, { ttl: 600 }, forged],
  [directClusterEndpointTokens, { ttl: 600, secretRef }, forged],
];

const widened = { groups: ['ops'], scope: {} };

/** What no one else refuses is tried where these are away. */
async function attemptsWithout(away: readonly Piece[]): Promise<readonly Attempt[]> {
  const isAway = (name: string) => away.some((piece) => piece.name === name);
  const { metadata } = await admin.get({ kind: 'Namespace', metadata: { name: 'kube-system' } });
  const owner = { apiVersion: 'v1', kind: 'Namespace', name: metadata.name, uid: metadata.uid };
  const ownerReferences = [{ ...owner, blockOwnerDeletion: true }];
  return [
    ...attempts,
    ...(isAway('latchkey-platform-fields')
      ? [[ownedAccessKeys, { ttl: 600, parent: 'login' }, {}] as const]
      : []),
    ...(isAway('latchkey-owner-references')
      ? [[ownedAccessKeys, { ttl: 600 }, { ownerReferences }] as const]
      : []),
  ];
}

/** Whether the maker may have it: it is for themselves and nothing else. */
function isOwn({ by, object: { metadata, spec } }: Made): boolean {
  const user = spec?.user ?? by;
  const more = [spec?.groups, spec?.team, spec?.secretRef].some((value) => value !== undefined);
  return metadata.annotations?.[annotations.requester] === by && user === by && !more;
}

/** What each of these policies refuses, and what the policies that stamp would write otherwise. */
const refused: Readonly<Record<string, (made: Made) => boolean>> = {
  stamps: ({ by, object: { metadata } }) => metadata.annotations?.[annotations.requester] !== by,
  'latchkey-delegation': ({ by, object: { spec } }) =>
    (spec.user ?? by) !== by || spec.team !== undefined || spec.groups !== undefined,
  'latchkey-secret-reference': ({ object: { spec } }) => spec.secretRef !== undefined,
  'latchkey-platform-fields': ({ object: { spec } }) => spec.parent !== undefined,
  'latchkey-owner-references': ({ object: { metadata } }) => metadata.ownerReferences !== undefined,
};

/** By the policies that refuse it. `victim`: a token of the first, which the others try to change. */
async function letIn(made: readonly Made[], victim: Stored): Promise<readonly string[]> {
  const { spec } = await admin.get(victim);
  const stored = Object.entries(refused).filter(([, isRefused]) => made.some(isRefused));
  const names = stored.map(([name]) => name);
  return spec.ttl === victim.spec.ttl ? names : [...names, 'latchkey-ownership'];
}

/** Two policies stamp, and either does for both. Of the two of ownership one judges those who may get the object. */
function expectedWithout(away: readonly Piece[]): readonly string[] {
  const isAway = (name: string) => away.some((piece) => piece.name === name);
  const isUnowned = away.some(
    ({ kind, name }) => kind.startsWith('Validating') && name === 'latchkey-ownership',
  );
  return [
    ...(stamps.every((piece) => away.includes(piece)) ? ['stamps'] : []),
    ...Object.keys(refused).filter(isAway),
    ...(isUnowned ? ['latchkey-ownership'] : []),
  ];
}

const crowd = async (away: readonly Piece[], victim: Stored): Promise<CrowdOptions> => ({
  plane,
  world,
  people: new Map(people.map((person, index) => [nameOf(index), person])),
  attempts: await attemptsWithout(away),
  own: async (person, user) => await person.create(ownedAccessKeys, { user, ttl: 600 }),
  widen: async (person, own) => {
    await person.patch(own, ownedAccessKeys, { metadata: forgedChange, spec: widened });
    if (person !== people[0]) await person.patch(victim, directClusterEndpointTokens, { spec: { ttl: 500 } });
  },
});

const cases = [
  ...casesOf([
    'latchkey-requester',
    'latchkey-requester-integrity',
    'latchkey-delegation',
    'latchkey-secret-reference',
    'latchkey-platform-fields',
    'latchkey-owner-references',
    'latchkey-ownership',
  ]),
  { title: 'the stamps', away: stamps },
  { title: 'both policies of ownership', away: bindingsOf('latchkey-ownership') },
];

describe('what is confirmed', () => {
  it('goes on when its creator loses the rights and the owner narrows the scope', async () => {
    const [maker, owner] = people;
    if (maker === undefined || owner === undefined) throw new Error('no people');
    const right = await give(world, nameOf(0), impersonate('users', nameOf(1)));
    const key = await admin.untilReady(await maker.create(ownedAccessKeys, { user: nameOf(1), ttl: 600 }));
    await right.take();
    const narrower = { spec: { scope: { clusters: [{ cluster: 'a' }] } } };
    expect(await owner.patch(key, ownedAccessKeys, narrower)).toMatchObject({ status: 200 });
    await admin.until(
      key,
      'confirmed',
      ({ status, metadata }) => status.observedGeneration === metadata.generation,
    );
    await admin.untilReady(key);
  });

  it('costs no question about a key of your own, and some about one for someone else', async () => {
    const [person] = people;
    if (person === undefined) throw new Error('no people');
    await give(world, nameOf(0), impersonate('users', nameOf(1)));
    const series = 'latchkey_client_requests_total{verb="POST",resource="subjectaccessreviews",code="201"}';
    const asked = async () => await metricOf(world.operator, series);
    const before = await asked();
    const make = async (user: string) =>
      await admin.untilReady(await person.create(ownedAccessKeys, { user, ttl: 600 }));
    for (let count = 0; count < 5; count++) await make(nameOf(0));
    expect(await asked()).toBe(before);
    await make(nameOf(1));
    expect(await asked()).toBeGreaterThan(before);
  });

  it('are keys that were made while the operator was away, or restarts', async () => {
    await world.killOperator();
    const made = await Promise.all(people.map((person) => person.create(ownedAccessKeys, { ttl: 600 })));
    await world.startOperator();
    made.push(...(await Promise.all(people.map((person) => person.create(ownedAccessKeys, { ttl: 600 })))));
    await concurrently(made, async (key) => void (await admin.untilReady(key, { timeoutMs: 90_000 })));
  });
});

describe('while ten users try', () => {
  it.each(cases)(
    'nothing is confirmed that the policies would refuse, without $title',
    async ({ away }) => {
      const victim = (await people[0]?.create(directClusterEndpointTokens, { ttl: 600 })) as Stored;
      const made = await whileAway(away, await crowd(away, victim));
      const expected = expectedWithout(away);
      // An API server acts on the policy that the case before has brought back only a moment later.
      expect(await letIn(made, victim)).toEqual(
        expected.length === 0 ? expected : expect.arrayContaining([...expected]),
      );
      await expectJustice(world, [...made, { by: nameOf(0), object: victim }], isOwn);
    },
    180_000,
  );
});
