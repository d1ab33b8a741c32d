import type { Identity } from '../../credentials/identity.ts';
import { backOffDelay } from '../../kube/back-off.ts';
import type { Clock } from '../../kube/clock.ts';
import { WriteBudget } from '../../kube/queue/write-budget.ts';
import type { Logger } from '../../logger.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import type { Questions } from './questions.ts';

export interface EntryPermissionsOptions {
  /** Of new requests. */
  readonly entering: Pick<Questions, 'ask'>;
  /** About requests under way. New ones, which anybody can send as many as they like of, must not keep these waiting. */
  readonly staying: Pick<Questions, 'ask'>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** How long a request under way rests on an answer while no newer one can be had, milliseconds. */
  readonly maxStayMs: number;
  /** Requests under way at once: so many questions may have to be asked again in a third of that time. */
  readonly maxConnections: number;
  /** Called when someone has lost a right. */
  readonly onLost?: (identity: Identity) => void;
}

/** How long an answer counts for new requests, milliseconds. */
const keptMs = 5_000;
/** So much longer at least it counts when it comes late: those who wait for it look at it next. */
const lateMs = 100;
/** Before the first repetition of a question that failed, milliseconds. */
const retryMs = 1_000;
/** When the API server is away, every question fails. */
const warnEveryMs = 30_000;
const minSweepSize = 1_000;

export interface LastAnswer {
  readonly allowed: boolean;
  /** When the question was sent. */
  readonly asked: number;
}

interface Answer extends LastAnswer {
  /** For new requests. */
  until: number;
  /** When it is to be asked again for requests under way. */
  askAgain: number;
  failures: number;
}

/** Who may enter which target, and stay there, by what the API server of the platform said some seconds ago. */
export class EntryPermissions {
  readonly #options: EntryPermissionsOptions;
  readonly #answers = new Map<string, Answer>();
  readonly #askAgainMs: number;
  readonly #budget: WriteBudget;
  #sweepSize = minSweepSize;
  #warned = Number.NEGATIVE_INFINITY;

