import type { Reason } from '../../../api/reasons.ts';
import type { AccessKeyLookup } from '../../../credentials/ancestors.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { SecretRecord } from '../secret-record.ts';

/**
 * All that a decision about one token or kubeconfig depends on. Instants and durations are milliseconds unless said
 * otherwise.
 */
export interface IssuedInput {
  readonly record: CredentialRecord;
  /** Access keys by name. */
  readonly lookup: AccessKeyLookup;
  /** The credential of any kind with this UID. */
  readonly credentialByUID: (uid: string) => CredentialRecord | undefined;
  /** True for the ID of a signing key that verifiers still find in the published set; of a certificate always. */
  readonly isPublished: (keyID: string) => boolean;
  /** Why the present credential must be replaced, besides what holds for all kinds. */
  readonly unfit?: Reason;
  /** The Secret at the place that `spec.secretRef` names. */
  readonly secret?: SecretRecord;
  /** All Secrets with a credential of this object, wherever they are. */
  readonly ownSecrets: readonly SecretRecord[];
  readonly now: number;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: number;
  readonly limits: IssuedLimits;
}

export interface IssuedLimits {
  readonly activityInterval: number;
  readonly expiredRetention: number;
  /** How long the predecessor of a planned renewal stays valid. */
  readonly rotationOverlap: number;
  /** The longest life that may be asked for, seconds. */
  readonly maxTTL: number;
}
