import { reasons } from '../../../api/reasons.ts';
import type { IssuedInput } from '../issued/input.ts';
import { lifeOf } from '../issued/life.ts';
import { decideIssued, refuseIssued } from '../issued/policy.ts';
import { keptStatus } from '../issued/status.ts';
import type { IssueCredential, IssuedStep, SettleCredential } from '../issued/step.ts';
import { lineageOf } from '../lineage.ts';
import { isIntact } from '../owned-secrets.ts';
import type { RefusedFor } from '../refused-status.ts';
import { directionOf } from './destination.ts';
import type { KubeConfigInput } from './input.ts';
import { goneProblem, issueProblem } from './refusals.ts';

/** How long after a start the authority of a target may be unknown; milliseconds. */
const unknownTargetRecheck = 10_000;

/**
 * What to do next about a kubeconfig that is not being deleted: the policy of everything that is issued, and around it
 * what its virtual cluster instance says. A kubeconfig that has ended stays ended, whatever has become of its instance.
 */
export function decideKubeConfig(input: KubeConfigInput): IssuedStep {
  const step = decideIssued(withUnfit(input));
  if (step.step === 'issue') {
    const problem = issueProblem(input, step);
    return problem === undefined ? adjusted(input, step) : refuseIssued(input, problem);
  }
  if (step.step !== 'settle') return step;
  if (step.desired.confirmation.credentialHash === undefined) return withRealEnd(input, step);
  const problem = goneProblem(input) ?? sleepingKeyProblem(input, step);
  return problem === undefined ? lookAgainWhileUnknown(input, step) : refuseIssued(input, problem);
}

/**
 * Whoever checks a token asks about the keys above it. Nobody does so for a certificate, so while one of them does not
 * work the certificate must go; another is issued for the rest of its life afterwards.
 */
function sleepingKeyProblem(
  { record }: KubeConfigInput,
  { desired }: SettleCredential,
): RefusedFor | undefined {
  const { reason, message } = desired.ready;
  const sleeps = record.kubeConfig?.clientCert === true && reason === reasons.accessKeyNotLive;
  return sleeps ? { reason, message, final: false } : undefined;
}

/**
 * What follows when `issue` could not be carried out. A planned renewal takes nothing away: what exists runs to its
 * end, provided that its holder can still read it. In every other case the predecessor must not live on.
 */
export function insteadOf(
  input: KubeConfigInput,
  issue: IssueCredential,
  problem: RefusedFor,
): SettleCredential {
  const { record, now } = input;
  const present = record.secretRef === undefined ? record.holdsCredential : isIntact(record, input.secret);
  const lineage = lineageOf(input);
  if (!issue.keepPrevious || !present || lineage.kind === 'refused') return refuseIssued(input, problem);
  const life = lifeOf(input, lineage);
  const desired = keptStatus(input, lineage, life);
  const { reason, message } = problem;
  const ends = [life.end, record.status.previous?.expirationTimestamp, now + renewalRetry];
  const upcoming = ends.filter((at) => at !== undefined && at > now) as number[];
  return {
    step: 'settle',
    desired: { ...desired, reconciling: { reason, message } },
    staleSecrets: [],
    requeueAt: Math.min(...upcoming),
  };
}

/** How long after a renewal that was not possible it is tried again, milliseconds. */
const renewalRetry = 60_000;

function withUnfit(input: KubeConfigInput): IssuedInput {
  const wasDirected = input.record.status.targetHash !== undefined;
  return wasDirected && directionOf(input) === 'wrong' ? { ...input, unfit: reasons.targetChanged } : input;
}

/**
 * A replacement ends when what it replaces would have. Of a certificate the signer may have said when, so the spec
 * alone does not tell: who deletes a Secret again and again would have it live for ever. Serials that came to nothing
 * make no first issue a later one.
 */
function adjusted({ record }: KubeConfigInput, issue: IssueCredential): IssueCredential {
  const { issuedAt, confirmedTTL, notAfter, fingerprint } = record.status;
  if (fingerprint === undefined) return { ...issue, cause: reasons.issued };
  const goesOn = issue.issuedAt === issuedAt && confirmedTTL === issue.ttl;
  if (record.kubeConfig?.clientCert !== true || !goesOn || notAfter === undefined) return issue;
  return { ...issue, end: Math.min(issue.end, notAfter) };
}

/** A shorter `certificateTTL` does not shorten the certificate: how long it must be kept unbound is not forgotten. */
function withRealEnd({ record }: KubeConfigInput, step: SettleCredential): SettleCredential {
  const { notAfter } = record.status;
  if (record.kubeConfig?.clientCert !== true || notAfter === undefined) return step;
  const { desired } = step;
  return { ...step, desired: { ...desired, confirmation: { ...desired.confirmation, notAfter } } };
}

/** Nobody tells when a target becomes known, and what has changed meanwhile must not stay unseen. */
function lookAgainWhileUnknown(input: KubeConfigInput, step: SettleCredential): SettleCredential {
  if (directionOf(input) !== 'unknown') return step;
  const requeueAt = Math.min(step.requeueAt ?? Number.POSITIVE_INFINITY, input.now + unknownTargetRecheck);
  return { ...step, requeueAt };
}
