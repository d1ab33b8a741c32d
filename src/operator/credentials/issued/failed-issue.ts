import { type Commit, refuse } from '../decision.ts';
import type { CredentialRefusal } from '../desired-status.ts';
import { lineageOf } from '../lineage.ts';
import { isIntact } from '../secret-record.ts';
import type { IssueCredential, IssuedInput } from './issued-steps.ts';
import { credentialLife } from './life.ts';
import { keptStatus } from './status.ts';

/**
 * The step after an `issue` that could not be carried out. A planned renewal takes nothing away: what exists runs to its
 * end, provided that its holder can still read it. In every other case the predecessor must not live on.
 */
export function afterFailedIssue(
  input: IssuedInput,
  issue: IssueCredential,
  problem: CredentialRefusal,
): Commit {
  const { record, now } = input;
  const present = record.secretRef === undefined ? record.holdsCredential : isIntact(record, input.secret);
  const lineage = lineageOf(input);
  if (!issue.keepPrevious || !present || !('ancestors' in lineage)) return refuse(input, problem);
  const life = credentialLife(input, lineage);
  const desired = keptStatus(input, lineage, life);
  const { reason, message } = problem;
  const ends = [life.end, record.status.previous?.expirationTimestamp, now + renewalRetryMs];
  const upcoming = ends.filter((at) => at !== undefined && at > now) as number[];
  return {
    step: 'commit',
    desired: { ...desired, reconciling: { reason, message } },
    staleSecrets: [],
    requeueAt: Math.min(...upcoming),
  };
}

/** How long after a renewal that was not possible it is tried again. */
const renewalRetryMs = 60_000;