  constructor(options: EntryPermissionsOptions) {
    this.#options = options;
    this.#askAgainMs = options.maxStayMs / 3;
    const rate = Math.ceil((options.maxConnections * 1_000) / this.#askAgainMs);
    this.#budget = new WriteBudget({ rate, burst: rate });
  }

  /** For a new request. `undefined`: not known, so {@link ask}. */
  find(identity: Identity, entry: AccessQuestion): boolean | undefined {
    const answer = this.#answers.get(keyFor(identity, entry));
    return answer !== undefined && this.#options.clock.monotonic() < answer.until
      ? answer.allowed
      : undefined;
  }

  /** For a new request. Resolves when the answer is known; rejects as {@link Questions.ask} does. */
  async ask(identity: Identity, entry: AccessQuestion): Promise<void> {
    await this.#ask(this.#options.entering, identity, entry);
  }

  /** For a new request that can wait: what {@link find} knows, or what is asked now. Rejects as {@link ask} does. */
  async isAllowed(identity: Identity, entry: AccessQuestion): Promise<boolean> {
    if (this.find(identity, entry) === undefined) await this.ask(identity, entry);
    return this.find(identity, entry) === true;
  }

  /** The answer to a user who may not, after {@link isAllowed}. */
  async denialOf(identity: Identity, entry: AccessQuestion): Promise<ErrorAnswer | undefined> {
    return (await this.isAllowed(identity, entry)) ? undefined : entryDenial(identity, entry);
  }

  /**
   * For a request under way, often: whether the user still may. It waits for nothing; what it rests on is asked again now and then,
   * and without a newer answer it does not last.
   */
  mayStay(identity: Identity, entry: AccessQuestion): boolean {
    const answer = this.lastAnswer(identity, entry);
    return answer?.allowed === true && !this.#isTooOld(answer);
  }

  /**
   * For what rests on many answers at once and must tell a no from silence: the last answer, however old. One that a request may still
   * rest on is asked again as for {@link mayStay}. Undefined: none is kept.
   */
  lastAnswer(identity: Identity, entry: AccessQuestion): LastAnswer | undefined {
    const answer = this.#answers.get(keyFor(identity, entry));
    if (!answer?.allowed || this.#isTooOld(answer)) return answer;
    const now = this.#options.clock.monotonic();
    if (now >= answer.askAgain && this.#budget.tryReserve(now)) this.#askAgain(answer, identity, entry);
    return answer;
  }

  /** How long a request under way rests on an answer, milliseconds. */
  get maxStayMs(): number {
    return this.#options.maxStayMs;
  }

  #isTooOld({ asked }: LastAnswer): boolean {
    return this.#options.clock.monotonic() - asked >= this.maxStayMs;
  }

  #askAgain(answer: Answer, identity: Identity, entry: AccessQuestion): void {
    // The answer replaces this one, or the failure sets another time.
    answer.askAgain = Number.POSITIVE_INFINITY;
    this.#ask(this.#options.staying, identity, entry).catch((error) => this.#onFailure(answer, error));
  }

  #onFailure(answer: Answer, error: unknown): void {
    const { clock, log, random } = this.#options;
    const now = clock.monotonic();
    const options = { initialMs: retryMs, maxMs: this.#askAgainMs, random };
    answer.askAgain = now + backOffDelay(answer.failures, options);
    answer.failures += 1;
    if (now - this.#warned < warnEveryMs) return;
    this.#warned = now;
    log.warn({ err: error }, 'the right to stay in targets cannot be asked for; requests under way may end');
  }

  async #ask(questions: Pick<Questions, 'ask'>, identity: Identity, entry: AccessQuestion): Promise<void> {
    const { clock, random } = this.#options;
    const key = keyFor(identity, entry);
    const { allowed, asked } = await questions.ask(key, identity, entry);
    const late = clock.monotonic() + lateMs;
    const known = this.#answers.get(key);
    // The other kind of question was sent later and answered sooner.
    if (known !== undefined && known.asked > asked) {
      known.until = Math.max(known.until, late);
      return;
    }
    if (this.#answers.size >= this.#sweepSize) this.#sweep();
    const until = Math.max(asked + keptMs, late);
    // Streams that began together must not be asked about together for ever.
    const askAgain = asked + this.#askAgainMs * (1 + 0.3 * random());
    this.#answers.set(key, { allowed, asked, until, askAgain, failures: 0 });
    if (!allowed && known?.allowed === true) this.#options.onLost?.(identity);
  }

  #sweep(): void {
    const { clock, maxStayMs } = this.#options;
    const now = clock.monotonic();
    for (const [key, { allowed, asked, until }] of this.#answers) {
      // No request under way rests on a no.
      if (until <= now && (!allowed || now - asked >= maxStayMs)) this.#answers.delete(key);
    }
    // Only a good part of them is worth the look at all.
    this.#sweepSize = Math.max(minSweepSize, 2 * this.#answers.size);
  }
}

/** The answer to a user who may not. `note`: what else their credential may lack. */
export function entryDenial(
  { user }: Pick<Identity, 'user'>,
  { verb, resource, subresource, namespace, name }: AccessQuestion,
  note?: string,
): ErrorAnswer {
  const kind = subresource === undefined ? resource : `${resource}/${subresource}`;
  const object = `${kind}/${name}${namespace === '' ? '' : ` in ${namespace}`}`;
  return errorAnswer('ERR_TARGET_ENTRY', {
    ...{ user, verb, object },
    note: note === undefined ? '' : `; ${note}`,
  });
}

/** Of an answer. */
export const keyFor = (
  { user, groups }: Identity,
  { group, verb, resource, subresource, namespace, name }: AccessQuestion,
): string => JSON.stringify([user, groups, group, verb, resource, subresource, namespace, name]);
