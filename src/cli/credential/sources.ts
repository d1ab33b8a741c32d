import { parseInstant } from '../../api/instant.ts';
import { asObject, asText, defined } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import { findSubjectToken } from '../exchange/subject-tokens.ts';
import { exchangeToken } from '../exchange/token-exchange.ts';
import type { Platform } from '../gateway/platform.ts';
import type { Context } from '../shared/context.ts';
import { Failure } from '../shared/failure.ts';
import type { Obtained, Source } from './renewal.ts';

/** Of each question, so that one renewal is over before its lock is taken for dead. */
export const timeoutMs = 4_000;
const checkMs = 3_000;
const exchangeMs = 5_000;

/** The key that the holder has, as it is. It has the end that the gateway says. */
export function keySource(platform: Platform, key: string, version: string): Source {
  return {
    version,
    isRenewable: false,
    isAccepted: async (checked) => await isAccepted(platform, checked),
    obtain: async () => {
      const self = asObject((await platform.self({ key, timeoutMs }))['status']);
      return defined({ key, end: parseInstant(self['expirationTimestamp']) });
    },
  };
}

/** A short-lived key below the one that the holder has: that one never leaves this machine but to make it. */
export function childSource(platform: Platform, parent: string, version: string, ttl: number): Source {
  return {
    version,
    isRenewable: true,
    isAccepted: async (checked) => await isAccepted(platform, checked),
    obtain: async () => await makeChild(platform, parent, ttl),
  };
}

/** A child of an access key that trusts the issuer of this pipeline or workload. */
export function trustSource(platform: Platform, trust: string, context: Context): Source {
  return {
    version: '',
    isRenewable: true,
    isAccepted: async (checked) => await isAccepted(platform, checked),
    obtain: async () => {
      const token = await findSubjectToken(platform.connection.baseURL, context);
      return await exchangeToken(platform, { token, type: 'jwt', trust }, context.now, exchangeMs);
    },
  };
}

/** Begins the name of what is made below a key: it says which one, and leaves room for more. */
export const childNamePrefix = (name: string): string => name.slice(0, 40).replace(/[^a-z0-9]+$/, '');

interface AccessKeyQuestion {
  readonly platform: Platform;
  readonly key: string;
  readonly timeoutMs: number;
  /** For the failure of another credential: what is to be made below the key, and the option that asks for it. */
  readonly wanted: { readonly what: string; readonly option: string };
}

/** Name and end of an access key, below which something is to be made. Throws a Failure for another credential. */
export async function accessKeyOf({ platform, key, timeoutMs, wanted }: AccessKeyQuestion) {
  const self = asObject((await platform.self({ key, timeoutMs }))['status']);
  const name = asText(self['accessKey']);
  if (name !== undefined) return { name, end: parseInstant(self['expirationTimestamp']) };
  throw new Failure(
    'usage',
    `only an access key makes ${wanted.what}, and this is another credential`,
    `Leave \`${wanted.option}\` out, or use an access key.`,
  );
}

const childKeys = { what: 'child keys', option: '--child-ttl' } as const;

async function makeChild(platform: Platform, parent: string, ttl: number): Promise<Obtained> {
  const { name, end } = await accessKeyOf({ platform, key: parent, timeoutMs, wanted: childKeys });
  const body = {
    apiVersion,
    kind: 'OwnedAccessKey',
    metadata: { generateName: `${childNamePrefix(name)}-cli-` },
    // The operator deletes what is made through the gateway some time after its end.
    spec: { accessKey: name, ttl, displayName: 'Made by latchkey credential' },
  };
  const made = await platform.own('ownedaccesskeys', { method: 'POST', body, key: parent, timeoutMs });
  const { key } = asObject(made['spec']);
  if (typeof key !== 'string') throw new Failure('failure', 'the gateway made no key', 'Try again.');
  const created = parseInstant(asObject(made['metadata'])['creationTimestamp']);
  const ends = [created === undefined ? undefined : created + ttl * 1_000, end];
  const known = ends.filter((end) => end !== undefined);
  return defined({ key, end: known.length === 0 ? undefined : Math.min(...known) });
}

/** Throws a Failure where no answer comes. */
async function isAccepted(platform: Platform, key: string): Promise<boolean> {
  try {
    await platform.self({ key, timeoutMs: checkMs });
    return true;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthenticated') return false;
    throw error;
  }
}
