import type { Reason } from '../../../api/reasons.ts';
import type { Identity } from '../../../credentials/identity.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { DesiredStatus } from '../desired-status.ts';
import type { SecretRecord } from '../secret-record.ts';

/** One step at a time: each is a single write, and the next decision reads what that write left behind. */
export type IssuedStep =
  | { readonly step: 'addFinalizer' }
  | { readonly step: 'delete' }
  /** Do nothing before another object was looked at; its change brings this one again. */
  | { readonly step: 'wait'; readonly requeueAt: number }
  | IssueCredential
  | SettleCredential;

/** Make a credential, write it where the spec says, and confirm it. */
export interface IssueCredential {
  readonly step: 'issue';
  readonly identity: Identity;
  /** The access keys above, the parent first. */
  readonly ancestors: readonly CredentialRecord[];
  readonly serial: number;
  /** Epoch milliseconds. */
  readonly issuedAt: number;
  /** Epoch milliseconds, whole seconds. */
  readonly end: number;
  /** Seconds. */
  readonly ttl: number;
  /** Why there is a new one. */
  readonly cause: Reason;
  /** True when the predecessor stays valid for the overlap. */
  readonly keepPrevious: boolean;
}

export interface SettleCredential {
  readonly step: 'settle';
  readonly desired: DesiredStatus;
  readonly staleSecrets: readonly SecretRecord[];
  /** When to look again, epoch milliseconds. */
  readonly requeueAt?: number;
}
