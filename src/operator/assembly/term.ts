import { BackOff } from '../../kube/back-off.ts';
import { sleep, untilAborted } from '../../kube/sleep.ts';
import { failingAfterMs, Informers } from '../../platform/informers.ts';
import { Controllers } from './controllers.ts';
import { addInformers } from './informers.ts';
import { LatchkeyOperator } from './operator.ts';
import type { ControllersOptions } from './operator-context.ts';

export interface TermOptions extends ControllersOptions {
  /** Resolves once it is known whether something new may be confirmed, or when the signal aborts. */
  readonly admissionChecked: (signal: AbortSignal) => Promise<void>;
  /**
   * After everything was read: until which resourceVersion a leader watched, where the policies are not those that it saw. Undefined: they are
   * the same. `hasConfirmed`: whether any leader has worked before.
   */
  readonly watchedUntil: (hasConfirmed: boolean, signal: AbortSignal) => Promise<string | undefined>;
}

/** An informer without news for this long is reported as stale, milliseconds: bookmarks come every minute or two. */
export const staleAfterMs = 300_000;

/** One term of leadership, with stores that begin empty: read everything, work, and end what was begun. */
export class Term {
  readonly #options: TermOptions;
  readonly #controllers: Controllers;
  readonly #informers: Informers;
  #hasJudged = false;

  constructor(options: TermOptions) {
    const { client, clock, random, log, metrics } = options;
    this.#options = options;
    this.#controllers = new Controllers(options);
    const metricsOf = (name: string) => metrics.informers.for(name);
    this.#informers = new Informers({ client, clock, random, log, metricsOf });
    addInformers(this.#informers, this.#controllers, client.metadataOnly());
  }

  /** Resolves when the signal has aborted and the last object that was worked on is done. */
  async run(signal: AbortSignal): Promise<void> {
    const { metrics } = this.#options;
    const ended = new AbortController();
    const watched = AbortSignal.any([signal, ended.signal]);
    const running: Promise<void>[] = [];
    metrics.leader.set(1);
    try {
      await this.#retry('the key that signs records could not be read', watched, () =>
        this.#controllers.prepare(),
      );
      // Before the first object comes: whether it was stamped is judged by the policies of that moment.
      await this.#options.admissionChecked(signal);
      running.push(this.#informers.run(watched));
      await this.#read(signal);
      running.push(this.#followMissing(watched), this.#controllers.targetSweep.run(watched));
      await this.#work(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      ended.abort();
      await Promise.all(running);
      await this.#controllers.close();
      metrics.endTerm();
    }
  }

  /** Whether all that was made or changed in a time without policies says so in its status: another leader may go on from here. */
  isSettled(): boolean {
    return this.#hasJudged && !this.#controllers.hasUnnoted();
  }

  /** Checks every credential again. */
  enqueueAll(): void {
    this.#controllers.enqueueAll();
  }

  /** Checks everything now that waits for a time. */
  enqueueDelayed(): void {
    this.#controllers.enqueueDelayed();
  }

  /** Ends the pauses after failed watches. */
  retryNow(): void {
    this.#informers.retryNow();
  }

  /** For a health check. */
  unsynced(): string | undefined {
    return this.#informers.unsynced();
  }

  /** For a health check. */
  stale(): string | undefined {
    return this.#informers.stale(staleAfterMs);
  }

  /** For a health check. */
  failing(): string | undefined {
    return this.#informers.failing(failingAfterMs);
  }

  /** For a health check. */
  unsigned(): string | undefined {
    return this.#controllers.hasSigningKey ? undefined : 'there is no signing key yet';
  }

  /** An API server that is away at this moment is no reason to end. */
  async #retry(problem: string, signal: AbortSignal, attempt: () => Promise<void>): Promise<void> {
    const { clock, random, log } = this.#options;
    const backOff = new BackOff({ initialMs: 500, maxMs: 10_000, random });
    while (!signal.aborted) {
      try {
        return await attempt();
      } catch (error) {
        log.warn({ err: error }, problem);
      }
      await sleep(clock, backOff.next(), signal);
    }
  }

  /** Before anything is confirmed, and after everything was read: a policy that went and came meanwhile counts. */
  async #judge(signal: AbortSignal): Promise<void> {
    const until = await this.#options.watchedUntil(this.#controllers.hasConfirmed(), signal);
    if (until !== undefined) {
      this.#options.log.warn(
        {},
        'admission policies have changed while no operator led, or the Lease that tells was deleted: what was changed since is not believed',
      );
      this.#controllers.distrustSince(until);
    }
    this.#hasJudged = true;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    await this.#informers.answered(signal);
    await this.#retry('the admission policies could not be read', signal, () => this.#judge(signal));
    signal.throwIfAborted();
    this.#controllers.begin();
    log.info(this.#controllers.stores.sizes, 'synced');
    const missing = this.#informers.unsynced();
    if (missing !== undefined)
      log.error({ missing }, 'the definitions (CRDs) of these kinds are missing; the others are worked on');
  }

  /** What a missing kind has kept waiting is due when its objects are known. */
  async #followMissing(signal: AbortSignal): Promise<void> {
    const onSynced = (kind: string) => {
      this.#options.log.info({ kind }, 'the definition of this kind is there, and its objects were read');
      this.#controllers.enqueueKnown();
    };
    await this.#informers.followUnsynced(onSynced, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics } = this.#options;
    const operator = new LatchkeyOperator({
      controllers: this.#controllers.all,
      metricsOf: (name) => metrics.controllers.for(name),
      clock,
      log,
    });
    await operator.start();
    await untilAborted(signal);
    operator.stop();
    await operator.stopped();
  }
}
