import type { Logger } from '../../logger.ts';
import type { Clock } from '../clock.ts';
import { TimeSlice } from '../time-slice.ts';
import type { WorkQueue } from './work-queue.ts';

export interface WorkResult {
  /** Reconcile the key again after this time, even when nothing changes. */
  readonly requeueAfterMs?: number;
}

export interface WorkersOptions {
  readonly queue: WorkQueue;
  /** How many keys are worked on at a time. */
  readonly workers: number;
  /** A rejection brings the key again with growing delay; it never ends the worker. */
  readonly work: (key: string) => Promise<WorkResult | undefined>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for each failure instead of the log. */
  readonly onError?: (key: string, error: unknown, failures: number) => void;
}

/** Runs workers until the queue is shut down and empty. Never rejects. */
export async function runWorkers(options: WorkersOptions): Promise<void> {
  const slice = new TimeSlice(options.clock);
  await Promise.all(Array.from({ length: options.workers }, () => runWorker(options, slice)));
}

async function runWorker(options: WorkersOptions, slice: TimeSlice): Promise<void> {
  const { queue } = options;
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    await workOn(key, options);
    if (slice.used) await slice.yield();
  }
}

async function workOn(key: string, options: WorkersOptions): Promise<void> {
  const { queue, work } = options;
  try {
    const result = await work(key);
    queue.forget(key);
    if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
  } catch (error) {
    queue.addRateLimited(key);
    reportFailure(key, error, options);
  } finally {
    queue.done(key);
  }
}

function reportFailure(key: string, error: unknown, { queue, log, onError }: WorkersOptions): void {
  if (onError !== undefined) return onError(key, error, queue.failures(key));
  log.error({ key, err: error, failures: queue.failures(key) }, 'reconcile failed; it will be tried again');
}
