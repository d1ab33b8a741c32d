import { type Reason, reasons } from '../../../api/reasons.ts';
import { chainHolds } from '../../../credentials/liveness.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { areScoped, isNarrow } from '../../../credentials/tokens/sign-token.ts';
import { effectiveScope } from '../../../scope/effective-scope.ts';
import { type GrantedLineage, hasNewGroups } from '../lineage.ts';
import { isIntact } from '../secret-record.ts';
import type { IssuedInput } from './issued-steps.ts';
import type { CredentialLife } from './life.ts';
import { signingKeyOf } from './status.ts';

/** Why a new credential is due, and what it takes over from the one before. */
export interface Successor {
  readonly cause: Reason;
  readonly keepPrevious: boolean;
  /** True when the life that began with the predecessor goes on, with the end that the present `ttl` gives it. */
  readonly sameLife: boolean;
}

/** The cause that begins a new life. */
function freshCause({ status, fingerprints, rotate }: CredentialRecord): Reason | undefined {
  if (status.fingerprint === undefined) return status.serial === 0 ? reasons.issued : reasons.confirmed;
  if (!fingerprints.includes(status.fingerprint)) return reasons.confirmed;
  return rotate !== status.observedRotation && rotate !== undefined ? reasons.rotated : undefined;
}

/**
 * Finds the first reason to replace the present credential. An ended one is issued again only for a person's
 * change of this very object: editing its parent must not revive what has ended. One without a parent never is.
 */
export function successorCause(
  input: IssuedInput,
  lineage: GrantedLineage,
  life: CredentialLife,
): Successor | undefined {
  const { record, now } = input;
  const isOver = life.end !== undefined && now >= life.end;
  if (isOver && record.accessKey === undefined) return undefined;
  const wish = freshCause(record);
  if (wish !== undefined) return { cause: wish, keepPrevious: false, sameLife: false };
  const adjusted = endAdjusted(record, life, now);
  if (adjusted !== undefined) return adjusted;
  if (life.renewAt !== undefined && now >= life.renewAt) return renewal(record, now, life);
  if (life.end === undefined || isOver) return undefined;
  return replacementCause(input, lineage);
}

/** A longer `ttl` gives the holder time to fetch the successor; a shorter one ends the predecessor at once. */
function endAdjusted(
  { status }: CredentialRecord,
  { ttl, adjustedEnd }: CredentialLife,
  now: number,
): Successor | undefined {
  const { notAfter, confirmedTTL } = status;
  if (adjustedEnd === undefined || notAfter === undefined || confirmedTTL === ttl || adjustedEnd <= now)
    return undefined;
  const keepPrevious = adjustedEnd > notAfter && status.credentialHash !== undefined;
  return { cause: reasons.confirmed, keepPrevious, sameLife: true };
}

function renewal({ status }: CredentialRecord, now: number, { end = 0 }: CredentialLife): Successor {
  const keepPrevious = status.credentialHash !== undefined && now < end;
  return { cause: reasons.renewed, keepPrevious, sameLife: false };
}

/** A lost credential is replaced for the rest of its life: deleting a Secret must not lengthen the life of its credential. */
const replacement = (cause: Reason): Successor => ({ cause, keepPrevious: false, sameLife: true });

/** A narrow token of an earlier release, which verifiers that know no scopes would take for a wide one. */
function isUnmarked({ record, issuer }: IssuedInput, ancestors: readonly CredentialRecord[]): boolean {
  const { kind, kubeConfig, status } = record;
  if (status.criticalScopes === true || kubeConfig?.clientCert === true) return false;
  // A kubeconfig is good for its instance alone.
  if (kind === 'VirtualClusterInstanceKubeConfig') return true;
  if (areScoped(status.audiences ?? [], issuer)) return false;
  return isNarrow([record, ...ancestors].map(effectiveScope));
}

function replacementCause(input: IssuedInput, lineage: GrantedLineage): Successor | undefined {
  const { record, isPublished } = input;
  const { ancestors } = lineage;
  const { status } = record;
  if (input.replaceReason !== undefined) return replacement(input.replaceReason);
  if (!chainHolds(record, ancestors)) return replacement(reasons.chainChanged);
  if (lineage.kind === 'live' && hasNewGroups(record, lineage.identity))
    return replacement(reasons.groupsAdded);
  if (status.credentialHash === undefined || isUnmarked(input, ancestors)) return replacement(reasons.issued);
  if (!isPublished(signingKeyOf(record))) return replacement(reasons.signingKeyRevoked);
  if (record.secretRef === undefined) return record.holdsCredential ? undefined : replacement(reasons.issued);
  return isIntact(record, input.secret) ? undefined : replacement(reasons.secretReplaced);
}
