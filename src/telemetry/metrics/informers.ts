import { Counter, type Registry } from 'prom-client';
import { ScrapedGauge } from './registry.ts';

/** The report of one informer. */
export interface InformerReport {
  readonly restarted: () => void;
  /** Read at every scrape: objects in the store, seconds since the last proof that it is current. */
  readonly read: (objects: () => number, freshnessSeconds: () => number) => void;
}

/** Metrics of the watches of this process, and how fresh its view of them is. */
export class InformerMetrics {
  readonly #objects;
  readonly #freshness;
  readonly #restarts;

  constructor(registry: Registry) {
    const label = 'resource';
    this.#objects = new ScrapedGauge(registry, {
      name: 'latchkey_reflector_objects',
      help: 'Objects in the store of a reflector.',
      label,
    });
    this.#freshness = new ScrapedGauge(registry, {
      name: 'latchkey_reflector_freshness_seconds',
      help: 'Time since the last proof that the store of a reflector is current.',
      label,
    });
    this.#restarts = new Counter({
      registers: [registry],
      name: 'latchkey_reflector_restarts_total',
      help: 'Times that the watch of a reflector failed and was opened again.',
      labelNames: [label],
    });
  }

  /** Its counter exists from now on, with 0, so that rates are right. */
  for(resource: string): InformerReport {
    this.#restarts.inc({ resource }, 0);
    return {
      restarted: () => this.#restarts.inc({ resource }),
      read: (objects, freshnessSeconds) => {
        this.#objects.add(resource, objects);
        this.#freshness.add(resource, freshnessSeconds);
      },
    };
  }

  /** Forgets what is read at every scrape; what was counted stays. */
  clear(): void {
    this.#objects.clear();
    this.#freshness.clear();
  }
}
