import { reasons } from '../../../api/reasons.ts';
import { chainOf } from '../../../credentials/ancestors.ts';
import { credentialHash } from '../../../credentials/credential-hash.ts';
import type { Confirmation, CredentialRecord, PreviousCredential } from '../../../credentials/record.ts';
import type { DesiredStatus } from '../../credential/desired-status.ts';
import type { Parentage } from '../../credential/parent.ts';
import type { TokenInput, TokenLimits } from './input.ts';
import type { TokenLife } from './life.ts';
import type { IssueToken } from './step.ts';

const works: DesiredStatus['ready'] = {
  status: 'True',
  reason: reasons.issued,
  message: 'The token is confirmed and works.',
};

/** Status after `token`, signed by the key `keyID`, was issued for `issue`. */
export function issuedStatus(
  { record, limits, now }: TokenInput,
  issue: IssueToken,
  signed: { readonly token: string; readonly keyID: string },
): DesiredStatus {
  const [fingerprint] = record.fingerprints;
  const [parent] = issue.ancestors;
  const chain = chainOf(issue.ancestors);
  const previous = issue.keepPrevious ? previousOf(record, limits, now) : undefined;
  const confirmation: Confirmation = {
    credentialHash: credentialHash(signed.token),
    serial: issue.serial,
    notAfter: issue.end,
    expirationTimestamp: issue.end,
    issuedAt: issue.issuedAt,
    confirmedTTL: issue.ttl,
    keyID: signed.keyID,
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(parent === undefined ? {} : { accessKeyUID: parent.uid }),
    ...(chain === undefined ? {} : { chain }),
    ...(record.rotate === undefined ? {} : { observedRotation: record.rotate }),
    ...(previous === undefined ? {} : { previous }),
  };
  return { confirmation, ready: works, credential: record.secretRef === undefined ? signed.token : null };
}

function previousOf(
  { status }: CredentialRecord,
  limits: TokenLimits,
  now: number,
): PreviousCredential | undefined {
  const { credentialHash: hash, serial, notAfter, keyID } = status;
  if (hash === undefined || notAfter === undefined) return undefined;
  const expirationTimestamp = Math.min(notAfter, now + limits.rotationOverlap);
  return { credentialHash: hash, serial, expirationTimestamp, ...(keyID === undefined ? {} : { keyID }) };
}

/** Status of a token that stays as it is. */
export function keptStatus(
  { record, now, isPublished }: TokenInput,
  parentage: Exclude<Parentage, { kind: 'refused' }>,
  life: TokenLife,
): DesiredStatus {
  const { previous, ...status } = record.status;
  const keepPrevious =
    previous !== undefined &&
    previous.expirationTimestamp > now &&
    previous.keyID !== undefined &&
    isPublished(previous.keyID);
  const [fingerprint = ''] = record.fingerprints;
  const chain = chainOf(parentage.ancestors);
  const ready: DesiredStatus['ready'] =
    parentage.kind === 'waiting'
      ? { status: 'False', reason: reasons.accessKeyNotLive, message: parentage.message }
      : works;
  const soon = ready.status === 'True' && now >= life.expiringSoonAt;
  return {
    confirmation: {
      ...status,
      fingerprint,
      ...(chain === undefined ? {} : { chain }),
      ...(keepPrevious ? { previous } : {}),
    },
    ready,
    ...(soon ? { expiringSoon: expiringSoon(life) } : {}),
  };
}

const expiringSoon = ({ end = 0 }: TokenLife) => ({
  reason: reasons.expiringSoon,
  message: `The token ends at ${new Date(end).toISOString()}.`,
});

/** Status of a token whose life is over. What was confirmed stays, so that only a change of the spec issues another. */
export function endedStatus(record: CredentialRecord, life: TokenLife): DesiredStatus {
  const { credentialHash: _dead, previous: _too, ...status } = record.status;
  const ready = {
    reason: reasons.expired,
    message: 'The life of the token has ended: raise spec.ttl, or make another.',
  };
  return {
    confirmation: {
      ...status,
      confirmedTTL: life.ttl,
      ...(life.end === undefined ? {} : { notAfter: life.end, expirationTimestamp: life.end }),
    },
    ready: { status: 'False', ...ready },
    stalled: ready,
    credential: null,
  };
}
