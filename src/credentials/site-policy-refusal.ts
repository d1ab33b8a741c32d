import { tokenDefaultTTL } from './life.ts';
import type { LiveRecord } from './record.ts';
import type { SitePolicy, SiteRule } from './site-policy.ts';

/** The fields that a refusal depends on. */
export type SiteJudged = Pick<
  LiveRecord,
  'kind' | 'type' | 'ttl' | 'ttlAfterLastActivity' | 'scope' | 'rules' | 'identity' | 'requester'
>;

/** Parts that were allowed before: a rule that is younger than an object leaves it as it is. */
export interface KeptParts {
  readonly life: boolean;
  /** All that says whose it is, and what for. */
  readonly grant: boolean;
}

export const nothingKept: KeptParts = { life: false, grant: false };

export interface SiteRefusal {
  readonly code: 'ERR_POLICY_LIFE' | 'ERR_POLICY_SCOPE_MISSING';
  /** The field, what it must be, and why. */
  readonly problem: string;
}

/** Why the site does not want the credential; undefined: it is as the site asks. */
export function sitePolicyRefusal(
  policy: SitePolicy,
  record: SiteJudged,
  kept: KeptParts,
): SiteRefusal | undefined {
  const life = kept.life ? undefined : lifeProblem(policy, record);
  if (life !== undefined) return { code: 'ERR_POLICY_LIFE', problem: life };
  const scope = kept.grant ? undefined : scopeProblem(policy, record);
  return scope === undefined ? undefined : { code: 'ERR_POLICY_SCOPE_MISSING', problem: scope };
}

const isKey = ({ kind }: SiteJudged): boolean => kind === 'OwnedAccessKey';

function lifeProblem(policy: SitePolicy, record: SiteJudged): string | undefined {
  const { requireEnd } = policy;
  const maximum = maximumFor(policy, record);
  if (maximum !== undefined && lifeOf(record) > maximum.value)
    return `${lifeField[record.kind]} ${maximum.value} seconds, ${maximum.because}`;
  if (!isKey(record) || requireEnd.value === 'false') return undefined;
  if (!((record.ttl ?? 0) > 0)) return `spec.ttl: must be set, ${requireEnd.because}`;
  return requireEnd.value === 'fixed' && record.ttlAfterLastActivity
    ? `spec.ttlAfterLastActivity: must not be true, ${requireEnd.because}`
    : undefined;
}

const lifeField = {
  OwnedAccessKey: 'spec.ttl: must be set, and at most',
  DirectClusterEndpointToken: 'spec.ttl (86400 when absent): must be at most',
  VirtualClusterInstanceKubeConfig: 'spec.certificateTTL (86400 when absent): must not be 0, and at most',
} as const;

/** The lowest of those that the site has for such a credential. */
function maximumFor({ maxima }: SitePolicy, { kind, type = '' }: SiteJudged): SiteRule<number> | undefined {
  const entries = {
    OwnedAccessKey: ['maxKeyTTL', ...(type === '' ? [] : [`maxKeyTTL.${type}`])],
    DirectClusterEndpointToken: ['maxTokenTTL'],
    VirtualClusterInstanceKubeConfig: ['maxCertificateTTL'],
  }[kind];
  const rules = entries.flatMap((entry) => maxima.get(entry) ?? []);
  return rules.toSorted((a, b) => a.value - b.value)[0];
}

/** Seconds; `Infinity`: no end, or as long as the signer likes. */
function lifeOf({ kind, ttl }: SiteJudged): number {
  const [asked, otherwise] = {
    OwnedAccessKey: [ttl ?? 0, Number.POSITIVE_INFINITY],
    DirectClusterEndpointToken: [ttl ?? 0, tokenDefaultTTL],
    VirtualClusterInstanceKubeConfig: [ttl ?? tokenDefaultTTL, Number.POSITIVE_INFINITY],
  }[kind] as [number, number];
  return asked > 0 ? asked : otherwise;
}

function scopeProblem({ requireScope }: SitePolicy, record: SiteJudged): string | undefined {
  const { value, because } = requireScope;
  if (record.scope !== undefined || (record.rules ?? []).length > 0) return undefined;
  const all = isKey(record) ? ['keys', 'all'] : ['tokens', 'all'];
  if (record.kind !== 'VirtualClusterInstanceKubeConfig' && all.includes(value))
    return `spec.scope: must be set, ${because}`;
  return value === 'others' && isForOther(record)
    ? `spec.scope: must be set on a key for another user, ${because}; who makes one also needs the verb impersonate on that user`
    : undefined;
}

/** Its creator counts, not the one who changes it. */
const isForOther = ({ kind, identity, requester }: SiteJudged): boolean =>
  kind === 'OwnedAccessKey' && identity?.kind === 'user' && identity.user !== requester?.user;
