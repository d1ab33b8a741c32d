import { finalizers } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { staleSecrets } from '../../credential/owned-secrets.ts';
import { type Parentage, parentageOf, parentGrace } from '../../credential/parent.ts';
import { refusalRecheck } from '../../credential/refusal-recheck.ts';
import { type RefusedFor, refusedStatus } from '../../credential/refused-status.ts';
import type { TokenInput } from './input.ts';
import { lifeOf, type TokenLife } from './life.ts';
import { endedStatus, keptStatus } from './status.ts';
import type { SettleToken, TokenStep } from './step.ts';
import { type Successor, successorCause } from './successor.ts';

type Granted = Exclude<Parentage, { kind: 'refused' }>;

/** What to do next about a token that is not being deleted. */
export function decideToken(input: TokenInput): TokenStep {
  const { record, now, limits } = input;
  if (!record.finalizers.includes(finalizers.DirectClusterEndpointToken)) return { step: 'addFinalizer' };
  const parentage = parentageOf(input);
  const life = lifeOf(input, parentage);
  const ended = life.end !== undefined && now >= life.end;
  if (parentage.kind === 'waiting' && parentage.tooEarly && !ended)
    return { step: 'wait', requeueAt: now + parentGrace };
  if (record.ephemeral && life.end !== undefined && now >= life.end + limits.expiredRetention)
    return { step: 'delete' };
  return parentage.kind === 'refused' ? refuseToken(input, parentage.problem) : judge(input, parentage, life);
}

/** A token that grants nothing, and what goes with it. */
export function refuseToken(input: TokenInput, problem: RefusedFor): SettleToken {
  return {
    step: 'settle',
    desired: refusedStatus(input.record, problem),
    staleSecrets: input.ownSecrets,
    requeueAt: input.now + refusalRecheck(problem.reason),
  };
}

function judge(input: TokenInput, parentage: Granted, life: TokenLife): TokenStep {
  const { record, now } = input;
  const successor = successorCause(input, parentage.ancestors, life);
  if (successor === undefined) return settleToken(input, parentage, life);
  if (parentage.kind === 'waiting') return wait(input, parentage, life, successor);
  return {
    step: 'issue',
    identity: parentage.identity,
    ancestors: parentage.ancestors,
    serial: record.status.serial + 1,
    issuedAt: successor.sameLife ? (record.status.issuedAt ?? now) : now,
    end: successor.sameLife ? (life.moved ?? life.next.notAfter) : life.next.notAfter,
    ttl: life.ttl,
    cause: successor.cause,
    keepPrevious: successor.keepPrevious,
  };
}

/** Nothing is issued below a key that does not work. A token that is still right is kept, another one is dropped meanwhile. */
function wait(
  input: TokenInput,
  parentage: Granted & { kind: 'waiting' },
  life: TokenLife,
  { cause, sameLife }: Successor,
): SettleToken {
  if (sameLife || cause === reasons.renewed) return settleToken(input, parentage, life);
  return refuseToken(input, { reason: reasons.accessKeyNotLive, message: parentage.message, final: false });
}

function settleToken(input: TokenInput, parentage: Granted, life: TokenLife): SettleToken {
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
    desired: ended ? endedStatus(record, life) : keptStatus(input, parentage, life),
    staleSecrets: ended ? input.ownSecrets : staleSecrets(record, input.ownSecrets),
    ...(upcoming.length === 0 ? {} : { requeueAt: Math.min(...upcoming) }),
  };
}
