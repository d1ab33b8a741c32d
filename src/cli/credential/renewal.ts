import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '../../api/json.ts';
import type { Context } from '../shared/context.ts';
import { Failure, type FailureKind } from '../shared/failure.ts';
import {
  type Cached,
  type CachePlace,
  type ConfirmedEndpoint,
  checkEveryMs,
  isFresh,
  readCache,
  rememberGiven,
  wasGiven,
  writeCache,
} from './cache.ts';
import { lockLifeMs, takeLock } from './cache-lock.ts';

/** A credential, fresh from the gateway. */
export interface Obtained {
  readonly key: string;
  readonly end?: number;
}

/** A new credential that is refused where it is to be used. Its source has deleted it again. */
export class NewRefused extends Failure {
  readonly problem: string;

  constructor(problem: string, waitMs: number) {
    super(
      'unavailable',
      `the endpoint does not accept it: ${problem}`,
      `The endpoint may have lost the platform: tell who runs it, or leave \`--direct\` out. The next token is made in ${Math.ceil(waitMs / 1_000)} s.`,
    );
    this.problem = problem;
  }
}

/** After a new credential that was refused. Each one is made on the platform, and has to be deleted there. */
export const refusedRetryMs = 30_000;

/** A way to come by a credential. All calls throw a Failure. */
export interface Source {
  /** Of the file behind it: see {@link Cached}. */
  readonly version: string;
  /** Whether `obtain` gives another key, and not the same one again. */
  readonly isRenewable: boolean;
  readonly obtain: () => Promise<Obtained>;
  /** Comes before `obtain`, and before the lock: it takes as long as a renewal of its own, and the lock would be taken for dead. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** Asks whether this key is accepted where it is used. Undefined: there is no one to ask. */
  readonly isAccepted: (key: string) => Promise<boolean | undefined>;
  /** Kept beside the credential, so that both count together in an outage. */
  readonly endpoint?: ConfirmedEndpoint;
}

/** Renewed when this part of its life is left. */
const renewAheadPart = 0.2;
/** After a renewal that failed, while the present key lives. */
const retryMs = 10_000;
/** After a gateway that did not answer whether it accepts a key. */
const recheckMs = 60_000;
const waitMs = 25;

type Surroundings = Pick<Context, 'env' | 'platform' | 'ppid' | 'now' | 'signal'>;

/**
 * A credential that works, from the cache or made now: by one process at a time, however many ask. `isDoubted`: one in the cache is
 * asked about first. Throws a Failure.
 */
export async function currentCredential(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  { isDoubted = false } = {},
): Promise<Cached> {
  // Without it no client asks, but a person.
  const isOfClient = context.env['KUBERNETES_EXEC_INFO'] !== undefined;
  const cached = usable(source, place, context);
  const wasBefore = cached !== undefined && isOfClient && wasGiven(place, context.ppid, cached.key);
  const isSuspect = isDoubted || wasBefore;
  const found = await (cached === undefined
    ? renewTogether(source, place, context)
    : freshOf(source, place, context, { cached, isSuspect }));
  if (isOfClient) rememberGiven(place, context.ppid, found.key);
  keepEndpoint(source, place, context, found);
  return found;
}

/** One that was confirmed again may have moved. Another process may have put another token there, with a place of its own. */
function keepEndpoint(
  { endpoint }: Source,
  place: CachePlace,
  { platform }: Surroundings,
  { key, endpoint: kept }: Cached,
): void {
  if (endpoint === undefined || JSON.stringify(endpoint) === JSON.stringify(kept)) return;
  const present = readCache(place, platform);
  if (present?.key === key) writeCache(place, { ...present, endpoint });
}

interface Known {
  readonly cached: Cached;
  /** The client that asks was given it before, or no client would tell that it is refused. */
  readonly isSuspect: boolean;
}

async function freshOf(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  { cached, isSuspect }: Known,
): Promise<Cached> {
  if (!isSuspect && isFresh(cached, source.version, context.now())) return cached;
  if (!isSuspect && isDue(cached, context.now())) return await renewAhead(source, place, context, cached);
  return await checkFirst(source, place, context, { cached, isSuspect });
}

