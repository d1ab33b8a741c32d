import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import type { World } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import type { Resource } from '../../../src/api/resources.ts';
import { shippedPolicies } from '../../../src/operator/admission/generated/shipped-policies.ts';
import type { Person } from '../../e2e/rights/people.ts';
import type { ApiAnswer } from '../../integration/admission/api-client.ts';
import { type Piece, takeAway } from './policies-away.ts';

/** Annotations as the policies would write them about someone who may do everything. */
export const forged = {
  annotations: {
    [annotations.requester]: 'platform-admin',
    [annotations.requesterGroups]: '["system:masters"]',
  },
};
export const forgedChange = {
  annotations: {
    [annotations.changedBy]: 'platform-admin',
    [annotations.changedByGroups]: '["system:masters"]',
  },
};

/** An object that someone tries to make. */
export type Attempt = readonly [resource: Resource, spec: object, metadata: object];

export interface Made {
  readonly by: string;
  readonly object: Stored;
}

/** Whether its annotations say who made it, and it leads to no Secret. */
export const isPlain = ({ by, object: { metadata, spec } }: Made): boolean =>
  metadata.annotations?.[annotations.requester] === by && spec.secretRef === undefined;

/** Everyone's attempts with objects of some kinds. */
export interface Trial {
  /** Objects that they make in vain where the policies act. */
  readonly attempts: readonly Attempt[];
  readonly tryCreate: (person: Person, name: string, attempt: Attempt) => Promise<ApiAnswer>;
  /** Everyone's object from the beginning, and how they try to widen it. */
  readonly own: (person: Person, name: string) => Promise<Made>;
  readonly widen: (person: Person, own: Stored) => Promise<unknown>;
}

export interface CrowdOptions {
  readonly world: World;
  readonly people: ReadonlyMap<string, Person>;
  readonly trials: readonly Trial[];
}

/** Everyone tries everything in turn, and to widen what is their own, each from another beginning. */
class Crowd {
  readonly made: Made[] = [];
  readonly #options: CrowdOptions;
  #over = false;
  readonly #tried: number[];
  readonly #trying: Promise<unknown>;

  constructor(options: CrowdOptions) {
    this.#options = options;
    const people = [...options.people];
    this.#tried = people.map(() => 0);
    this.#trying = Promise.all(people.map(([name, person], index) => this.#try(name, person, index)));
  }

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

  async #try(by: string, person: Person, index: number): Promise<void> {
    const turns = (
      await Promise.all(this.#options.trials.map((trial) => this.#turnsOf(trial, by, person)))
    ).flat();
    for (let turn = index; !this.#over; turn++) {
      await turns[turn % turns.length]?.();
      this.#tried[index] = (this.#tried[index] ?? 0) + 1;
      await delay(paceMs);
    }
  }

  async #turnsOf(trial: Trial, by: string, person: Person): Promise<readonly (() => Promise<unknown>)[]> {
    const own = await trial.own(person, by);
    this.made.push(own);
    const tries = trial.attempts.map((attempt) => async () => {
      const { status, body } = await trial.tryCreate(person, by, attempt);
      if (status === 201) this.made.push({ by, object: body });
    });
    return [...tries, async () => await trial.widen(person, own.object)];
  }
}

/** Three of them keep no API server so busy that the rest of the test waits for it. */
const paceMs = 100;
/** An API server goes on by the policies that it has read for up to a second. No one tries more often than this in it. */
const triesBefore = 1_000 / paceMs;

/** Returns what the crowd made before these are gone, while they are, and after they are back. */
export async function whileAway(pieces: readonly Piece[], options: CrowdOptions): Promise<readonly Made[]> {
  const { world, trials } = options;
  const turns = trials.reduce((sum, { attempts }) => sum + attempts.length + 1, 0);
  const crowd = new Crowd(options);
  await crowd.untilTried(2);
  const bringBack = await takeAway(world.admin.client, pieces);
  await crowd.untilTried(triesBefore + turns);
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
  reasons.changeNotAllowed,
  reasons.useNotAllowed,
];

/** Each is decided on, and what was confirmed is what its maker may have. */
export async function expectJustice(
  { admin }: World,
  made: readonly Made[],
  mayHave: (made: Made) => boolean,
): Promise<void> {
  await concurrently(
    made,
    async ({ by, object }) => {
      const isDecided = (found: Stored) =>
        !undecided.includes(conditionOf(found)?.reason) &&
        found.status.observedGeneration === found.metadata.generation;
      const seen = await admin.until(object, 'decided', isDecided, { timeoutMs: 120_000 });
      const reason = conditionOf(seen)?.reason;
      if (seen.status.credentialHash === undefined) expect(refusals).toContain(reason);
      else
        expect({ by, reason, spec: seen.spec, mayHave: mayHave({ by, object: seen }) }).toMatchObject({
          mayHave: true,
        });
    },
    16,
  );
}

const stamping = ['latchkey-requester', 'latchkey-requester-integrity'];

const pairOf = ({ kind, name }: Piece): string => `${kind.replace(/Binding$/, '')}/${name}`;
/** Short, because titles are cut: `VAPB delegation`. */
const titleOf = ({ kind, name }: Piece): string =>
  `${kind.replaceAll(/[a-z]/g, '')} ${name.replace('latchkey-', '')}`;

const piecesOf = (names: readonly string[]): readonly Piece[] =>
  shippedPolicies.filter(({ name }) => names.includes(name));

export const bindingsOf = (...names: readonly string[]): readonly Piece[] =>
  piecesOf(names).filter(({ kind }) => kind.endsWith('Binding'));

/** The bindings of the policies that stamp. */
export const stamps = bindingsOf(...stamping);

const pairsOf = (names: readonly string[]): readonly (readonly Piece[])[] => [
  ...Map.groupBy(piecesOf(names), pairOf).values(),
];

/**
 * Each policy and each binding is away once: of each pair one with its group alone and the other with that of the stamps, in turn, for
 * either has the same effect. Those that stamp are away each by itself.
 */
export function casesOf(groups: readonly (readonly string[])[]) {
  const alone = groups.map((names) => pairsOf(names).map((pair, index) => pair[index % 2] as Piece));
  const others = groups.map((names, at) => piecesOf(names).filter((piece) => !alone[at]?.includes(piece)));
  return [
    ...pairsOf(stamping).map(([policy]) => [policy as Piece]),
    ...alone,
    ...others.map((away) => [...away, ...stamps]),
  ].map((away) => ({ title: away.map(titleOf).join(', '), away }));
}
