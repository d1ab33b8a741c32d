import type { AccessKeyLookup } from '../../../credentials/ancestors.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { DesiredCondition } from '../../shared/conditions.ts';
import type { SecretRecord } from '../secret-record.ts';

/** All that a decision about one access key depends on. Instants and durations are milliseconds. */
export interface KeyInput {
  readonly record: CredentialRecord;
  /** Access keys by name. */
  readonly lookup: AccessKeyLookup;
  /** The credential of any kind with this UID. */
  readonly credentialByUID: (uid: string) => CredentialRecord | undefined;
  /** Every access key, this one included, that has the hash in its spec or in its status. */
  readonly claimants: (hash: string) => readonly CredentialRecord[];
  /** The Secret at the place that `spec.secretRef` names. */
  readonly secret?: SecretRecord;
  /** All Secrets with a credential of this object, wherever they are. */
  readonly ownSecrets: readonly SecretRecord[];
  /** The credential that was just written to the Secret. */
  readonly written?: { readonly hash: string; readonly serial: number };
  /** Why the Secret could not be written. */
  readonly secretProblem?: DesiredCondition;
  readonly now: number;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: number;
  readonly limits: KeyLimits;
}

export interface KeyLimits {
  /** Between two writes of `status.lastActivity`. */
  readonly activityInterval: number;
  /** How long an ephemeral key stays after its end. */
  readonly expiredRetention: number;
}
