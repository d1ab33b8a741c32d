import type { Reason } from '../../../api/reasons.ts';
import type { DesiredStatus } from '../desired-status.ts';
import type { SecretRecord } from '../secret-record.ts';

/** One step at a time: each is a single write, and the next decision reads what that write left behind. */
export type KeyStep =
  | { readonly step: 'addFinalizer' }
  | { readonly step: 'moveLoginSecrets' }
  /** Make a key and write it to `spec.key`. */
  | { readonly step: 'generateIntoSpec' }
  /** Make a key and write it to the Secret that `spec.secretRef` names. */
  | { readonly step: 'writeSecret'; readonly serial: number }
  /** Set `spec.disabled`, within the budget of writes for ends. */
  | { readonly step: 'disable' }
  /** Take back what `disable` set. */
  | { readonly step: 'enable' }
  | { readonly step: 'delete' }
  /** Do nothing before another object was looked at; its change brings this one again. */
  | { readonly step: 'wait'; readonly requeueAt: number }
  | SettleKey;

/** Nothing is left to do but to say so in status. */
export interface SettleKey {
  readonly step: 'settle';
  readonly desired: DesiredStatus;
  /** Why there is a new credential, when there is one. */
  readonly successor?: Reason;
  /** Secrets made for this credential that are not needed any more; deleted after the status is written. */
  readonly staleSecrets: readonly SecretRecord[];
  /** When to look again, epoch milliseconds. */
  readonly requeueAt?: number;
}
