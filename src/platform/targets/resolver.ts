import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { systemClock } from '../../kube/clock.ts';
import { DnsCache, type DnsCacheOptions } from './dns-cache.ts';
import { LookupSemaphore, notNow, type TurnLimits } from './lookup-semaphore.ts';

/** All addresses of a host name, in the order of preference. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

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
    random: Math.random,
  });

/**
 * At most so many look-ups at once; requests for the same name share one, and its answer for a minute. A name that was
 * slow to fail is not looked up again for a while, and one turn is free of names that have not proved to be quick.
 */
export function boundedResolver(resolve: Resolve, limits: TurnLimits & DnsCacheOptions): Resolve {
  const pending = new Map<string, Promise<readonly LookupAddress[]>>();
  const names = new DnsCache(limits);
  const turns = new LookupSemaphore(limits);
  const { clock } = limits;

  const resolveInTurn = async (hostname: string): Promise<readonly LookupAddress[]> => {
    const standing = names.standing(hostname);
    await turns.take(standing);
    const started = clock.monotonic();
    try {
      const addresses = await resolve(hostname);
      names.note(hostname, clock.monotonic() - started, addresses);
      return addresses;
    } catch (error) {
      names.note(hostname, clock.monotonic() - started);
      throw error;
    } finally {
      turns.giveBack(standing);
    }
  };

  return (hostname) => {
    const answer = names.answer(hostname);
    if (answer !== undefined) return Promise.resolve(answer);
    const known = pending.get(hostname);
    if (known !== undefined) return known;
    if (names.isResting(hostname)) return Promise.reject(notNow());
    const work = resolveInTurn(hostname).finally(() => pending.delete(hostname));
    pending.set(hostname, work);
    return work;
  };
}
