import { defined } from '../../api/json.ts';
import type { Connection } from '../gateway/platform.ts';
import type { Context } from '../shared/context.ts';
import { Failure, type FailureKind } from '../shared/failure.ts';
import { type CachePlace, type ConfirmedEndpoint, readCache, writeCache } from './cache.ts';
import type { Source } from './renewal.ts';

type Endpoint = Pick<Connection, 'baseURL' | 'ca'>;

interface Confirmation {
  readonly cache: CachePlace;
  /** PEM. Of the platform, as the user names it. */
  readonly platformCA: string | undefined;
  /** Asks the platform where the endpoint is. Throws a Failure. */
  readonly ask: () => Promise<Endpoint>;
  /** Throws a Failure where the client would go to another place. */
  readonly check: (endpoint: Endpoint) => void;
}

/**
 * The source of a token for a direct endpoint that the platform confirms. While the platform is away, what it last said counts for the
 * token that was got with it, and for no other: nothing new is made for a place that the platform does not confirm. Throws a Failure.
 */
export async function confirmedSource(
  source: Source,
  { cache, platformCA, ask, check }: Confirmation,
  context: Pick<Context, 'platform' | 'now'>,
): Promise<Source> {
  try {
    const { baseURL, ca } = await ask();
    check({ baseURL, ...defined({ ca }) });
    return { ...source, endpoint: defined({ baseURL, ca, platformCA }) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // A refusal must not become a yes because the platform goes away a moment later. The page of a proxy is no refusal.
    if (refusals.includes(error.kind)) forget(cache, context.platform);
    const known = error.kind === 'unavailable' ? lastConfirmed(source, cache, context) : undefined;
    if (known === undefined || known.platformCA !== platformCA) throw error;
    check(known);
    return { ...source, endpoint: known, prepare: undefined, obtain: () => Promise.reject(error) };
  }
}

const refusals: readonly FailureKind[] = ['unauthenticated', 'forbidden', 'notFound'];

function lastConfirmed(
  { version }: Source,
  cache: CachePlace,
  { platform, now }: Pick<Context, 'platform' | 'now'>,
): ConfirmedEndpoint | undefined {
  const cached = readCache(cache, platform);
  if (cached?.end === undefined || now() >= cached.end || cached.version !== version) return undefined;
  return typeof cached.endpoint?.baseURL === 'string' ? cached.endpoint : undefined;
}

function forget(cache: CachePlace, platform: NodeJS.Platform): void {
  const cached = readCache(cache, platform);
  if (cached?.endpoint === undefined) return;
  const { endpoint: _, ...rest } = cached;
  writeCache(cache, rest);
}
