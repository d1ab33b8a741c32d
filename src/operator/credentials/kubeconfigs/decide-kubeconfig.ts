import { reasons } from '../../../api/reasons.ts';
import { type Commit, refuse } from '../decision.ts';
import type { CredentialRefusal } from '../desired-status.ts';
import { decideIssued } from '../issued/decide-issued.ts';
import type { IssueCredential, IssuedInput, IssuedStep } from '../issued/issued-steps.ts';
import { directionOf, type KubeConfigInput } from './destination.ts';
import { goneProblem, issueProblem } from './refusals.ts';

/** How long after a start the authority of a target may be unknown. */
const unknownTargetRecheckMs = 10_000;

/**
 * Decides the next step of a kubeconfig that is not being deleted: the policy of everything that is issued, and around it
 * what its virtual cluster instance says. A kubeconfig that has ended stays ended, whatever has become of its instance.
 */
export function decideKubeConfig(input: KubeConfigInput): IssuedStep {
  const step = decideIssued(withReplaceReason(input));
  if (step.step === 'issue') {
    const problem = issueProblem(input, step);
    return problem === undefined ? adjusted(input, step) : refuse(input, problem);
  }
  if (step.step !== 'commit') return step;
  if (step.desired.confirmation.credentialHash === undefined) return withRealEnd(input, step);
  const problem = goneProblem(input) ?? blockedKeyProblem(input, step);
  return problem === undefined ? recheckWhileUnknown(input, step) : refuse(input, problem);
}

/**
 * A verifier of a token asks about the keys above it, and about locks. No one does so for a certificate, so while one of them does not
 * work, or a lock stops it, the certificate must go. Another is issued for the rest of its life afterwards.
 */
function blockedKeyProblem({ record }: KubeConfigInput, { desired }: Commit): CredentialRefusal | undefined {
  const { reason, message } = desired.ready;
  const isBlocked = reason === reasons.accessKeyNotLive || reason === reasons.locked;
  return isBlocked && record.kubeConfig?.clientCert === true ? { reason, message, final: false } : undefined;
}

function withReplaceReason(input: KubeConfigInput): IssuedInput {
  const wasDirected = input.record.status.targetHash !== undefined;
  return wasDirected && directionOf(input) === 'wrong'
    ? { ...input, replaceReason: reasons.targetChanged }
    : input;
}

/**
 * A replacement ends when what it replaces would have. Of a certificate the signer may have said when, so the spec
 * alone does not tell. Otherwise deleting a Secret again and again would have it live for ever. Serials that came to nothing
 * make no first issue a later one.
 */
function adjusted({ record }: KubeConfigInput, issue: IssueCredential): IssueCredential {
  const { issuedAt, confirmedTTL, notAfter, fingerprint } = record.status;
  if (fingerprint === undefined) return { ...issue, cause: reasons.issued };
  const stillValid = issue.issuedAt === issuedAt && confirmedTTL === issue.ttl;
  if (record.kubeConfig?.clientCert !== true || !stillValid || notAfter === undefined) return issue;
  return { ...issue, end: Math.min(issue.end, notAfter) };
}

/** A shorter `certificateTTL` does not shorten the certificate: how long it must be kept unbound is not forgotten. */
function withRealEnd({ record }: KubeConfigInput, step: Commit): Commit {
  const { notAfter } = record.status;
  if (record.kubeConfig?.clientCert !== true || notAfter === undefined) return step;
  const { desired } = step;
  return { ...step, desired: { ...desired, confirmation: { ...desired.confirmation, notAfter } } };
}

/** There is no event when a target becomes known, and what has changed until then must not stay unseen. */
function recheckWhileUnknown(input: KubeConfigInput, step: Commit): Commit {
  if (directionOf(input) !== 'unknown') return step;
  const requeueAt = Math.min(step.requeueAt ?? Number.POSITIVE_INFINITY, input.now + unknownTargetRecheckMs);
  return { ...step, requeueAt };
}
