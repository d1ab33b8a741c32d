import { LatchkeyError } from '../../errors.ts';
import type { Clock } from '../../kube/clock.ts';
import { isNewerVersion, newerVersion } from '../../kube/object.ts';
import { sleep } from '../../kube/sleep.ts';
import type { ReadPolicies } from './policy-digest.ts';
import { UnguardedTimes } from './unguarded-times.ts';

/**
 * Facts about an object that a time without policies makes doubtful: who asked for it, whose wish its changes are, whose Secret it uses.
 */
export type Guarded = 'records' | 'changes' | 'targets';

export const allGuarded: readonly Guarded[] = ['records', 'changes', 'targets'];

export interface PolicyHistoryOptions {
  readonly clock: Clock;
  /** Asks the API server for all policies, whatever a watch has brought. */
  readonly readAll: () => Promise<ReadPolicies>;
  /** Of all that the watches have brought; undefined before they are known. */
  readonly digestOfAll: () => string | undefined;
  /** The same two for those that guard this: quicker to read. */
  readonly readGuarding: (what: Guarded) => Promise<string>;
  readonly digestOfGuarding: (what: Guarded) => string | undefined;
  /** Whether all that guards this is there, and had its effect by this time, in epoch milliseconds. */
  readonly isGuarded: (what: Guarded, since: number) => boolean;
  /** Called when it is known again after a question that failed: objects wait for that, longer and longer. */
  readonly onKnown: () => void;
}

/** About the policies that guard one thing. */
interface Question {
  /** All that befell them is known up to this resourceVersion. */
  knownUntil: string;
  /** The newest that someone waits for. */
  wanted: string;
  asking: Promise<void> | undefined;
  /** On the monotonic clock. */
  askedAt: number;
}

const newQuestion = (): Question => ({
  knownUntil: '0',
  wanted: '0',
  asking: undefined,
  askedAt: Number.NEGATIVE_INFINITY,
});

/** Where objects come one after the other, so many share one question: milliseconds from one to the next. */
const spacingMs = 25;

/**
 * When the policies did not judge, and up to which moment that is known. The watch of an object and those of the policies have no common
 * order: an object can arrive before the news that no policy has judged it.
 */
export class PolicyHistory {
  readonly #options: PolicyHistoryOptions;
  readonly #times: Readonly<Record<Guarded, UnguardedTimes>> = {
    records: new UnguardedTimes(),
    changes: new UnguardedTimes(),
    targets: new UnguardedTimes(),
  };
  readonly #questions: Readonly<Record<Guarded, Question>> = {
    records: newQuestion(),
    changes: newQuestion(),
    targets: newQuestion(),
  };
  #proven: ReadPolicies | undefined;
  /** On the monotonic clock. */
  #provenAt = Number.NEGATIVE_INFINITY;
  #proving: Promise<void> | undefined;
  #hasFailed = false;

  constructor(options: PolicyHistoryOptions) {
    this.#options = options;
  }

  /** All policies of the last moment of which everything is known, and that moment. */
  get proven(): ReadPolicies | undefined {
    return this.#proven;
  }

  /** Milliseconds since then. */
  get age(): number {
    return this.#options.clock.monotonic() - this.#provenAt;
  }

  isOpen(what: Guarded): boolean {
    return this.#times[what].isOpen;
  }

  /** After the last moment of which all is known. `watched`: up to this resourceVersion a watch has brought what guards it. */
  begin(what: Guarded, watched = '0'): void {
    this.#times[what].begin(newerVersion(this.#questions[what].knownUntil, watched));
  }

  /** Whether something that was written at this resourceVersion, or at any since an earlier one, may have escaped the policies. */
  wasUnguarded(what: Guarded, written: string, since?: string): boolean {
    return this.#times[what].overlap(written, since);
  }

  isKnown(what: Guarded, resourceVersion: string): boolean {
    return !isNewerVersion(resourceVersion, this.#questions[what].knownUntil);
  }

  /**
   * Resolves once all that befell the policies up to this resourceVersion is known, which an object had that has arrived. All who wait
   * share one question. Throws `ERR_ADMISSION_UNSEEN`, which passes by itself, while the watches have not brought what the API server has.
   */
  async known(what: Guarded, resourceVersion: string): Promise<void> {
    const question = this.#questions[what];
    question.wanted = newerVersion(question.wanted, resourceVersion);
    // One that is under way may have begun too early.
    while (!this.isKnown(what, resourceVersion)) {
      question.asking ??= this.#told(this.#ask(what)).finally(() => {
        question.asking = undefined;
      });
      await question.asking;
    }
  }

  /** Resolves once all that befell them up to this moment is known, and ends what has ended. Throws the same. */
  async prove(): Promise<void> {
    this.#proving ??= this.#told(this.#prove()).finally(() => {
      this.#proving = undefined;
    });
    await this.#proving;
  }

  async #told(question: Promise<void>): Promise<void> {
    try {
      await question;
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
    const hadFailed = this.#hasFailed;
    this.#hasFailed = false;
    if (hadFailed) this.#options.onKnown();
  }

  async #ask(what: Guarded): Promise<void> {
    const { clock, readGuarding, digestOfGuarding } = this.#options;
    const question = this.#questions[what];
    const waitMs = question.askedAt + spacingMs - clock.monotonic();
    if (waitMs > 0) await sleep(clock, waitMs);
    question.askedAt = clock.monotonic();
    // The state of etcd is newer now than whatever has arrived here.
    const { wanted } = question;
    if ((await readGuarding(what)) !== digestOfGuarding(what))
      throw new LatchkeyError('ERR_ADMISSION_UNSEEN', {});
    question.knownUntil = newerVersion(question.knownUntil, wanted);
  }

  async #prove(): Promise<void> {
    const { clock, readAll, digestOfAll, isGuarded } = this.#options;
    const [asked, askedAt] = [clock.now(), clock.monotonic()];
    const found = await readAll();
    if (found.digest !== digestOfAll()) throw new LatchkeyError('ERR_ADMISSION_UNSEEN', {});
    this.#proven = found;
    this.#provenAt = askedAt;
    for (const what of allGuarded) {
      const question = this.#questions[what];
      question.knownUntil = newerVersion(question.knownUntil, found.resourceVersion);
      if (isGuarded(what, asked)) this.#times[what].end(found.resourceVersion);
    }
  }
}
