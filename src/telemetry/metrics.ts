import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { Readings } from './readings.ts';

/** How one reconcile ended. */
export const reconcileOutcomes = ['success', 'requeue', 'error'] as const;
export type ReconcileOutcome = (typeof reconcileOutcomes)[number];

/** What a controller reports. Every series exists from the start, with 0, so that rates are right. */
export interface ControllerMetrics {
  readonly reconciled: (outcome: ReconcileOutcome, seconds: number) => void;
  readonly added: () => void;
  readonly retried: () => void;
  /** Read at every scrape. */
  readonly readDepth: (depth: () => number) => void;
}

/** What a reflector reports. */
export interface ReflectorMetrics {
  readonly restarted: () => void;
  /** Read at every scrape: objects in the store, seconds since the last proof that it is current. */
  readonly read: (objects: () => number, freshnessSeconds: () => number) => void;
}

export interface ClientRequest {
  readonly verb: string;
  readonly resource: string;
  /** HTTP status; 0 when no answer came. */
  readonly code: number;
  readonly seconds: number;
}

const requestBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** All metrics of one process, in a registry of its own. No label ever holds a secret or the name of an object. */
export class Metrics {
  readonly registry = new Registry();
  readonly #own = { registers: [this.registry] };

  readonly #reconciles = new Counter({
    ...this.#own,
    name: 'latchkey_reconcile_total',
    help: 'Reconciles by controller and outcome: success, requeue (asked to be called again), error (retried with back-off).',
    labelNames: ['controller', 'outcome'],
  });
  readonly #reconcileSeconds = new Histogram({
    ...this.#own,
    name: 'latchkey_reconcile_duration_seconds',
    help: 'Time of one reconcile.',
    labelNames: ['controller'],
    buckets: requestBuckets,
  });
  readonly #depths = new Readings(['controller']);
  readonly #adds = new Counter({
    ...this.#own,
    name: 'latchkey_workqueue_adds_total',
    help: 'Objects put into the work queue. One that waits there already is not counted again.',
    labelNames: ['controller'],
  });
  readonly #retries = new Counter({
    ...this.#own,
    name: 'latchkey_workqueue_retries_total',
    help: 'Objects put into the work queue again after an error.',
    labelNames: ['controller'],
  });
  readonly #objects = new Readings(['resource']);
  readonly #freshness = new Readings(['resource']);
  readonly #restarts = new Counter({
    ...this.#own,
    name: 'latchkey_reflector_restarts_total',
    help: 'Times that the watch of a reflector failed and was opened again.',
    labelNames: ['resource'],
  });
  readonly #requests = new Counter({
    ...this.#own,
    name: 'latchkey_client_requests_total',
    help: 'Requests to the API server by verb, resource and HTTP status (0: no answer).',
    labelNames: ['verb', 'resource', 'code'],
  });
  readonly #requestSeconds = new Histogram({
    ...this.#own,
    name: 'latchkey_client_request_duration_seconds',
    help: 'Time from the start of a request to the end of its answer. Watches are not counted.',
    labelNames: ['verb', 'resource'],
    buckets: requestBuckets,
  });

  readonly leader = new Gauge({
    ...this.#own,
    name: 'latchkey_leader',
    help: '1 while this process leads, else 0.',
  });
  readonly credentials = new Gauge({
    ...this.#own,
    name: 'latchkey_credentials',
    help: 'Credential objects by kind and by the reason of their Ready condition.',
    labelNames: ['kind', 'state'],
  });
  readonly targets = new Gauge({
    ...this.#own,
    name: 'latchkey_targets',
    help: 'Virtual cluster instances, spaces and clusters by kind and by the reason of their Ready condition.',
    labelNames: ['kind', 'state'],
  });
  readonly expiryWaiting = new Gauge({
    ...this.#own,
    name: 'latchkey_expiry_budget_waiting',
    help: 'Ended credentials that wait for the budget of writes. They are refused already.',
  });
  readonly finalizersReleased = new Counter({
    ...this.#own,
    name: 'latchkey_finalizers_released_total',
    help: 'Finalizers given up at their time limit, with something left behind.',
    labelNames: ['kind'],
  });
  readonly eventsDropped = new Counter({
    ...this.#own,
    name: 'latchkey_events_dropped_total',
    help: 'Events not written: the queue was full or the API server refused them.',
  });
  readonly signingKeyCreated = new Gauge({
    ...this.#own,
    name: 'latchkey_signing_key_created_timestamp_seconds',
    help: 'When the key that signs tokens now was made, in seconds of the Unix epoch; 0 before there is one.',
  });
  readonly signingKeyRotation = new Gauge({
    ...this.#own,
    name: 'latchkey_signing_key_rotation_timestamp_seconds',
    help: 'When the key that signs tokens now is due to be replaced, in seconds of the Unix epoch; 0 before there is one.',
  });
  readonly admissionMissing = new Gauge({
    ...this.#own,
    name: 'latchkey_admission_missing',
    help: 'Shipped admission policies and bindings that are not on the API server. The operator waits while it is not 0.',
  });

  constructor() {
    this.#gauge('latchkey_workqueue_depth', 'Objects waiting in the work queue.', this.#depths);
    this.#gauge('latchkey_reflector_objects', 'Objects in the store of a reflector.', this.#objects);
    this.#gauge(
      'latchkey_reflector_freshness_seconds',
      'Time since the last proof that the store of a reflector is current.',
      this.#freshness,
    );
  }

  /** Adds the figures of the process: CPU, memory, event loop, garbage collection. */
  watchProcess(version: string): void {
    collectDefaultMetrics({ register: this.registry });
    new Gauge({
      ...this.#own,
      name: 'latchkey_build_info',
      help: 'Always 1; the labels name the running version.',
      labelNames: ['version', 'node'],
    }).set({ version, node: process.versions.node }, 1);
  }

  forController(controller: string): ControllerMetrics {
    for (const outcome of reconcileOutcomes) this.#reconciles.inc({ controller, outcome }, 0);
    this.#reconcileSeconds.zero({ controller });
    this.#adds.inc({ controller }, 0);
    this.#retries.inc({ controller }, 0);
    return {
      reconciled: (outcome, seconds) => {
        this.#reconciles.inc({ controller, outcome });
        this.#reconcileSeconds.observe({ controller }, seconds);
      },
      added: () => this.#adds.inc({ controller }),
      retried: () => this.#retries.inc({ controller }),
      readDepth: (depth) => this.#depths.add({ controller }, depth),
    };
  }

  forReflector(resource: string): ReflectorMetrics {
    this.#restarts.inc({ resource }, 0);
    return {
      restarted: () => this.#restarts.inc({ resource }),
      read: (objects, freshnessSeconds) => {
        this.#objects.add({ resource }, objects);
        this.#freshness.add({ resource }, freshnessSeconds);
      },
    };
  }

  /**
   * A process that does not lead knows nothing of the objects: figures that stayed would be counted twice, here and at
   * the next leader.
   */
  endTerm(): void {
    for (const readings of [this.#depths, this.#objects, this.#freshness]) readings.clear();
    this.credentials.reset();
    this.targets.reset();
    for (const gauge of [
      this.leader,
      this.expiryWaiting,

      this.signingKeyCreated,
      this.signingKeyRotation,
    ])
      gauge.set(0);
  }

  clientRequest({ verb, resource, code, seconds }: ClientRequest): void {
    this.#requests.inc({ verb, resource, code });
    this.#requestSeconds.observe({ verb, resource }, seconds);
  }

  #gauge(name: string, help: string, readings: Readings): void {
    new Gauge({
      ...this.#own,
      name,
      help,
      labelNames: [...readings.labelNames],
      collect() {
        this.reset();
        for (const { labels, value } of readings.values()) this.set(labels, value);
      },
    });
  }
}
