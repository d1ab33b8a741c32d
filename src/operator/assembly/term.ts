import base from '@dot-i/k8s-operator';
import { LatchkeyError } from '../../errors.ts';
import { BackOff } from '../../kube/back-off.ts';
import type { Clock } from '../../kube/clock.ts';
import { isConflict } from '../../kube/kube-error.ts';
import { runWorkers, type WorkResult } from '../../kube/queue/workers.ts';
import { sleep, untilAborted } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';
import { failingAfterMs, Informers } from '../../platform/informers.ts';
import type { ControllerMetrics } from '../../telemetry/metrics/controllers.ts';
import type { Controller } from '../shared/controller.ts';
import { Controllers } from './controllers.ts';
import { addInformers } from './informers.ts';
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
  /** Of kinds that are not ours. No health check asks for them. */
  readonly #others: Informers;
  #hasJudged = false;

  constructor(options: TermOptions) {
    const { client, clock, random, log, metrics } = options;
    this.#options = options;
    this.#controllers = new Controllers(options);
    const metricsOf = (name: string) => metrics.informers.for(name);
    this.#informers = new Informers({ client, clock, random, log, metricsOf });
    addInformers(this.#informers, this.#controllers, client.metadataOnly());
    this.#others = new Informers({ client, clock, random, log, metricsOf });
    const { clusterProfiles } = this.#controllers;
    if (clusterProfiles !== undefined) this.#others.add('clusterprofiles', clusterProfiles.source);
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
      running.push(this.#informers.run(watched), this.#others.run(watched), this.#followOthers(watched));
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

  /** The newest resourceVersion of all that has arrived and may be distrusted. */
  get latest(): string {
    return this.#controllers.latest;
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
    this.#others.retryNow();
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
        'admission policies have changed while no operator led, or the Lease that tells was deleted: later changes are not believed',
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

  async #followOthers(signal: AbortSignal): Promise<void> {
    await this.#others
      .followUnsynced(() => this.#controllers.clusterProfiles?.begin(), signal)
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
  }

  /** Enqueues what a missing kind has kept waiting, when its objects are known. */
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

export interface OperatorOptions extends RunControllerOptions {
  readonly controllers: readonly Controller[];
}

/**
 * The operator as a subclass of `Operator` of @dot-i/k8s-operator, which gives the shape: `start` calls `init`, and
 * `stop` ends what runs. What the base class does with the network is not used, see docs/decisions/0012.
 */
export class LatchkeyOperator extends base.default {
  readonly #options: OperatorOptions;
  #running: readonly Promise<void>[] = [];

  constructor(options: OperatorOptions) {
    super();
    this.#options = options;
  }

  protected override async init(): Promise<void> {
    this.#running = this.#options.controllers.map((each) => runController(each, this.#options));
  }

  /** Takes no more work; what workers have in hand they finish. */
  override stop(): void {
    for (const { queue } of this.#options.controllers) queue.shutDown({ discard: true });
  }

  /** Resolves when, after `stop`, the last object that was being worked on is done. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running);
  }
}

export interface RunControllerOptions {
  readonly metricsOf: ControllerMetrics['for'];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Of one object in a row. From then on somebody else writes it all the time, which the people who run the platform must know. */
const maxConflicts = 10;

/** Runs the workers of a controller on its queue, with metrics and log, until the queue is shut down. Never rejects. */
export function runController(
  { name, queue, workers, reconcile }: Controller,
  { metricsOf, clock, log }: RunControllerOptions,
): Promise<void> {
  const metrics = metricsOf(name);
  metrics.readDepth(() => queue.length);
  metrics.readWaitingForSlot(() => queue.waitingForSlot);
  const measured = async (key: string): Promise<WorkResult | undefined> => {
    const start = clock.monotonic();
    const done = (outcome: 'success' | 'requeue' | 'conflict' | 'error') =>
      metrics.reconciled(outcome, (clock.monotonic() - start) / 1000);
    try {
      const result = await reconcile(key);
      done(result?.requeueAfterMs === undefined ? 'success' : 'requeue');
      return result;
    } catch (error) {
      const isEveryday = isConflict(error) && queue.failures(key) < maxConflicts;
      done(isEveryday ? 'conflict' : 'error');
      throw error;
    }
  };
  const onError = (key: string, error: unknown, failures: number) => {
    metrics.retried();
    const { level, message } = failureOf(error, failures);
    log[level]({ controller: name, key, failures, err: error }, message);
  };
  return runWorkers({ queue, workers, clock, log, work: measured, onError });
}

/** How loud a failed reconcile is: a conflict is everyday, and the guard has reported missing policies already. */
function failureOf(
  error: unknown,
  failures: number,
): { readonly level: 'debug' | 'warn'; readonly message: string } {
  if (isConflict(error) && failures <= maxConflicts)
    return { level: 'debug', message: 'the object changed meanwhile; it will be reconciled again' };
  if (error instanceof LatchkeyError) return { level: 'debug', message: 'reconcile waits' };
  return { level: 'warn', message: 'reconcile failed; it will be tried again' };
}
