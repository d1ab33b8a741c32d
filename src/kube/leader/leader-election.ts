import type { Logger } from '../../logger.ts';
import type { KubeClient } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { Outage } from '../outage.ts';
import { sleep } from '../sleep.ts';
import { type Attempt, LeaseLock, type LeaseLockOptions, type Moment } from './lease-lock.ts';
import { Standby } from './standby.ts';

export interface LeaderElectorOptions extends Pick<LeaseLockOptions, 'annotate'> {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'watch'>;
  readonly namespace: string;
  readonly name: string;
  /** Unlike that of any other process, also of the one before in the same Pod. */
  readonly identity: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** How long others wait for a silent leader. Default 15 s. */
  readonly leaseDurationMs?: number;
  /** How long a leader writes after its last renewal. Default 10 s. */
  readonly renewDeadlineMs?: number;
  /** From one renewal to the next. Default 2 s. */
  readonly renewPeriodMs?: number;
  /** From an attempt that failed to the next. Default 2 s. */
  readonly retryPeriodMs?: number;
  /** Called when an attempt succeeds, or the watch brings a renewal, after five seconds or more in which none did: the API server is back. */
  readonly onRecovery?: () => void;
}

type Durations = Required<
  Pick<LeaderElectorOptions, 'leaseDurationMs' | 'renewDeadlineMs' | 'renewPeriodMs' | 'retryPeriodMs'>
>;

const defaultDurations: Durations = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  renewPeriodMs: 2_000,
  retryPeriodMs: 2_000,
};

/**
 * With less left, a renewal often succeeds after it was given up. Then no one leads until that lease has run out;
 * milliseconds.
 */
const minAttemptMs = 500;

/** An answer that takes longer will not come: the next attempt goes out over another connection; milliseconds. */
const maxAttemptMs = 5_000;

/** After less, watches that wait would only add to what an API server has to do that fails now and then; milliseconds. */
const minOutageMs = 5_000;

const never: Moment = { monotonic: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY };

