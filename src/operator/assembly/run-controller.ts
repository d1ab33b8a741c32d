import { LatchkeyError } from '../../errors.ts';
import type { Clock } from '../../kube/clock.ts';
import { isConflict } from '../../kube/kube-error.ts';
import { runWorkers, type WorkResult } from '../../kube/queue/workers.ts';
import type { Logger } from '../../logger.ts';
import type { ControllerMetrics } from '../../telemetry/metrics/controllers.ts';
import type { Controller } from '../shared/controller.ts';

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
