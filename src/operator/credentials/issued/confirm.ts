import type { Outcome, ReconcilerServices } from '../credential-reconciler.ts';
import { refuse } from '../decision.ts';
import { secretRefusal } from '../desired-status.ts';
import { secretState } from '../secret-state.ts';
import type { IssuedInput, MadeCredential } from './issued-steps.ts';
import { issuedStatus } from './status.ts';

/**
 * Puts a credential where its spec says, and confirms it. The Secret is first: one that no status confirms is written
 * again, while a status without its Secret would promise what no one can read.
 */
export async function confirm<I extends IssuedInput>(
  { secrets, writer }: Pick<ReconcilerServices, 'secrets' | 'writer'>,
  input: I,
  { record, issue, issued }: MadeCredential,
): Promise<Outcome<I>> {
  const present = { ...input, record };
  const desired = issuedStatus(present, issue, issued);
  if (record.secretRef !== undefined) {
    const content = { serial: issue.serial, credential: issued.document, state: secretState(desired) };
    const problem = await secrets.write(record, content, desired.confirmation.clusterUID);
    if (problem !== undefined) return { record, commit: refuse(present, secretRefusal(problem)) };
  }
  return { record: await writer.writeStatus(record, desired, issue.cause) };
}
