import { finalizers } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { type Lineage, lineageOf, parentGrace } from '../lineage.ts';
import { staleSecrets } from '../owned-secrets.ts';
import { refusalRecheck } from '../refusal-recheck.ts';
import { type RefusedFor, refusedStatus } from '../refused-status.ts';
import type { IssuedInput } from './input.ts';
import { type CredentialLife, lifeOf } from './life.ts';
import { endedStatus, keptStatus } from './status.ts';
import type { IssuedStep, SettleCredential } from './step.ts';
import { type Successor, successorCause } from './successor.ts';

type Granted = Exclude<Lineage, { kind: 'refused' }>;

/** What to do next about a token or kubeconfig that is not being deleted. */
export function decideIssued(input: IssuedInput): IssuedStep {
  const { record, now, limits } = input;
  if (!record.finalizers.includes(finalizers[record.kind])) return { step: 'addFinalizer' };
  const lineage = lineageOf(input);
  const life = lifeOf(input, lineage);
  const ended = life.end !== undefined && now >= life.end;
  if (lineage.kind === 'waiting' && lineage.tooEarly && !ended)
    return { step: 'wait', requeueAt: now + parentGrace };
  if (record.ephemeral && life.end !== undefined && now >= life.end + limits.expiredRetention)
    return { step: 'delete' };
  return lineage.kind === 'refused' ? refuseIssued(input, lineage.problem) : judge(input, lineage, life);
}

/** A credential that grants nothing, and what goes with it. */
export function refuseIssued(input: IssuedInput, problem: RefusedFor): SettleCredential {
  return {
    step: 'settle',
    desired: refusedStatus(input.record, problem),
    staleSecrets: input.ownSecrets,
    requeueAt: input.now + refusalRecheck(problem.reason),
  };
}

function judge(input: IssuedInput, lineage: Granted, life: CredentialLife): IssuedStep {
  const { record, now } = input;
  const successor = successorCause(input, lineage.ancestors, life);
  if (successor === undefined) return settleIssued(input, lineage, life);
  if (lineage.kind === 'waiting') return wait(input, lineage, life, successor);
  return {
    step: 'issue',
    identity: lineage.identity,
    ancestors: lineage.ancestors,
    serial: record.status.serial + 1,
    issuedAt: successor.sameLife ? (record.status.issuedAt ?? now) : now,
    end: successor.sameLife ? (life.moved ?? life.next.notAfter) : life.next.notAfter,
    ttl: life.ttl,
    cause: successor.cause,
    keepPrevious: successor.keepPrevious,
  };
}

/** Nothing is issued below a key that does not work. A credential that is still right is kept, another one is dropped meanwhile. */
function wait(
  input: IssuedInput,
  lineage: Granted & { kind: 'waiting' },
  life: CredentialLife,
  { cause, sameLife }: Successor,
): SettleCredential {
  if (sameLife || cause === reasons.renewed) return settleIssued(input, lineage, life);
  return refuseIssued(input, { reason: reasons.accessKeyNotLive, message: lineage.message, final: false });
}

function settleIssued(input: IssuedInput, lineage: Granted, life: CredentialLife): SettleCredential {
  const { record, now, limits } = input;
  const ended = life.end === undefined || now >= life.end;
  const retained = record.ephemeral && life.end !== undefined ? [life.end + limits.expiredRetention] : [];
  const candidates = [
    life.end,
    life.renewAt,
    life.expiringSoonAt,
    record.status.previous?.expirationTimestamp,
    ...retained,
  ];
  const upcoming = candidates.filter((at) => at !== undefined && Number.isFinite(at) && at > now) as number[];
  return {
    step: 'settle',
    desired: ended ? endedStatus(record, life) : keptStatus(input, lineage, life),
    staleSecrets: ended ? input.ownSecrets : staleSecrets(record, input.ownSecrets),
    ...(upcoming.length === 0 ? {} : { requeueAt: Math.min(...upcoming) }),
  };
}
