import { finalizers } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { type Commit, quotaExceeded, refuse } from '../decision.ts';
import { type GrantedLineage, lineageOf, parentGrace } from '../lineage.ts';
import { staleSecrets } from '../secret-record.ts';
import { secretUpdate } from '../secret-state.ts';
import { withConfirmedLife } from '../site-policy.ts';
import { scopeRecheck } from '../unmatched-scope.ts';
import type { IssuedInput, IssuedStep } from './issued-steps.ts';
import { type CredentialLife, credentialLife } from './life.ts';
import { endedStatus, keptStatus } from './status.ts';
import { type Successor, successorCause } from './successor.ts';

/** Decides the next step of a token or kubeconfig that is not being deleted. */
export const decideIssued = (input: IssuedInput): IssuedStep => withConfirmedLife(input, decide);

function decide(input: IssuedInput): IssuedStep {
  const { record, now, limits } = input;
  if (!record.finalizers.includes(finalizers[record.kind])) return { step: 'addFinalizer' };
  const lineage = lineageOf(input);
  if (lineage.kind === 'unreviewed')
    return lacksRoom(input) ? refuse(input, quotaExceeded) : { step: 'review', review: lineage.review };
  const life = credentialLife(input, lineage);
  const ended = life.end !== undefined && now >= life.end;
  if (lineage.kind === 'blocked' && lineage.tooEarly && !ended)
    return { step: 'wait', requeueAt: now + parentGrace };
  if (record.ephemeral && life.end !== undefined && now >= life.end + limits.expiredRetention)
    return { step: 'delete' };
  return lineage.kind === 'refused' ? refuse(input, lineage.problem) : judge(input, lineage, life);
}

/** An issued credential lives already. */
const lacksRoom = ({ record, hasRoom }: IssuedInput): boolean =>
  record.status.credentialHash === undefined && !hasRoom();

function judge(input: IssuedInput, lineage: GrantedLineage, life: CredentialLife): IssuedStep {
  const { record, now } = input;
  const successor = successorCause(input, lineage, life);
  if (successor === undefined) return commitIssued(input, lineage, life);
  if (lineage.kind === 'blocked') return whileBlocked(input, lineage, life, successor);
  if (lacksRoom(input)) return refuse(input, quotaExceeded);
  return {
    step: 'issue',
    identity: lineage.identity,
    ancestors: lineage.ancestors,
    serial: record.status.serial + 1,
    issuedAt: successor.sameLife ? (record.status.issuedAt ?? now) : now,
    end: successor.sameLife ? (life.adjustedEnd ?? life.next.notAfter) : life.next.notAfter,
    ttl: life.ttl,
    cause: successor.cause,
    keepPrevious: successor.keepPrevious,
  };
}

/** Nothing is issued below a key that does not work. A credential that is still right is kept; another is dropped until then. */
function whileBlocked(
  input: IssuedInput,
  lineage: GrantedLineage & { kind: 'blocked' },
  life: CredentialLife,
  { cause, sameLife }: Successor,
): Commit {
  if (sameLife || cause === reasons.renewed) return commitIssued(input, lineage, life);
  return refuse(input, { reason: lineage.reason, message: lineage.message, final: false });
}

function commitIssued(input: IssuedInput, lineage: GrantedLineage, life: CredentialLife): Commit {
  const { record, now, limits, unmatchedScope } = input;
  const ended = life.end === undefined || now >= life.end;
  const retained = record.ephemeral && life.end !== undefined ? [life.end + limits.expiredRetention] : [];
  const candidates = [
    life.end,
    life.renewAt,
    life.expiringSoonAt,
    record.status.previous?.expirationTimestamp,
    ...scopeRecheck(unmatchedScope),
    ...retained,
  ];
  const upcoming = candidates.filter((at) => at !== undefined && Number.isFinite(at) && at > now) as number[];
  const desired = ended ? endedStatus(record, lineage, life) : keptStatus(input, lineage, life);
  return {
    step: 'commit',
    desired,
    ...(ended && life.end !== undefined ? { endedAt: life.end } : {}),
    staleSecrets: ended ? input.ownSecrets : staleSecrets(record, input.ownSecrets),
    secretUpdate: ended ? undefined : secretUpdate(input, desired),
    ...(upcoming.length === 0 ? {} : { requeueAt: Math.min(...upcoming) }),
  };
}