const isWaiting = ({ retryAt = 0 }: Cached, now: number): boolean => now < retryAt;
const isDue = (cached: Cached, now: number): boolean =>
  cached.renewAt !== undefined && now >= cached.renewAt && !isWaiting(cached, now);

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
  let release: (() => void) | undefined;
  try {
    await source.prepare?.();
    release = takeLock(`${place.file}.lock`);
    if (release === undefined) return cached;
    const present = usable(source, place, context);
    if (present !== undefined && isFresh(present, source.version, context.now())) return present;
    return await renew(source, place, context);
  } catch (error) {
    if (!(error instanceof Failure) || !leavesPresent.has(error.kind)) throw error;
    const now = context.now();
    const present = usable(source, place, context);
    // Another process has renewed it meanwhile.
    if (present !== undefined && present.key !== cached.key) return present;
    const refusal = refusalOf(error, now);
    const waiting = { ...unchecked(cached, now), retryAt: refusal?.until ?? now + retryMs };
    writeCache(place, defined({ ...waiting, refusal }));
    return waiting;
  } finally {
    release?.();
  }
}

/** A token that was exchanged before is refused, while the key that it was exchanged for still lives. */
const leavesPresent: ReadonlySet<FailureKind> = new Set(['unavailable', 'usage']);

const refusalOf = (error: unknown, now: number): Cached['refusal'] =>
  error instanceof NewRefused ? { until: now + refusedRetryMs, problem: error.problem } : undefined;

/** A key that the gateway refused a moment ago must not be handed out for ever. Without an answer it is: an outage ends no key. */
async function checkFirst(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  { cached, isSuspect }: Known,
): Promise<Cached> {
  let isAccepted: boolean | undefined;
  try {
    isAccepted = await source.isAccepted(cached.key);
    if (isAccepted ?? (!isSuspect || isWaiting(cached, context.now()))) {
      const checked = { ...cached, checked: context.now() };
      writeCache(place, checked);
      // A client that runs on comes back because it was told to, and not because of a 401.
      return isDue(checked, context.now()) ? await renewAhead(source, place, context, checked) : checked;
    }
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error;
    const unknown = unchecked(cached, context.now());
    writeCache(place, unknown);
    return unknown;
  }
  return isAccepted === false
    ? await renewTogether(source, place, context, { key: cached.key, isCertain: true })
    : await renewDoubted(source, place, context, cached);
}

/** A key that may have been refused: no one could be asked. It is used on while no other comes about. */
async function renewDoubted(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  cached: Cached,
): Promise<Cached> {
  try {
    return await renewTogether(source, place, context, { key: cached.key, isCertain: false });
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error;
    const now = context.now();
    const waiting = { ...unchecked(cached, now), retryAt: now + refusedRetryMs };
    writeCache(place, waiting);
    return waiting;
  }
}

/** The gateway could not be asked: the next try is a while later, and not at each call. */
const unchecked = (cached: Cached, now: number): Cached => ({
  ...cached,
  checked: now - checkEveryMs + recheckMs,
});

/** A key that is not to be used again. `isCertain`: its endpoint said so; otherwise the client came back with it. */
interface Refused {
  readonly key: string;
  readonly isCertain: boolean;
}

/** One process asks the gateway; the others wait for what it gets. */
async function renewTogether(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  refused?: Refused,
): Promise<Cached> {
  await source.prepare?.();
  const end = performance.now() + lockLifeMs + 5_000;
  while (performance.now() < end && !context.signal.aborted) {
    const release = takeLock(`${place.file}.lock`);
    if (release !== undefined) {
      try {
        const other = renewed(source, place, context, refused?.key);
        return other ?? (await renewUnlessRefused(source, place, context, refused));
      } finally {
        release();
      }
    }
    await sleep(waitMs);
    const other = renewed(source, place, context, refused?.key);
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

/** Without a pause after a refusal, each call of a client would leave another token on the platform. */
async function renewUnlessRefused(
  source: Source,
  place: CachePlace,
  context: Surroundings,
  refused: Refused | undefined,
): Promise<Cached> {
  const { platform, now } = context;
  const stored = readCache(place, platform);
  const last = stored?.version === source.version ? stored.refusal : undefined;
  if (last !== undefined && now() < last.until) throw new NewRefused(last.problem, last.until - now());
  try {
    const isUnsure = refused?.isCertain === false;
    return await renew(source, place, context, isUnsure ? { retryAt: now() + refusedRetryMs } : {});
  } catch (error) {
    const refusal = refusalOf(error, now());
    const kept = usable(source, place, context) ?? none(source, place);
    if (refusal !== undefined) writeCache(place, { ...kept, refusal });
    throw error;
  }
}

/** Holds a refusal where there is no credential: it has ended. */
const none = ({ version }: Source, { source }: CachePlace): Cached => ({
  ...{ source, version, key: '', end: 0, checked: 0 },
});

async function renew(
  source: Source,
  place: CachePlace,
  { now }: Surroundings,
  more: Pick<Cached, 'retryAt'> = {},
): Promise<Cached> {
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
    endpoint: source.endpoint,
    ...more,
  });
  writeCache(place, cached);
  return cached;
}
