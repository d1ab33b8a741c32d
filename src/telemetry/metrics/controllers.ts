import { Counter, Histogram, type Registry } from 'prom-client';
import { requestBuckets } from './client.ts';
import { ScrapedGauge } from './registry.ts';

/** How one reconcile ended. */
const reconcileOutcomes = ['success', 'requeue', 'conflict', 'error'] as const;
export type ReconcileOutcome = (typeof reconcileOutcomes)[number];

/** The report of one controller. */
export interface ControllerReport {
  readonly reconciled: (outcome: ReconcileOutcome, seconds: number) => void;
  readonly added: () => void;
  readonly retried: () => void;
  /** Read at every scrape. */
  readonly readDepth: (depth: () => number) => void;
  /** Read at every scrape. */
  readonly readWaitingForSlot: (count: () => number) => void;
}

/** Work queues and the reconciles that empty them. */
export class ControllerMetrics {
  readonly #reconciles;
  readonly #seconds;
  readonly #depths;
  readonly #waitingForSlot;
  readonly #adds;
  readonly #retries;

  constructor(registry: Registry) {
    const shared = { registers: [registry], labelNames: ['controller'] as const };
    this.#reconciles = new Counter({
      ...shared,
      name: 'latchkey_reconcile_total',
      help: 'Reconciles by controller and outcome: success, requeue (asked to be called again), conflict (the object had changed meanwhile), error. The last two are retried with back-off.',
      labelNames: ['controller', 'outcome'],
    });
    this.#seconds = new Histogram({
      ...shared,
      name: 'latchkey_reconcile_duration_seconds',
      help: 'Time of one reconcile.',
      buckets: requestBuckets,
    });
    this.#depths = new ScrapedGauge(registry, {
      name: 'latchkey_workqueue_depth',
      help: 'Objects waiting in the work queue.',
      label: 'controller',
    });
    this.#waitingForSlot = new ScrapedGauge(registry, {
      name: 'latchkey_workqueue_waiting_for_slot',
      help: 'Objects that wait because their target, or the targets of their namespace together, have as many workers as they may have. They hold up nothing else.',
      label: 'controller',
    });
    this.#adds = new Counter({
      ...shared,
      name: 'latchkey_workqueue_adds_total',
      help: 'Objects put into the work queue. One that waits there already is not counted again.',
    });
    this.#retries = new Counter({
      ...shared,
      name: 'latchkey_workqueue_retries_total',
      help: 'Objects put into the work queue again after an error.',
    });
  }

  /** Every series of this controller exists from now on, with 0, so that rates are right. */
  for(controller: string): ControllerReport {
    for (const outcome of reconcileOutcomes) this.#reconciles.inc({ controller, outcome }, 0);
    this.#seconds.zero({ controller });
    this.#adds.inc({ controller }, 0);
    this.#retries.inc({ controller }, 0);
    return {
      reconciled: (outcome, seconds) => {
        this.#reconciles.inc({ controller, outcome });
        this.#seconds.observe({ controller }, seconds);
      },
      added: () => this.#adds.inc({ controller }),
      retried: () => this.#retries.inc({ controller }),
      readDepth: (depth) => this.#depths.add(controller, depth),
      readWaitingForSlot: (count) => this.#waitingForSlot.add(controller, count),
    };
  }

  /** Forgets what is read at every scrape; what was counted stays. */
  clear(): void {
    this.#depths.clear();
    this.#waitingForSlot.clear();
  }
}
