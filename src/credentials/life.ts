import type { LiveRecord } from './record.ts';

/** The longest life time in seconds that a spec can ask for: 100 years. */
export const maxTTL = 3_153_600_000;

/** The life of a credential as the operator confirms it. Instants are epoch milliseconds, life times seconds. */
export interface ConfirmedLife {
  /** 0: no end. */
  readonly confirmedTTL: number;
  /** The hard end; absent: none. */
  readonly notAfter?: number;
  /** True when the site's policy made it shorter than the spec asks for. */
  readonly shortened: boolean;
}

/** Knowledge of an enforcer besides the record. */
export interface ActivityOptions {
  /** Milliseconds between two writes of `status.lastActivity`. */
  readonly activityInterval: number;
  /** The last use, in epoch milliseconds, that this process saw itself. */
  readonly ownActivity?: number;
}

/**
 * The life of an access key to confirm. `maxLife` (seconds, absent: no bound) is the site's policy and counts from creation.
 * An idle life (`ttlAfterLastActivity`) has a hard end only by that policy.
 */
export function lifeOfAccessKey(record: LiveRecord, maxLife?: number): ConfirmedLife {
  const ttl = lifetime(record.ttl);
  const bound = maxLife === undefined || maxLife <= 0 ? Number.POSITIVE_INFINITY : maxLife;
  const life = record.ttlAfterLastActivity ? bound : Math.min(ttl, bound);
  const confirmedTTL = Math.min(ttl, bound);
  return {
    confirmedTTL: Number.isFinite(confirmedTTL) ? Math.max(confirmedTTL, 1) : 0,
    ...(Number.isFinite(life) && { notAfter: record.created + life * 1000 }),
    shortened: ttl > bound,
  };
}

/**
 * When a verifier refuses an access key. By then the operator has confirmed a life, and the earlier of that and the present
 * `ttl` counts. The end of an idle key is one `activityInterval` late, because another replica's last use may be unwritten.
 * `undefined`: nothing is confirmed. `Infinity`: never.
 */
export function endOfAccessKey(
  record: LiveRecord,
  now: number,
  options: ActivityOptions,
): number | undefined {
  const { confirmedTTL, notAfter } = record.status;
  if (confirmedTTL === undefined) return undefined;
  const ttl = Math.min(lifetime(record.ttl), lifetime(confirmedTTL));
  return Math.min(notAfter ?? Number.POSITIVE_INFINITY, startOfLife(record, now, options) + ttl * 1000);
}

/**
 * When the operator disables an access key: at its end, for an idle key two intervals after it, when every verifier has
 * refused for one. Computed from the present spec alone, so it needs no confirmation.
 */
export function operatorEndOfAccessKey(
  record: LiveRecord,
  now: number,
  options: ActivityOptions & { readonly maxLife?: number },
): number {
  const { notAfter = Number.POSITIVE_INFINITY, confirmedTTL } = lifeOfAccessKey(record, options.maxLife);
  const late = record.ttlAfterLastActivity ? options.activityInterval : 0;
  return Math.min(notAfter, startOfLife(record, now, options) + lifetime(confirmedTTL) * 1000 + late);
}

/** When `ExpiringSoon` begins: with 20 % of the life left, and never earlier than 7 days before the end. */
export function expiringSoonAt(start: number, end: number): number {
  return end - Math.min((end - start) * 0.2, sevenDays);
}

const sevenDays = 7 * 24 * 3600 * 1000;

/** Seconds; `Infinity` for no end. What is no life time lasts 0 seconds. */
function lifetime(ttl: number | undefined): number {
  if (ttl === undefined || ttl === 0) return Number.POSITIVE_INFINITY;
  return ttl > 0 ? Math.min(ttl, maxTTL) : 0;
}

function startOfLife(record: LiveRecord, now: number, options: ActivityOptions): number {
  if (!record.ttlAfterLastActivity) return record.created;
  const last = Math.max(record.status.lastActivity ?? -1, options.ownActivity ?? -1);
  return (last < 0 ? record.created : Math.min(last, now)) + options.activityInterval;
}

/** Seconds that a token lives when its `ttl` is 0 or absent, and the most it can live. */
export const tokenDefaultTTL = 86_400;
export const tokenMaxTTL = 7_776_000;
export const oneYear = 31_536_000;

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
  if (record.kubeConfig?.clientCert && record.ttl === 0) return notAfter;
  return Math.min(notAfter, issuedAt + Math.min(wantedLife(record), longest(record)) * 1000);
}

/** Seconds. What is no life time lasts 0 seconds. */
function wantedLife(record: LiveRecord): number {
  const { kind, ttl } = record;
  if (ttl === undefined) return tokenDefaultTTL;
  if (ttl === 0) return kind === 'VirtualClusterInstanceKubeConfig' ? oneYear : tokenDefaultTTL;
  return Math.max(ttl, 0);
}

const longest = (record: LiveRecord): number =>
  record.kind === 'DirectClusterEndpointToken' ? tokenMaxTTL : Number.MAX_SAFE_INTEGER / 1_000_000;
