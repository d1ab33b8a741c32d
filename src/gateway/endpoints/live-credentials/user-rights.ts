import type { Identity } from '../../../credentials/identity.ts';
import type { Clock } from '../../../kube/clock.ts';
import type { AccessQuestion } from '../../../platform/access-review.ts';
import type { EntryPermissions } from '../../gate/entry-permissions.ts';
import { questionsAtOnce } from '../../gate/questions.ts';
import { UpstreamBusy } from '../../turns/request-slots.ts';

export interface UserRightsOptions {
  readonly permissions: Pick<EntryPermissions, 'isAllowed' | 'lastAnswer' | 'maxStayMs'>;
  readonly clock: Clock;
  /** The right that entering the cluster needs. */
  readonly entry: AccessQuestion;
  /** Called with every token of a user whose right is known, or has changed. */
  readonly onChange: (hash: string) => void;
  /** Called when answers are too old to count and none comes any more. That says nothing about any user. */
  readonly onSilence: () => void;
}

/** Who may enter the cluster. `asking`: the first answer is not there yet. */
interface UserRight {
  readonly key: string;
  readonly identity: Identity;
  readonly hashes: Set<string>;
  state: 'asking' | 'yes' | 'no';
  isQueued: boolean;
  /** When it was answered last, or its question failed. */
  answered: number;
  /** When the question of the last answer was sent. */
  confirmed: number;
  /** Whether the last question of our own was sent and got no answer. */
  isFailing: boolean;
}

/** Questions at once, of one stream. Those of all streams of this gateway have the same number of slots, and none of a person's. */
const maxAsking = questionsAtOnce.following;
/** Before a question is asked again that failed, or that was answered with no, milliseconds. Of most users the answer stays no. */
const askAgainMs = { failed: 5_000, no: 60_000 };

const pauseOf = ({ state }: UserRight): number => (state === 'no' ? askAgainMs.no : askAgainMs.failed);

/** The right of the users of tokens to enter one cluster, asked once for all tokens of one user, and kept current. */
export class UserRights {
  readonly #options: UserRightsOptions;
  readonly #rights = new Map<string, UserRight>();
  readonly #byHash = new Map<string, UserRight>();
  readonly #queue: UserRight[] = [];
  /** Of users whose last answer is too old. They go first: the reader has their tokens. */
  readonly #urgent: UserRight[] = [];
  #asking = 0;
  #unknown = 0;
  /** When something was answered last, about any user. */
  #lastAnswered = 0;

  constructor(options: UserRightsOptions) {
    this.#options = options;
  }

  /** Whether some first answer is missing. */
  get isAsking(): boolean {
    return this.#unknown > 0;
  }

  /** Whether the user of a live token may enter; undefined while that is asked. */
  find(hash: string, identity: Identity): boolean | undefined {
    // Tokens of one user may name the same groups in any order. That is one question.
    const groups = identity.groups.toSorted();
    const key = JSON.stringify([identity.user, groups]);
    const right = this.#rights.get(key) ?? this.#create(key, { ...identity, groups });
    const former = this.#byHash.get(hash);
    if (former !== right) {
      if (former !== undefined) this.forget(hash);
      right.hashes.add(hash);
      this.#byHash.set(hash, right);
    }
    return right.state === 'asking' ? undefined : right.state === 'yes';
  }

  /** For a token that is gone. */
  forget(hash: string): void {
    const right = this.#byHash.get(hash);
    if (right === undefined) return;
    this.#byHash.delete(hash);
    right.hashes.delete(hash);
  }

  /** To be called often. */
  check(): void {
    const now = this.#options.clock.monotonic();
    const confirmed: UserRight[] = [];
    const tooOld: UserRight[] = [];
    for (const right of this.#rights.values()) {
      if (right.hashes.size === 0 && !right.isQueued) this.#delete(right);
      else if (right.state !== 'yes') this.#askNowAndThen(right, now);
      else if (this.#readAnswer(right)) confirmed.push(right);
      else if (this.#isTooOld(right, now)) tooOld.push(right);
    }
    // The oldest answers stay in front: there are only so many questions at a time, and none must wait for ever.
    for (const right of confirmed) {
      this.#rights.delete(right.key);
      this.#rights.set(right.key, right);
    }
    this.#replaceAll(tooOld, now);
  }

  #replaceAll(tooOld: readonly UserRight[], now: number): void {
    if (tooOld.length > 0 && this.#isSilent(now)) return this.#options.onSilence();
    for (const right of tooOld) this.#replace(right, now);
  }

  #askNowAndThen(right: UserRight, now: number): void {
    if (now - right.answered >= pauseOf(right)) this.#enqueue(right);
  }

  /** Whether there is another answer than at the last look, and it is a yes. A no counts at once. */
  #readAnswer(right: UserRight): boolean {
    const { permissions, entry } = this.#options;
    const answer = permissions.lastAnswer(right.identity, entry);
    if (answer === undefined) return false;
    const isNew = answer.asked > right.confirmed;
    right.confirmed = answer.asked;
    this.#lastAnswered = Math.max(this.#lastAnswered, answer.asked);
    if (!answer.allowed) this.#set(right, 'no');
    return isNew && answer.allowed;
  }

