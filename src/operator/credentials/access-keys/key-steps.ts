import type { SecretState } from '../../../credentials/credential-secret.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { DesiredCondition } from '../../shared/conditions.ts';
import type { CommonStep, DecisionInput } from '../decision.ts';

/** All that a decision about one access key depends on. */
export interface KeyInput extends DecisionInput {
  /** Every credential of any kind, this one included, that has the hash in its spec or in its status. */
  readonly claimants: (hash: string) => readonly CredentialRecord[];
  /** The credential that was just written to the Secret. */
  readonly written?: { readonly hash: string; readonly serial: number };
  /** Why the Secret could not be written. */
  readonly secretProblem?: DesiredCondition;
  readonly limits: KeyLimits;
}

/** Milliseconds. */
export interface KeyLimits {
  /** Between two writes of `status.lastActivity`. */
  readonly activityInterval: number;
  /** How long an ephemeral key stays after its end. */
  readonly expiredRetention: number;
}

/** Steps that only access keys have. */
export type KeyIssueStep =
  | { readonly step: 'moveLoginSecrets' }
  /** Find the UIDs that these namespaces have now, and write them to status. */
  | { readonly step: 'pinNamespaces'; readonly names: readonly string[] }
  /** Make a key and write it to `spec.key`. */
  | { readonly step: 'generateIntoSpec' }
  /** Make a key and write it to the Secret that `spec.secretRef` names. */
  | { readonly step: 'writeSecret'; readonly serial: number; readonly state: SecretState }
  /** Set `spec.disabled`, within the budget of writes for ends. */
  | { readonly step: 'disable' }
  /** Take back what `disable` set. */
  | { readonly step: 'enable' };

export type KeyStep = CommonStep | KeyIssueStep;
