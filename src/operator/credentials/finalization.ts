import type { CredentialRecord } from '../../credentials/record.ts';

/** What is left to do before the finalizer of a deleted credential may go. Instants are epoch milliseconds. */
export interface Finalization {
  readonly deleteChildren: readonly CredentialRecord[];
  /** `done`: nothing is left. `limit`: something is, and the time is up. */
  readonly release?: 'done' | 'limit';
  /** When to look again at the latest. */
  readonly deadline: number;
}

export interface FinalizationInput {
  readonly record: CredentialRecord;
  /** Credentials that name this one as their access key. */
  readonly children: readonly CredentialRecord[];
  /** The Secrets that were made for this credential and still exist. */
  readonly secrets: readonly unknown[];
  readonly now: number;
  /** Since when somebody could clean up: time without an operator does not count. */
  readonly since: number;
  readonly limitMs: number;
}

/**
 * Finalizers only clean up; the credential itself died with the deletion timestamp. They therefore never block for
 * good: at the limit the object goes and what is left is reported.
 */
export function finalizationOf({
  record,
  children,
  secrets,
  now,
  since,
  limitMs,
}: FinalizationInput): Finalization {
  const deadline = Math.max(record.deleted ?? now, since) + limitMs;
  const pinned = children.filter((child) => child.status.accessKeyUID === record.uid);
  const deleteChildren = pinned.filter((child) => child.ephemeral && child.deleted === undefined);
  const waiting = pinned.filter((child) => child.ephemeral || !hasLostItsCredential(child));
  const left = waiting.length + secrets.length;
  const release = left === 0 ? 'done' : now >= deadline ? 'limit' : undefined;
  return { deleteChildren, deadline, ...(release === undefined ? {} : { release }) };
}

/** Whatever the reason that it gives: a child without a credential has nothing of its parent any more. */
function hasLostItsCredential(child: CredentialRecord): boolean {
  return child.deleted !== undefined || child.status.credentialHash === undefined;
}
