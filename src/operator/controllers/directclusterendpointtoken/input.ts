import type { AccessKeyLookup } from '../../../credentials/ancestors.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { SecretRecord } from '../../credential/secret-record.ts';

/** All that a decision about one token depends on. Instants and durations are milliseconds unless said otherwise. */
export interface TokenInput {
  readonly record: CredentialRecord;
  /** Access keys by name. */
  readonly lookup: AccessKeyLookup;
  /** True for the ID of a signing key that verifiers still find in the published set. */
  readonly isPublished: (keyID: string) => boolean;
  /** The Secret at the place that `spec.secretRef` names. */
  readonly secret?: SecretRecord;
  /** All Secrets with a credential of this object, wherever they are. */
  readonly ownSecrets: readonly SecretRecord[];
  readonly now: number;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: number;
  readonly limits: TokenLimits;
}

export interface TokenLimits {
  readonly activityInterval: number;
  readonly expiredRetention: number;
  /** How long the predecessor of a planned renewal stays valid. */
  readonly rotationOverlap: number;
  /** The longest life that a token may ask for, seconds. */
  readonly maxTTL: number;
}
