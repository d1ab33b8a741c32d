import { reasons } from '../../api/reasons.ts';
import { lifeOfAccessKey, lifeOfIssued } from '../../credentials/life.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { SitePolicy } from '../../credentials/site-policy.ts';
import { sitePolicyRefusal } from '../../credentials/site-policy-refusal.ts';
import type { CredentialRefusal, DesiredStatus } from './desired-status.ts';
import { isConfirmedSpec } from './review.ts';

export interface SitePolicyInput {
  readonly record: CredentialRecord;
  readonly sitePolicy: SitePolicy;
  /** `maxTTL`: of what is issued, seconds. */
  readonly limits: { readonly activityInterval: number; readonly maxTTL?: number };
}

/** Why the site does not want the present spec confirmed. What was confirmed before is not judged again. */
export function sitePolicyProblem(input: SitePolicyInput): CredentialRefusal | undefined {
  const { sitePolicy, record } = input;
  const kept = { life: hasConfirmedLife(input), grant: isConfirmedSpec(record) };
  const problem = sitePolicyRefusal(sitePolicy, record, kept)?.problem ?? plainKeyProblem(input);
  return problem === undefined
    ? undefined
    : { reason: reasons.sitePolicy, message: `${problem}.`, final: true };
}

function plainKeyProblem({ sitePolicy, record }: SitePolicyInput): string | undefined {
  const { acceptPlainKey } = sitePolicy;
  const { specKey, status, keyWrittenByOperator } = record;
  if (acceptPlainKey.value === 'true' || specKey?.form !== 'Plain') return undefined;
  const isKept = isConfirmedSpec(record) || specKey.hash === status.credentialHash;
  return keyWrittenByOperator || isKept
    ? undefined
    : `spec.key: must be sha256: and a hash, or be left out, ${acceptPlainKey.because}`;
}

function hasConfirmedLife({ record, limits }: SitePolicyInput): boolean {
  const { confirmedTTL, notAfter } = record.status;
  if (confirmedTTL === undefined) return false;
  if (record.kind === 'OwnedAccessKey') {
    const becameIdle = record.ttlAfterLastActivity && notAfter !== undefined;
    return !becameIdle && isNoLonger(lifeOfAccessKey(record).confirmedTTL, confirmedTTL);
  }
  const { maxTTL: maxLife } = limits;
  const bound = maxLife === undefined ? {} : { maxLife };
  return isNoLonger(lifeOfIssued(record, { issuedAt: 0, ...bound }).confirmedTTL, confirmedTTL);
}

/**
 * Seconds; 0: no end. A shorter life is no other one: with a lower maximum in the settings of the operator, all that is older than a rule of
 * the site would end at its next start.
 */
const isNoLonger = (asked: number, confirmed: number): boolean =>
  confirmed === 0 || (asked > 0 && asked <= confirmed);

interface Committed {
  readonly step: string;
  readonly desired?: DesiredStatus;
}

/**
 * A longer life that the site does not want changes nothing: what is confirmed goes on with the life that it has, and its status says
 * why. Verifiers never grant more than was confirmed.
 */
export function withConfirmedLife<I extends SitePolicyInput, S extends Committed>(
  input: I,
  decide: (input: I) => S,
): S {
  const { record } = input;
  const { confirmedTTL: ttl, notAfter, credentialHash } = record.status;
  const works = credentialHash !== undefined && isConfirmedSpec(record) && ttl !== undefined;
  const problem = works ? sitePolicyProblem(input) : undefined;
  if (problem === undefined || ttl === undefined) return decide(input);
  const ttlAfterLastActivity = record.kind === 'OwnedAccessKey' && notAfter === undefined && ttl > 0;
  const step = decide({ ...input, record: { ...record, ttl, ttlAfterLastActivity } });
  if (step.desired === undefined) return step;
  const { reason, message } = problem;
  return { ...step, desired: { ...step.desired, stalled: { reason, message } } };
}
