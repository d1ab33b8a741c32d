import { defined } from '../../api/json.ts';
import { sessionsFile } from '../session/places.ts';
import type { Context } from '../shared/context.ts';
import {
  cachePlace,
  isFresh,
  markOfKey,
  readCache,
  rememberGiven,
  sourceVersion,
  wasGiven,
} from './cache.ts';
import { execCredential } from './exec-credential.ts';
import { isInfoUnder } from './gateway-server.ts';

/** The options of `latchkey credential` that name what it is about. */
export interface CredentialRequest {
  readonly baseURL: string;
  readonly trust?: string;
  readonly keyFile?: string;
  readonly childTTL?: string;
  /** The target whose direct endpoint the credential is for. */
  readonly direct?: string;
  /** A file with the authority of the gateway. It changes no credential. */
  readonly authority?: string;
}

const names = {
  '--base-url': 'baseURL',
  '--trust': 'trust',
  '--key-file': 'keyFile',
  '--child-ttl': 'childTTL',
  '--direct': 'direct',
  '--certificate-authority': 'authority',
} as const;

/** Reads the words after `credential` as kubeconfigs have them; undefined for all others, which the whole program reads. */
export function readRequest(words: readonly string[]): CredentialRequest | undefined {
  const found: Partial<Record<(typeof names)[keyof typeof names], string>> = {};
  for (let index = 0; index < words.length; index += 2) {
    const [name = '', value] = [words[index], words[index + 1]];
    if (!Object.hasOwn(names, name) || value === undefined) return undefined;
    found[names[name as keyof typeof names]] = value;
  }
  return found.baseURL === undefined ? undefined : (found as CredentialRequest);
}

/**
 * The credential in the cache, where it may be used as it is. Undefined: the whole program has to look. It loads no network, because
 * that takes longer than all the rest.
 */
export function answerFromCache(
  words: readonly string[],
  context: Pick<Context, 'env' | 'platform' | 'ppid' | 'now'>,
): string | undefined {
  const request = readRequest(words);
  const { env, platform, ppid } = context;
  if (request === undefined || env['LATCHKEY_ACCESS_KEY'] || env['LATCHKEY_ACCESS_KEY_FILE'])
    return undefined;
  // The whole program says why.
  if (request.direct === undefined && !isInfoUnder(env['KUBERNETES_EXEC_INFO'], request.baseURL))
    return undefined;
  const file = fileOf(request, context);
  const place = cachePlace(sourceOf(request), context);
  const cached = readCache(place, platform);
  if (cached === undefined || !isFresh(cached, sourceVersion(file), context.now())) return undefined;
  const info = env['KUBERNETES_EXEC_INFO'];
  // Without it no client asks, but a person.
  if (info !== undefined) {
    if (wasGiven(place, ppid, cached.key)) return undefined;
    rememberGiven(place, ppid, cached.key);
  }
  return execCredential(cached, info, context.now());
}

/** `key`: that of a variable, which is used in place of the login. */
export function sourceOf({ baseURL, trust, keyFile, childTTL, direct }: CredentialRequest, key?: string) {
  return defined({ baseURL, from: originOf(trust, keyFile, key), childTTL, direct });
}

function originOf(trust: string | undefined, keyFile: string | undefined, key: string | undefined): string {
  if (trust !== undefined) return `trust:${trust}`;
  if (keyFile !== undefined) return `file:${keyFile}`;
  return key === undefined ? 'session' : `variable:${markOfKey(key)}`;
}

/** The file whose key is used, or made children of. */
export const fileOf = (
  { trust, keyFile }: CredentialRequest,
  context: Pick<Context, 'env' | 'platform'>,
): string | undefined => (trust === undefined ? (keyFile ?? sessionsFile(context)) : undefined);
