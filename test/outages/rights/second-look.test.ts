import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { shippedPolicies } from '../../../src/operator/admission/generated/shipped-policies.ts';
import { give, impersonate, introduce, type Person } from '../../e2e/rights/people.ts';
import { type Piece, takeAway } from './policies-away.ts';

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

const forged = {
  annotations: {
    [annotations.requester]: 'platform-admin',
    [annotations.requesterGroups]: '["system:masters"]',
  },
};
const forgedChange = {
  annotations: {
    [annotations.changedBy]: 'platform-admin',
    [annotations.changedByGroups]: '["system:masters"]',
  },
};
const secretRef = { namespace: 'kube-system', name: 'out' };

/** The first two are everyone's right; the policies refuse the others, or stamp them otherwise. */
const attempts: readonly (readonly [Resource, object, object])[] = [
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

interface Made {
  readonly by: string;
  readonly object: Stored;
}

/** Everyone tries everything in turn, and to widen a key of their own, each from another beginning. */
class Crowd {
  readonly made: Made[] = [];
  #over = false;
  readonly #tried = people.map(() => 0);
  readonly #trying = Promise.all(people.map((person, index) => this.#try(person, index)));

  /** Until each has tried so many times more. */
  async untilTried(times: number): Promise<void> {
    const goals = this.#tried.map((count) => count + times);
    const isReached = async () => this.#tried.every((count, index) => count >= (goals[index] ?? 0));
    await until('everyone has tried', isReached, { timeoutMs: 120_000 });
  }

  async end(): Promise<void> {
    this.#over = true;
    await this.#trying;
  }

  async #try(person: Person, index: number): Promise<void> {
    const by = nameOf(index);
    const own = await person.create(ownedAccessKeys, { user: by, ttl: 600 });
    this.made.push({ by, object: own });
    for (let turn = index; !this.#over; turn++) {
      const [resource, spec, metadata] = attempts[turn % (attempts.length + 1)] ?? [];
      if (resource === undefined || spec === undefined) {
        await person.patch(own, ownedAccessKeys, { metadata: forgedChange, spec: widened });
      } else {
        const { status, body } = await person.tryCreate(resource, spec, metadata);
        if (status === 201) this.made.push({ by, object: body });
      }
      this.#tried[index] = (this.#tried[index] ?? 0) + 1;
      await delay(paceMs);
    }
  }
}

/** Ten of them keep no API server so busy that the rest of the test waits for it. */
const paceMs = 100;
/** An API server goes on by the policies that it has read for up to a second. Each of ten users tries six times in it, at most. */
const triesBefore = 7;

async function whileAway(pieces: readonly Piece[]): Promise<readonly Made[]> {
  const crowd = new Crowd();
  await crowd.untilTried(2);
  const bringBack = await takeAway(plane, pieces);
  await crowd.untilTried(triesBefore + attempts.length + 1);
  await bringBack();
  const isComplete = async () => (await healthOf(world.operator, '/readyz')).status === 200;
  await until('all policies are there', isComplete, { timeoutMs: 90_000 });
  await crowd.untilTried(2);
  await crowd.end();
  return crowd.made;
}

const undecided: readonly (string | undefined)[] = [undefined, 'Pending', reasons.admissionMissing];
const refusals: readonly (string | undefined)[] = [
  reasons.requesterNotPermitted,
  reasons.requesterUnknown,
  reasons.requesterNotAllowed,
];

/** Whether the maker may have it: it is for themselves and nothing else. */
function isOwn({ by, object: { metadata, spec } }: Made): boolean {
  const user = spec?.user ?? by;
  const more = [spec?.groups, spec?.team, spec?.secretRef].some((value) => value !== undefined);
  return metadata.annotations?.[annotations.requester] === by && user === by && !more;
}

async function expectJustice({ by, object }: Made): Promise<void> {
  const seen = await admin.until(
    object,
    'decided',
    (found) =>
      !undecided.includes(conditionOf(found)?.reason) &&
      found.status.observedGeneration === found.metadata.generation,
    { timeoutMs: 120_000 },
  );
  const reason = conditionOf(seen)?.reason;
  if (seen.status.credentialHash === undefined) expect(refusals).toContain(reason);
  else
    expect({ by, reason, spec: seen.spec, isOwn: isOwn({ by, object: seen }) }).toMatchObject({
      isOwn: true,
    });
}

const stamping = ['latchkey-requester', 'latchkey-requester-integrity'];
const guarding = [
  ...stamping,
  'latchkey-delegation',
  'latchkey-secret-reference',
  'latchkey-platform-fields',
  'latchkey-owner-references',
  'latchkey-ownership',
];
const pieces: readonly Piece[] = shippedPolicies.filter(({ name }) => guarding.includes(name));
const stamps = pieces.filter(({ kind, name }) => stamping.includes(name) && kind.endsWith('Binding'));
const pairOf = ({ kind, name }: Piece): string => `${kind.replace(/Binding$/, '')}/${name}`;
/** Short, because titles are cut: `VAPB delegation`. */
const titleOf = ({ kind, name }: Piece): string =>
  `${kind.replaceAll(/[a-z]/g, '')} ${name.replace('latchkey-', '')}`;
/** One of each policy and its binding, in turn: with the stamps gone as well, either has the same effect. */
const oneOfEach = [
  ...Map.groupBy(
    pieces.filter(({ name }) => !stamping.includes(name)),
    pairOf,
  ).values(),
].map((pair, index) => pair[index % pair.length] as Piece);
const cases = [
  ...pieces.map((piece) => ({ title: titleOf(piece), away: [piece] })),
  ...oneOfEach.map((piece) => ({ title: `${titleOf(piece)} and the stamps`, away: [piece, ...stamps] })),
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
      const made = await whileAway(away);
      if (away === stamps) expect(made.every(isOwn)).toBe(false);
      await concurrently(made, expectJustice, 16);
    },
    180_000,
  );
});
