import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';

/** All addresses of a host name, in the order of preference. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface ResolverLimits {
  readonly atOnce: number;
  /** One more is refused at once. */
  readonly waiting: number;
}

/**
 * The system's resolver, hosts file and search domains included. Each look-up holds one of the four threads that the
 * process has, for as long as somebody else's name server likes: half of them are left to everything else.
 */
export const systemResolver = (): Resolve =>
  boundedResolver((hostname) => lookup(hostname, { all: true }), { atOnce: 2, waiting: 256 });

/** At most so many look-ups at once; requests for the same name share one. */
export function boundedResolver(resolve: Resolve, { atOnce, waiting }: ResolverLimits): Resolve {
  const pending = new Map<string, Promise<readonly LookupAddress[]>>();
  const queue: (() => void)[] = [];
  let active = 0;

  const turn = async (): Promise<void> => {
    if (active < atOnce) {
      active++;
      return;
    }
    if (queue.length >= waiting) throw new ResolverBusy();
    await new Promise<void>((next) => queue.push(next));
  };

  const release = (): void => {
    const next = queue.shift();
    if (next === undefined) active--;
    else next();
  };

  const resolveInTurn = async (hostname: string): Promise<readonly LookupAddress[]> => {
    await turn();
    try {
      return await resolve(hostname);
    } finally {
      release();
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

class ResolverBusy extends Error {
  readonly code = 'EAI_AGAIN';

  constructor() {
    super('too many names wait to be resolved');
  }
}
