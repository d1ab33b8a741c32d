import { finalizers } from '../../../api/names.ts';
import { type Reason, reasons } from '../../../api/reasons.ts';

import type { CredentialRecord } from '../../../credentials/record.ts';
import { type Lineage, lineageOf, parentGrace } from '../lineage.ts';
import { staleSecrets } from '../owned-secrets.ts';
import { refusalRecheck } from '../refusal-recheck.ts';
import { type RefusedFor, refusedStatus } from '../refused-status.ts';
import { confirmedStatus } from './confirmed-status.ts';
import { credentialOf, type KeyCredential, rotationAsked } from './credential.ts';
import type { KeyInput } from './input.ts';
import { type KeyLife, lifeOf } from './life.ts';
import { problemOf } from './problem.ts';
import type { KeyStep, SettleKey } from './step.ts';

/** What to do next about an access key that is not being deleted. */
export function decideKey(input: KeyInput): KeyStep {
  const { record } = input;
  if (!record.finalizers.includes(finalizers.OwnedAccessKey)) return { step: 'addFinalizer' };
  if (record.holdsLoginSecrets) return { step: 'moveLoginSecrets' };
  const lineage = lineageOf(input);
  if (lineage.kind === 'waiting' && lineage.tooEarly)
    return { step: 'wait', requeueAt: input.now + parentGrace };
  const problem = problemOf(input, lineage);
  if (problem !== undefined) return refuse(input, problem);
  const credential = credentialOf(input);
  return 'step' in credential ? credential : settle(input, lineage, credential);
}

function refuse(input: KeyInput, problem: RefusedFor): SettleKey {
  return {
    step: 'settle',
    desired: refusedStatus(input.record, problem),
    staleSecrets: input.ownSecrets,
    requeueAt: input.now + refusalRecheck(problem.reason),
  };
}

function settle(input: KeyInput, lineage: Lineage, credential: KeyCredential): KeyStep {
  const { record, now } = input;
  const life = lifeOf(input, lineage);
  if (life.over && isToBeDeleted(record, life.end + input.limits.expiredRetention, now))
    return { step: 'delete' };
  if (life.over && !record.disabled && record.disabledOwner !== 'other') return { step: 'disable' };
  if (!life.over && record.disabled && record.disabledOwner === 'operator') return { step: 'enable' };
  const requeueAt = nextLook(input, life);
  return {
    step: 'settle',
    desired: confirmedStatus(input, lineage, credential, life),
    successor: successorReason(record),
    staleSecrets: staleSecrets(record, input.ownSecrets),
    ...(requeueAt === undefined ? {} : { requeueAt }),
  };
}

const successorReason = (record: CredentialRecord): Reason =>
  rotationAsked(record) ? reasons.rotated : reasons.issued;

/** Declared objects stay, so that Git and the cluster agree; what a login or a POST made goes. */
function isToBeDeleted(record: CredentialRecord, at: number, now: number): boolean {
  return (record.ephemeral || record.type === 'Login') && now >= at;
}

function nextLook(input: KeyInput, life: KeyLife): number | undefined {
  const { record, now, limits } = input;
  const retained = record.ephemeral || record.type === 'Login' ? [life.end + limits.expiredRetention] : [];
  const upcoming = [life.end, life.expiringSoonAt, ...retained].filter(
    (at) => Number.isFinite(at) && at > now,
  );
  return upcoming.length === 0 ? undefined : Math.min(...upcoming);
}
