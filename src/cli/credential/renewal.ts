import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '../../api/json.ts';
import type { Context } from '../shared/context.ts';
import { Failure } from '../shared/failure.ts';
import {
  type Cached,
  type CachePlace,
  checkEveryMs,
  isFresh,
  readCache,
  rememberGiven,
  wasGiven,
  writeCache,
} from './cache.ts';
import { lockLifeMs, takeLock } from './lock.ts';

/** A credential, fresh from the gateway. */
export interface Obtained {
  readonly key: string;
  readonly end?: number;
}

/** A way to come by a credential. Both calls throw a Failure. */
export interface Source {
  /** Of the file behind it: see {@link Cached}. */
  readonly version: string;
  /** Whether `obtain` gives another key, and not the same one again. */
  readonly isRenewable: boolean;
  readonly obtain: () => Promise<Obtained>;
  /** Asks the gateway whether it accepts this key. False: it does not. */
  readonly isAccepted: (key: string) => Promise<boolean>;
}

/** Renewed when this part of its life is left. */
const renewAheadPart = 0.2;
/** After a renewal that failed, while the present key lives. */
const retryMs = 10_000;
/** After a gateway that did not answer whether it accepts a key. */
const recheckMs = 60_000;
const waitMs = 25;

type Surroundings = Pick<Context, 'env' | 'platform' | 'ppid' | 'now' | 'signal'>;

/** A credential that works, from the cache or made now: by one process at a time, however many ask. Throws a Failure. */
export async function currentCredential(
  source: Source,
  place: CachePlace,
  context: Surroundings,
): Promise<Cached> {
  // Without it no client asks, but a person.
  const isOfClient = context.env['KUBERNETES_EXEC_INFO'] !== undefined;
  const cached = usable(source, place, context);
  const isSuspect = cached !== undefined && isOfClient && wasGiven(place, context.ppid, cached.key);
  const found = await (cached === undefined
    ? renewTogether(source, place, context)
    : freshOf(source, place, context, { cached, isSuspect }));
  if (isOfClient) rememberGiven(place, context.ppid, found.key);
  return found;
}

interface Known {
  readonly cached: Cached;
  /** The client that asks was given it before. */
  readonly isSuspect: boolean;
}

async function freshOf(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  { cached, isSuspect }: Known,
): Promise<Cached> {
  if (!isSuspect && isFresh(cached, source.version, context.now())) return cached;
  const isDue = cached.renewAt !== undefined && context.now() >= cached.renewAt;
  const isWaiting = context.now() < (cached.retryAt ?? 0);
  if (isDue && !isWaiting && !isSuspect) return await renewAhead(source, place, context, cached);
  return await checkFirst(source, place, context, cached);
}

/** The credential in the cache, unless it has ended or is of another key file. */
function usable(source: Source, place: CachePlace, { platform, now }: Surroundings): Cached | undefined {
  const cached = readCache(place, platform);
  const isOver = cached?.end !== undefined && now() >= cached.end;
  return cached === undefined || isOver || cached.version !== source.version ? undefined : cached;
}

/** The present one still works: who finds another process at it, or no gateway, uses that. */
async function renewAhead(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  cached: Cached,
): Promise<Cached> {
  const release = takeLock(`${place.file}.lock`);
  if (release === undefined) return cached;
  try {
    const present = usable(source, place, context);
    if (present !== undefined && isFresh(present, source.version, context.now())) return present;
    return await renew(source, place, context);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error;
    const waiting = { ...unchecked(cached, context.now()), retryAt: context.now() + retryMs };
    writeCache(place, waiting);
    return waiting;
  } finally {
    release();
  }
}

/** A key that the gateway refused a moment ago must not be handed out for ever. Without an answer it is: an outage ends no key. */
async function checkFirst(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  cached: Cached,
): Promise<Cached> {
  try {
    if (await source.isAccepted(cached.key)) {
      const checked = { ...cached, checked: context.now() };
      writeCache(place, checked);
      return checked;
    }
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error;
    const unknown = unchecked(cached, context.now());
    writeCache(place, unknown);
    return unknown;
  }
  return await renewTogether(source, place, context, cached.key);
}

/** The gateway could not be asked: the next try is a while later, and not at each call. */
const unchecked = (cached: Cached, now: number): Cached => ({
  ...cached,
  checked: now - checkEveryMs + recheckMs,
});

/** One process asks the gateway; the others wait for what it gets. `refused`: the key that is not to be used again. */
async function renewTogether(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  refused?: string,
): Promise<Cached> {
  const end = performance.now() + lockLifeMs + 5_000;
  while (performance.now() < end && !context.signal.aborted) {
    const release = takeLock(`${place.file}.lock`);
    if (release !== undefined) {
      try {
        const other = renewed(source, place, context, refused);
        return other ?? (await renew(source, place, context));
      } finally {
        release();
      }
    }
    await sleep(waitMs);
    const other = renewed(source, place, context, refused);
    if (other !== undefined) return other;
  }
  throw new Failure('unavailable', 'another process renews the credential and does not finish', 'Try again.');
}

function renewed(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  refused?: string,
): Cached | undefined {
  const present = usable(source, place, context);
  return present !== undefined && present.key !== refused && isFresh(present, source.version, context.now())
    ? present
    : undefined;
}

async function renew(source: Source, place: CachePlace, { now }: Surroundings): Promise<Cached> {
  const started = now();
  const { key, end } = await source.obtain();
  const renewAt =
    end !== undefined && source.isRenewable ? end - renewAheadPart * Math.max(0, end - started) : undefined;
  const cached: Cached = defined({
    source: place.source,
    version: source.version,
    key,
    end,
    renewAt,
    checked: now(),
  });
  writeCache(place, cached);
  return cached;
}
