import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { systemClock } from '../../kube/clock.ts';
import { DnsCache, type DnsCacheOptions } from './dns-cache.ts';
import { type LookupLimits, LookupSemaphore, notNow } from './lookup-semaphore.ts';

/** All addresses of a host name, in the order of preference. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/**
 * The system's resolver, hosts file and search domains included. Node resolves two names at a time in the whole process,
 * and waits as long as a name server takes. Without bounds the names of one target would delay all others.
 */
export const systemResolver = (): Resolve =>
  boundedResolver((hostname) => lookup(hostname, { all: true }), {
    maxConcurrent: 2,
    maxWaiting: 256,
    maxWaitMs: 5_000,
    clock: systemClock,
    random: Math.random,
  });

/**
 * At most so many look-ups at once. Requests for the same name share one, and its answer for a minute. A name that was
 * slow to fail is not looked up again for a while, and one look-up is kept for names that have proved to be quick.
 */
export function boundedResolver(resolve: Resolve, limits: LookupLimits & DnsCacheOptions): Resolve {
  const pending = new Map<string, Promise<readonly LookupAddress[]>>();
  const names = new DnsCache(limits);
  const semaphore = new LookupSemaphore(limits);
  const { clock } = limits;

  const resolveBounded = async (hostname: string): Promise<readonly LookupAddress[]> => {
    const standing = names.standing(hostname);
    await semaphore.acquire(standing);
    const started = clock.monotonic();
    try {
      const addresses = await resolve(hostname);
      names.record(hostname, clock.monotonic() - started, addresses);
      return addresses;
    } catch (error) {
      names.record(hostname, clock.monotonic() - started);
      throw error;
    } finally {
      semaphore.release(standing);
    }
  };

  return (hostname) => {
    const answer = names.answer(hostname);
    if (answer !== undefined) return Promise.resolve(answer);
    const known = pending.get(hostname);
    if (known !== undefined) return known;
    if (names.isResting(hostname)) return Promise.reject(notNow());
    const work = resolveBounded(hostname).finally(() => pending.delete(hostname));
    pending.set(hostname, work);
    return work;
  };
}