  #isTooOld({ state, confirmed }: UserRight, now: number): boolean {
    return state === 'yes' && now - confirmed >= this.#options.permissions.maxStayMs;
  }

  /** Each answer is asked for again after a third of the time and a little, so in two thirds of it one comes from a living server. */
  #isSilent(now: number): boolean {
    return now - this.#lastAnswered >= (this.#options.permissions.maxStayMs * 2) / 3;
  }

  /** Others get answers. A question that waits is no refusal; one that fails again and again must not keep a right for ever. */
  #replace(right: UserRight, now: number): void {
    const isLost = right.isFailing && now - right.confirmed >= 2 * this.#options.permissions.maxStayMs;
    if (isLost) this.#set(right, 'no');
    else if (!right.isFailing || now - right.answered >= askAgainMs.failed)
      this.#enqueue(right, this.#urgent);
  }

  #delete(right: UserRight): void {
    if (right.state === 'asking') this.#unknown -= 1;
    this.#rights.delete(right.key);
  }

  #create(key: string, identity: Identity): UserRight {
    const given = this.#currentYes(identity);
    const right: UserRight = {
      ...{ key, identity, hashes: new Set(), state: given === undefined ? 'asking' : 'yes', isQueued: false },
      ...{ answered: 0, confirmed: given ?? 0, isFailing: false },
    };
    this.#rights.set(key, right);
    if (given !== undefined) {
      this.#lastAnswered = Math.max(this.#lastAnswered, given);
      return right;
    }
    this.#unknown += 1;
    this.#enqueue(right);
    return right;
  }

  /**
   * When a yes was asked for on which other streams of this gateway rest now, or rested until a moment ago: with thousands of users
   * an endpoint that starts again would wait seconds for the same answers. Older ones than those of a stream under way do not count.
   */
  #currentYes(identity: Identity): number | undefined {
    const { permissions, clock, entry } = this.#options;
    const answer = permissions.lastAnswer(identity, entry);
    if (answer?.allowed !== true) return undefined;
    return clock.monotonic() - answer.asked < permissions.maxStayMs / 2 ? answer.asked : undefined;
  }

  #enqueue(right: UserRight, queue = this.#queue): void {
    if (right.isQueued) return;
    right.isQueued = true;
    queue.push(right);
    this.#work();
  }

  #work(): void {
    while (this.#asking < maxAsking) {
      const right = this.#urgent.shift() ?? this.#queue.shift();
      if (right === undefined) return;
      this.#asking += 1;
      void this.#ask(right).finally(() => {
        this.#asking -= 1;
        this.#work();
      });
    }
  }

  async #ask(right: UserRight): Promise<void> {
    const { permissions, clock, entry } = this.#options;
    const asked = clock.monotonic();
    try {
      const isAllowed = await permissions.isAllowed(right.identity, entry);
      right.isFailing = false;
      // It may be an answer of some seconds ago.
      right.confirmed = permissions.lastAnswer(right.identity, entry)?.asked ?? asked;
      this.#lastAnswered = Math.max(this.#lastAnswered, right.confirmed);
      this.#set(right, isAllowed ? 'yes' : 'no');
    } catch (error) {
      // Not known stays not known: a token that the reader has stays until its right is too old to count, which `check` sees.
      right.isFailing = !(error instanceof UpstreamBusy);
    } finally {
      right.isQueued = false;
      right.answered = clock.monotonic();
    }
  }

  #set(right: UserRight, state: 'yes' | 'no'): void {
    if (right.state === 'asking') this.#unknown -= 1;
    if (right.state === state) return;
    right.state = state;
    right.answered = this.#options.clock.monotonic();
    for (const hash of right.hashes) this.#options.onChange(hash);
  }
}
