import type { Platform } from '../gateway/platform.ts';
import type { Context } from '../shared/context.ts';
import { cachePlace } from './cache.ts';
import { sourceOf } from './fast-path.ts';
import { currentCredential } from './renewal.ts';
import { trustSource } from './sources.ts';

/**
 * The key for which the token of this pipeline was exchanged. It is in the cache of `--trust` alone: the gateway takes a token once, so
 * each further exchange of it would be refused.
 */
export async function exchangedKey(platform: Platform, trust: string, context: Context): Promise<string> {
  const { baseURL } = platform.connection;
  const place = cachePlace(sourceOf({ baseURL, trust }), context);
  const source = trustSource(platform, trust, context);
  // Clients see what is made below it alone: one that was revoked would be used for minutes.
  const { key } = await currentCredential(source, place, context, { isDoubted: true });
  return key;
}
