import type { WorkResult } from '../../kube/queue/workers.ts';

/** The target that a reconcile dials. */
export interface DialPlace {
  /** What is dialled, e.g. the key of the instance. */
  readonly target: string;
  /** Whose targets they are: a namespace. Absent for targets of the platform itself. */
  readonly tenant?: string;
}

export interface DialLimits {
  readonly perTarget: number;
  readonly perTenant: number;
}

/** How soon a key without a slot comes again; jitter is added. */
const retryMs = 250;

/**
 * Bounds how many workers one target, and all targets of one tenant, can hold at the same time. A virtual cluster that
 * answers slowly must not delay issues and, above all, revocations for others. A key without a slot goes back to the
 * queue; it never waits in a worker.
 */
export class DialSlots {
  readonly #limits: DialLimits;
  readonly #random: () => number;
  readonly #targets = new Map<string, number>();
  readonly #tenants = new Map<string, number>();

  constructor(limits: DialLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  /** A reconcile that holds a slot while it runs. `placeOf` gives undefined for a key that dials nothing. */
  guarded(
    placeOf: (key: string) => DialPlace | undefined,
    reconcile: (key: string) => Promise<WorkResult | undefined>,
  ): (key: string) => Promise<WorkResult | undefined> {
    return async (key) => {
      const place = placeOf(key);
      if (place === undefined) return reconcile(key);
      if (!this.#isFree(place)) return { requeueAfterMs: retryMs * (1 + this.#random()) };
      this.#move(place, 1);
      try {
        return await reconcile(key);
      } finally {
        this.#move(place, -1);
      }
    };
  }

  #isFree({ target, tenant = '' }: DialPlace): boolean {
    const { perTarget, perTenant } = this.#limits;
    if ((this.#targets.get(target) ?? 0) >= perTarget) return false;
    return tenant === '' || (this.#tenants.get(tenant) ?? 0) < perTenant;
  }

  #move({ target, tenant = '' }: DialPlace, by: number): void {
    count(this.#targets, target, by);
    if (tenant !== '') count(this.#tenants, tenant, by);
  }
}

/** A count of zero is not kept. */
function count(counts: Map<string, number>, name: string, by: number): void {
  const next = (counts.get(name) ?? 0) + by;
  if (next === 0) counts.delete(name);
  else counts.set(name, next);
}
