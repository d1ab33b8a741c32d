import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { give, impersonate, introduce, type Person } from '../../e2e/rights/people.ts';
import {
  type Attempt,
  type CrowdOptions,
  casesOf,
  expectJustice,
  forged,
  forgedChange,
  type Made,
  stamps,
  whileAway,
} from './crowd.ts';

const plane: ControlPlane = await startControlPlane({ name: 'second-look' });
afterAll(async () => await plane.stop());
// It is thousands of objects.
const world = await operatorWorld({ plane, clear: false });
const { admin } = world;

const nameOf = (index: number): string => `stranger-${index}`;
let people: readonly Person[];
beforeAll(async () => {
  people = await Promise.all(Array.from({ length: 10 }, (_, index) => introduce(world, nameOf(index))));
});

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

/** Whether the maker may have it: it is for themselves and nothing else. */
function isOwn({ by, object: { metadata, spec } }: Made): boolean {
  const user = spec?.user ?? by;
  const more = [spec?.groups, spec?.team, spec?.secretRef].some((value) => value !== undefined);
  return metadata.annotations?.[annotations.requester] === by && user === by && !more;
}

const crowd = (): CrowdOptions => ({
  plane,
  world,
  people: new Map(people.map((person, index) => [nameOf(index), person])),
  attempts,
  own: async (person, user) => await person.create(ownedAccessKeys, { user, ttl: 600 }),
  widen: async (person, own) =>
    await person.patch(own, ownedAccessKeys, { metadata: forgedChange, spec: widened }),
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
      const made = await whileAway(away, crowd());
      if (away === stamps) expect(made.every(isOwn)).toBe(false);
      await expectJustice(world, made, isOwn);
    },
    180_000,
  );
});
