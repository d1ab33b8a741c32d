import type { LiveRecord } from './record.ts';

/** Seconds that a token lives when its `ttl` is 0 or absent, and the most it can live. */
export const tokenDefaultTTL = 86_400;
export const tokenMaxTTL = 7_776_000;
const oneYear = 31_536_000;

export interface IssuedLifeOptions {
  /** Epoch milliseconds. */
  readonly issuedAt: number;
  /** Seconds; the site's policy, at most `tokenMaxTTL` for tokens. */
  readonly maxLife?: number;
  /** Epoch milliseconds: a child ends with its parent. */
  readonly parentEnd?: number;
}

export interface IssuedLife {
  /** Seconds that the spec grants after the policy, without the parent's end. */
  readonly confirmedTTL: number;
  /** Epoch milliseconds, whole seconds: `exp` of a JWT has no fractions. */
  readonly notAfter: number;
  readonly shortened: boolean;
}

/** The life of a token, or of a kubeconfig, that is issued at `issuedAt`. */
export function lifeOfIssued(record: LiveRecord, options: IssuedLifeOptions): IssuedLife {
  const wanted = wantedLife(record);
  const bound = Math.min(options.maxLife ?? longest(record), longest(record));
  const confirmedTTL = Math.max(Math.min(wanted, bound), 0);
  const end = Math.min(options.issuedAt + confirmedTTL * 1000, options.parentEnd ?? Number.POSITIVE_INFINITY);
  return { confirmedTTL, notAfter: Math.floor(end / 1000) * 1000, shortened: wanted > bound };
}

/**
 * When a verifier refuses a token or kubeconfig: at its hard end, or earlier when the present `ttl`, counted from the issue, says so.
 * `undefined`: nothing is confirmed.
 */
export function endOfIssued(record: LiveRecord): number | undefined {
  const { notAfter, issuedAt, confirmedTTL } = record.status;
  if (notAfter === undefined || issuedAt === undefined || confirmedTTL === undefined) return undefined;
  // Of a certificate without a wish only the signer knows the end.
  if (record.kubeConfig?.clientCert && record.certificateTTL === 0) return notAfter;
  return Math.min(notAfter, issuedAt + Math.min(wantedLife(record), longest(record)) * 1000);
}

/** Seconds. What is no life time lasts 0 seconds. */
function wantedLife(record: LiveRecord): number {
  const isKubeConfig = record.kind === 'VirtualClusterInstanceKubeConfig';
  const ttl = isKubeConfig ? record.certificateTTL : record.ttl;
  if (ttl === undefined) return tokenDefaultTTL;
  if (ttl === 0) return isKubeConfig ? oneYear : tokenDefaultTTL;
  return Math.max(ttl, 0);
}

const longest = (record: LiveRecord): number =>
  record.kind === 'DirectClusterEndpointToken' ? tokenMaxTTL : Number.MAX_SAFE_INTEGER / 1_000_000;
