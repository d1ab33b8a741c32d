import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { type Clock, systemClock } from '../../kube/clock.ts';

/** All addresses of a host name, in the order of preference. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface ResolverLimits {
  readonly atOnce: number;
  /** One more is refused at once. */
  readonly waiting: number;
  /** Who waited longer is refused when its turn comes: whoever asked has given up. */
  readonly waitMs: number;
  readonly clock: Clock;
}

/**
 * The system's resolver, hosts file and search domains included. Node resolves two names at a time in the whole process,
 * for as long as somebody else's name server likes; without bounds the names of one target would pile up before all others.
 */
export const systemResolver = (): Resolve =>
  boundedResolver((hostname) => lookup(hostname, { all: true }), {
    atOnce: 2,
    waiting: 256,
    waitMs: 5_000,
    clock: systemClock,
  });

/** At most so many look-ups at once; requests for the same name share one. */
export function boundedResolver(resolve: Resolve, limits: ResolverLimits): Resolve {
  const pending = new Map<string, Promise<readonly LookupAddress[]>>();
  const turns = new Turns(limits);
  const resolveInTurn = async (hostname: string): Promise<readonly LookupAddress[]> => {
    await turns.take();
    try {
      return await resolve(hostname);
    } finally {
      turns.giveBack();
    }
  };
  return (hostname) => {
    const known = pending.get(hostname);
    if (known !== undefined) return known;
    const work = resolveInTurn(hostname).finally(() => pending.delete(hostname));
    pending.set(hostname, work);
    return work;
  };
}

interface Waiting {
  readonly since: number;
  readonly begin: () => void;
  readonly refuse: (reason: Error) => void;
}

class Turns {
  readonly #limits: ResolverLimits;
  readonly #queue: Waiting[] = [];
  #active = 0;

  constructor(limits: ResolverLimits) {
    this.#limits = limits;
  }

  take(): Promise<void> {
    const { atOnce, waiting, clock } = this.#limits;
    if (this.#active < atOnce) {
      this.#active++;
      return Promise.resolve();
    }
    if (this.#queue.length >= waiting) return Promise.reject(busy());
    return new Promise((begin, refuse) => this.#queue.push({ since: clock.monotonic(), begin, refuse }));
  }

  giveBack(): void {
    const { waitMs, clock } = this.#limits;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (clock.monotonic() - next.since <= waitMs) return next.begin();
      next.refuse(busy());
    }
    this.#active--;
  }
}

const busy = (): Error =>
  Object.assign(new Error('too many names wait to be resolved'), { code: 'EAI_AGAIN' });
