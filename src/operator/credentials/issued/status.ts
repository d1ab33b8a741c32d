import { credentialKinds } from '../../../api/credential-kinds.ts';
import { formatTimestamp } from '../../../api/instant.ts';
import { defined } from '../../../api/json.ts';
import { reasons } from '../../../api/reasons.ts';
import { chainOf } from '../../../credentials/ancestors.ts';
import { keyIDOf } from '../../../credentials/keys/credential-hash.ts';
import type { Confirmation, CredentialRecord, PreviousCredential } from '../../../credentials/record.ts';
import { type DesiredStatus, requesterOf, subjectOf } from '../desired-status.ts';
import { confirmedGroupsOf, type GrantedLineage } from '../lineage.ts';
import { scopeCondition } from '../unmatched-scope.ts';
import type { IssueCredential, IssuedCredential, IssuedInput, IssuedLimits } from './issued-steps.ts';
import type { CredentialLife } from './life.ts';

/** Status after a credential was issued for `issue`. */
export function issuedStatus(
  { record, limits, now, audiences: audiencesOf, unmatchedScope }: IssuedInput,
  issue: IssueCredential,
  issued: IssuedCredential,
): DesiredStatus {
  const [fingerprint] = record.fingerprints;
  const [parent] = issue.ancestors;
  const chain = chainOf(issue.ancestors);
  const previous = issue.keepPrevious ? previousOf(record, limits, now) : undefined;
  const audiences = audiencesOf(issue.ancestors);
  const confirmation: Confirmation = {
    credentialHash: issued.credentialHash,
    serial: issue.serial,
    notAfter: issue.end,
    expirationTimestamp: issue.end,
    issuedAt: issue.issuedAt,
    confirmedTTL: issue.ttl,
    keyID: keyIDOf(issued.credentialHash),
    ...subjectOf(record, issue.identity),
    ...requesterOf(record),
    ...confirmedGroupsOf(record, issue.identity),
    ...defined({
      signingKeyID: issued.signingKeyID,
      audiences,
      fingerprint,
      accessKeyUID: parent?.uid,
      chain,
      observedRotation: record.rotate,
      previous,
    }),
    ...issued.extra,
  };
  const credential = record.secretRef === undefined ? issued.document : null;
  return { confirmation, ready: works(record), credential, ...scopeCondition(unmatchedScope, now) };
}

function works({ kind }: CredentialRecord): DesiredStatus['ready'] {
  const message = `The ${credentialKinds[kind].noun} is confirmed and works.`;
  return { status: 'True', reason: reasons.issued, message };
}

function previousOf(
  record: CredentialRecord,
  limits: IssuedLimits,
  now: number,
): PreviousCredential | undefined {
  const { credentialHash: hash, serial, notAfter, issuedAt, tokenIDHash } = record.status;
  if (hash === undefined || notAfter === undefined) return undefined;
  const expirationTimestamp = Math.min(notAfter, now + limits.rotationOverlap);
  const signingKeyID = signingKeyOf(record);
  return {
    credentialHash: hash,
    serial,
    expirationTimestamp,
    ...defined({ issuedAt, signingKeyID, tokenIDHash }),
  };
}

/** Status of a credential that stays as it is. */
export function keptStatus(input: IssuedInput, lineage: GrantedLineage, life: CredentialLife): DesiredStatus {
  const { record, now, isPublished, unmatchedScope } = input;
  const { previous, ...status } = record.status;
  const keepPrevious =
    previous !== undefined && previous.expirationTimestamp > now && isPublished(previous.signingKeyID);
  const [fingerprint = ''] = record.fingerprints;
  const chain = chainOf(lineage.ancestors);
  const ready = readyOf(record, lineage);
  const soon = ready.status === 'True' && now >= life.expiringSoonAt;
  return {
    confirmation: {
      ...status,
      fingerprint,
      ...described(input, lineage),
      ...defined({ chain }),
      ...(lineage.kind === 'live' && record.accessKey !== undefined
        ? confirmedGroupsOf(record, lineage.identity)
        : {}),
      ...(keepPrevious ? { previous } : {}),
    },
    ready,
    ...(soon ? { expiringSoon: expiringSoon(record, life) } : {}),
    ...scopeCondition(unmatchedScope, now),
  };
}

function readyOf(record: CredentialRecord, lineage: GrantedLineage): DesiredStatus['ready'] {
  if (lineage.kind === 'blocked')
    return { status: 'False', reason: lineage.reason, message: lineage.message };
  return lineage.lock === undefined ? works(record) : { status: 'False', ...lineage.lock };
}

/** Fields of a credential for people, which one of an earlier release has not or has in another place. */
function described(
  { record, unenforcedAudiences }: IssuedInput,
  lineage: GrantedLineage,
): Partial<Confirmation> {
  const { credentialHash } = record.status;
  const present = isEarlier(record.status) ? undefined : record.status.audiences;
  // Read as scoped, a narrow token without `crit` would never be replaced.
  const audiences = present ?? unenforcedAudiences(lineage.ancestors);
  const signingKeyID = signingKeyOf(record);
  return {
    ...subjectOf(record, lineage.kind === 'live' ? lineage.identity : undefined),
    ...requesterOf(record),
    ...defined({ keyID: credentialHash && keyIDOf(credentialHash), signingKeyID, audiences }),
  };
}

/** The ID of the key that signed the present token; earlier releases kept it as `keyID`. A certificate has none. */
export function signingKeyOf({ kubeConfig, status }: CredentialRecord): string | undefined {
  if (kubeConfig?.clientCert === true) return undefined;
  const { keyID, signingKeyID } = status;
  return isEarlier(status) ? keyID : (signingKeyID ?? keyID);
}

/** True of what an operator of an earlier release issued. It leaves the fields that it does not know as they were before. */
function isEarlier({ credentialHash, keyID }: Confirmation): boolean {
  return credentialHash !== undefined && keyID !== undefined && keyID !== keyIDOf(credentialHash);
}

const expiringSoon = ({ kind }: CredentialRecord, { end = 0 }: CredentialLife) => ({
  reason: reasons.expiringSoon,
  message: `The ${credentialKinds[kind].noun} ends at ${formatTimestamp(end)}.`,
});

/** Status of a credential whose life is over. What was confirmed stays, so that only a change of the spec issues another. */
export function endedStatus(
  record: CredentialRecord,
  lineage: GrantedLineage,
  life: CredentialLife,
): DesiredStatus {
  const { credentialHash: _dead, tokenIDHash: _with, previous: _too, ...status } = record.status;
  const { noun, lifeField } = credentialKinds[record.kind];
  const ready = {
    reason: reasons.expired,
    message:
      record.accessKey === undefined
        ? `The life of the ${noun} has ended: make another.`
        : `The life of the ${noun} has ended: raise ${lifeField}, or make another.`,
  };
  return {
    confirmation: {
      ...status,
      ...subjectOf(record, lineage.kind === 'live' ? lineage.identity : undefined),
      confirmedTTL: life.ttl,
      ...defined({ notAfter: life.end, expirationTimestamp: life.end }),
    },
    ready: { status: 'False', ...ready },
    stalled: ready,
    credential: null,
  };
}