/**
 * One leader at a time by a Lease. The clock decides on which more time has passed since the moment before the last
 * successful renewal went out; so `mayWrite` ends at least `leaseDuration - renewDeadline` before another process may
 * begin, however clocks jump, requests hang, or the machine sleeps.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions & Durations;
  readonly #lock: LeaseLock;
  readonly #standby: Standby;
  readonly #outage: Outage;
  /** Writes may start before it. */
  #deadline = never;

  constructor(options: LeaderElectorOptions) {
    this.#options = { ...defaultDurations, ...options };
    checkDurations(this.#options);
    this.#lock = new LeaseLock(this.#options);
    this.#standby = new Standby(this.#options, this.#lock, () => this.#succeeded());
    this.#outage = new Outage(options.clock);
  }

  /** True while this process surely leads. Ask right before each write. */
  mayWrite(): boolean {
    return this.#leftMs() > 0;
  }

  /** Of the lease as it was last seen. When `onLead` is called, that is what the leader before has left there. */
  annotation(name: string): string | undefined {
    return this.#lock.annotation(name);
  }

  /** Whether there was none before this process, as far as the lease says. */
  get isNewLease(): boolean {
    return this.#lock.isNew;
  }

  /** For a health check: how long no attempt has succeeded, and why, where that is longer than this. */
  outage(maxMs: number): string | undefined {
    return this.#outage.problem(maxMs);
  }

  /**
   * Stands for election until the signal aborts. `onLead` runs each time the lease is won; its signal aborts when
   * leadership is lost or the outer signal aborts, and it then has to finish what it began. The lease is renewed
   * until `onLead` has settled, and given back. Resolves when the signal has aborted, or when `onLead` returns
   * while it leads; rejects with what `onLead` throws.
   */
  async run(signal: AbortSignal, onLead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      if (!(await this.#campaign(signal))) return;
      if (signal.aborted) return this.#release();
      if ((await this.#lead(signal, onLead)) === 'done') return;
    }
  }

  /** True when won; false when the signal aborted before the last attempt. */
  async #campaign(signal: AbortSignal): Promise<boolean> {
    let reported: string | undefined;
    for (;;) {
      if (signal.aborted) return false;
      const attempt = await this.#attempt();
      if (attempt?.held) return true;
      if (attempt !== undefined && attempt.holder !== reported) {
        reported = attempt.holder;
        this.#options.log.info({ holder: attempt.holder }, 'another process leads');
      }
      await this.#standby.wait(attempt, this.#pause(), signal);
    }
  }

  async #lead(signal: AbortSignal, onLead: (signal: AbortSignal) => Promise<void>): Promise<'done' | 'lost'> {
    const { log, identity } = this.#options;
    log.info({ identity }, 'leading');
    const lost = new AbortController();
    const finished = new AbortController();
    const lead = async () => onLead(AbortSignal.any([signal, lost.signal]));
    const work = lead().finally(() => finished.abort());
    const renewal = this.#renewUntil(finished.signal, lost);
    try {
      await work;
    } finally {
      await renewal;
      await this.#release();
    }
    return lost.signal.aborted ? 'lost' : 'done';
  }

  /** Renews until the work has ended or the deadline has passed. */
  async #renewUntil(finished: AbortSignal, lost: AbortController): Promise<void> {
    const { clock, log, renewDeadlineMs, renewPeriodMs, retryPeriodMs } = this.#options;
    const minLeftMs = Math.min(minAttemptMs, renewDeadlineMs / 4);
    let periodMs = renewPeriodMs;
    while (!finished.aborted) {
      await sleep(clock, Math.min(this.#pause(periodMs), this.#leftMs()), finished);
      if (finished.aborted) return;
      const before = this.#deadline;
      const attempt = this.#steadyLeftMs() >= minLeftMs ? await this.#attempt() : undefined;
      periodMs = attempt === undefined ? retryPeriodMs : renewPeriodMs;
      if (this.mayWrite() && this.#leadsOn(attempt, before)) continue;
      this.#deadline = never;
      log.warn({ holder: attempt?.held === false ? attempt.holder : undefined }, 'leadership lost');
      lost.abort();
      return;
    }
  }

  /** After a sleep of the machine another may have led meanwhile, and given the lease back. */
  #leadsOn(attempt: Attempt | undefined, before: Moment): boolean {
    return attempt?.held === true ? attempt.isRenewal || this.#leftMs(before) > 0 : attempt === undefined;
  }

  #leftMs(deadline = this.#deadline): number {
    const { clock } = this.#options;
    return Math.max(0, Math.min(deadline.monotonic - clock.monotonic(), deadline.wall - clock.now()));
  }

  /** By the monotonic clock alone. A wall clock that was set says nothing about the lease: one more request does. */
  #steadyLeftMs(): number {
    return Math.max(0, this.#deadline.monotonic - this.#options.clock.monotonic());
  }

  /** `undefined` where the API server did not answer. */
  async #attempt(): Promise<Attempt | undefined> {
    const { renewDeadlineMs, log } = this.#options;
    // A request that hangs must not keep the work from hearing that the deadline has passed.
    const left = this.#steadyLeftMs() || Number.POSITIVE_INFINITY;
    this.#outage.began();
    try {
      const attempt = await this.#lock.attempt(Math.min(left, renewDeadlineMs / 2, maxAttemptMs));
      this.#succeeded();
      if (attempt.held) this.#deadline = later(attempt.since, renewDeadlineMs);
      return attempt;
    } catch (error) {
      this.#outage.failed(error);
      log.warn({ err: error }, 'lease request failed');
      return undefined;
    }
  }

  #succeeded(): void {
    if (this.#outage.ended() >= minOutageMs) this.#options.onRecovery?.();
  }

  async #release(): Promise<void> {
    const { renewDeadlineMs, log } = this.#options;
    const led = this.mayWrite();
    this.#deadline = never;
    if (!led) return;
    try {
      await this.#lock.release(renewDeadlineMs / 2);
      log.info({}, 'leadership given back');
    } catch (error) {
      log.warn({ err: error }, 'the lease could not be given back; it runs out by itself');
    }
  }

  /** A little less than the period, so that candidates do not ask in step and none asks later. */
  #pause(periodMs = this.#options.retryPeriodMs): number {
    return periodMs * (0.8 + 0.2 * this.#options.random());
  }
}

const later = ({ monotonic, wall }: Moment, ms: number): Moment => ({
  monotonic: monotonic + ms,
  wall: wall + ms,
});

function checkDurations(options: Durations): void {
  const { leaseDurationMs, renewDeadlineMs, renewPeriodMs, retryPeriodMs } = options;
  if (leaseDurationMs <= renewDeadlineMs)
    throw new RangeError('leaseDurationMs must be above renewDeadlineMs');
  if (renewDeadlineMs <= 2 * retryPeriodMs)
    throw new RangeError('renewDeadlineMs must be above twice retryPeriodMs');
  if (leaseDurationMs <= 3 * renewPeriodMs)
    throw new RangeError('leaseDurationMs must be above three times renewPeriodMs');
}
