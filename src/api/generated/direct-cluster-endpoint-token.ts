// Generated from crds/directclusterendpointtokens.yaml by `npm run generate`. Do not edit.

import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../object-meta.ts';
import type { Scope, ScopeRule } from './scope.ts';

/**
 * A signed token with an end, to connect straight to a cluster without the detour through the central platform. It works exactly as long as this object exists.
 */
export interface DirectClusterEndpointToken {
  /**
   * Version of the API, `management.platform.sh/v1`.
   */
  apiVersion: string;
  /**
   * Kind of the object, `DirectClusterEndpointToken`.
   */
  kind: string;
  metadata: ObjectMeta;
  spec: DirectClusterEndpointTokenSpec;
  status?: DirectClusterEndpointTokenStatus;
}
/**
 * Life and scope of the token. All of it may be left out.
 */
export interface DirectClusterEndpointTokenSpec {
  /**
   * Life in seconds, from the issue of the token. 0 or absent means 86400; the least is 60. A policy shortens what is above its maximum.
   */
  ttl?: number;
  /**
   * Limits what the credential may be used for. It only takes rights away; it never adds any. A request passes when any one entry allows it. Without this field nothing is narrowed. `{}` or null leaves nothing but Self and discovery. Prefer `{}` to null: in a merge patch null removes the field, and with it the restriction.
   */
  scope?: Scope | null;
  /**
   * @deprecated
   * Rules, each of which allows the requests that fit all of its fields, as in scope.rules. An empty list counts as absent. Deprecated: use projects, spaces, virtualClusters, clusters and roles of scope.
   */
  rules?: ScopeRule[];
  /**
   * @deprecated
   * Allows the reads that the command line client makes with this token, if true. Deprecated: use the role `platform-cli` of scope.
   */
  allowPlatformCli?: boolean;
  secretRef?: DirectClusterEndpointTokenSpecSecretRef;
  /**
   * Name of the parent OwnedAccessKey. Identity comes from the parent, scope and life stay within it, and this credential is refused whenever the parent is. Pinned to the parent's UID at the first issue; it never changes.
   */
  accessKey?: string;
  /**
   * Seconds before its end at which a successor is issued. Needs accessKey. Defaults to a third of the life with secretRef; otherwise, and with 0, nothing is renewed. More than half the life counts as half.
   */
  renewBefore?: number;
}
/**
 * Secret that the operator makes, owns and fills with the credential, which is then never in this object. A Secret that exists already and was not made for this object is never touched.
 */
export interface DirectClusterEndpointTokenSpecSecretRef {
  /**
   * Namespace of the Secret.
   */
  namespace: string;
  /**
   * Name of the Secret.
   */
  name: string;
  /**
   * Key within the Secret. Defaults to `token`.
   */
  key?: string;
  /**
   * Form of the Secret besides the credential. `argocd-cluster` adds the label and the entries by which Argo CD takes it for the cluster that spec.scope names, at its direct endpoint.
   */
  format?: 'argocd-cluster';
  template?: DirectClusterEndpointTokenSpecSecretRefTemplate;
}
/**
 * Labels, annotations and further entries of the Secret. A change changes the Secret in place and keeps the credential.
 */
export interface DirectClusterEndpointTokenSpecSecretRefTemplate {
  labels?: DirectClusterEndpointTokenSpecSecretRefTemplateLabels;
  annotations?: DirectClusterEndpointTokenSpecSecretRefTemplateAnnotations;
  entries?: DirectClusterEndpointTokenSpecSecretRefTemplateEntries;
}
/**
 * Labels of the Secret. Names of Latchkey and of tools that keep an inventory of what they applied are refused.
 */
export interface DirectClusterEndpointTokenSpecSecretRefTemplateLabels {
  [k: string]: string;
}
/**
 * Annotations of the Secret, at most 16 KiB in all. The same names are refused as in labels. They never hold the credential.
 */
export interface DirectClusterEndpointTokenSpecSecretRefTemplateAnnotations {
  [k: string]: string;
}
/**
 * Further data of the Secret by name, as text in which `$(credential)` stands for the credential; at most 16 KiB in all. Everyone who may read this object reads this text.
 */
export interface DirectClusterEndpointTokenSpecSecretRefTemplateEntries {
  [k: string]: string;
}
/**
 * The token, with confirmations and observations of the operator. No one else may write them.
 */
export interface DirectClusterEndpointTokenStatus {
  /**
   * State of the object in one or two words for people: Ready, Disabled, Locked, Expired, Deleting, Waiting or Refused, with the reason in brackets. Programs read the conditions.
   */
  state?: string;
  /**
   * Summary of the scope for people: names, or in brackets what has none. Programs read spec.scope.
   */
  scope?: string;
  /**
   * The signed token; absent with secretRef, after its end and when it was revoked.
   */
  token?: string;
  /**
   * Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  /**
   * The metadata.generation that the operator last reconciled; -1 before the first time.
   */
  observedGeneration?: number;
  /**
   * End of the credential by its ttl, for people to read; absent when it has no end.
   */
  expirationTimestamp?: string;
  /**
   * SHA-256, in hexadecimal, of the credential that the operator confirmed.
   */
  credentialHash?: string;
  /**
   * Hash of the parts of spec that decide rights, as the operator confirmed them. A verifier grants only while spec has this fingerprint.
   */
  fingerprint?: string;
  /**
   * Number of the issued credential; every successor has the next one.
   */
  serial?: number;
  /**
   * Hard end of the credential; absent when it has none.
   */
  notAfter?: string;
  /**
   * Life in seconds that the operator confirmed; 0 means no end.
   */
  confirmedTTL?: number;
  /**
   * UID of the parent that spec.accessKey was pinned to.
   */
  accessKeyUID?: string;
  /**
   * User who asked for the object when the operator confirmed it. With another one in the annotation `management.platform.sh/requester` it is refused.
   */
  requester?: string;
  /**
   * Groups that this credential has at most. With spec.accessKey they are those of that key that its requester may have; groups that the key gets later are asked about. Without spec.accessKey they are those that its requester had at the last issue, and never become more; absent where they are very many.
   */
  confirmedGroups?: string[];
  /**
   * First 16 hexadecimal digits of credentialHash, to name the token in talk and logs.
   */
  keyID?: string;
  /**
   * Thumbprint of the key that signed the present token, the `kid` in its header.
   */
  signingKeyID?: string;
  tokenID?: DirectClusterEndpointTokenStatusTokenID;
  /**
   * The user that the credential speaks for: of a team `team:` and its name. Of one that is refused, as far as the object itself says it.
   */
  subject?: string;
  /**
   * Audiences of the present token, as its claim `aud` says.
   */
  audiences?: string[];
  /**
   * Value of the annotation `management.platform.sh/rotate` that the operator last acted on.
   */
  observedRotation?: string;
  /**
   * Time at which the present credential was issued.
   */
  issuedAt?: string;
  previous?: DirectClusterEndpointTokenStatusPrevious;
  /**
   * UID of the Cluster that the Secret describes to Argo CD. For one that is made again under its name, another token is issued.
   */
  clusterUID?: string;
  /**
   * Marks a token whose header names its scopes in `crit`, so that a verifier which does not know them refuses it.
   */
  criticalScopes?: boolean;
  /**
   * Hash of the UIDs and fingerprints of all parents at issue; the credential works only while it is the present one.
   */
  chain?: string;
}
/**
 * ID of the present token, by which an authorization webhook knows it. Absent for a token of an earlier release, which the webhook refuses.
 */
export interface DirectClusterEndpointTokenStatusTokenID {
  /**
   * Number of the token with this ID. With another serial than that of the status it counts for nothing.
   */
  serial: number;
  /**
   * SHA-256, in base64url, of the claim `jti`.
   */
  hash: string;
}
/**
 * Predecessor that stays valid for a short time after a planned renewal; absent otherwise.
 */
export interface DirectClusterEndpointTokenStatusPrevious {
  /**
   * SHA-256, in hexadecimal, of the predecessor.
   */
  credentialHash: string;
  /**
   * Number of the predecessor.
   */
  serial: number;
  /**
   * Time from which the predecessor is refused.
   */
  expirationTimestamp: string;
  /**
   * Time at which the life of the predecessor began.
   */
  issuedAt?: string;
  /**
   * Thumbprint of the key that signed the predecessor.
   */
  signingKeyID?: string;
  /**
   * Thumbprint as in signingKeyID, in an object of an earlier release.
   */
  keyID?: string;
  tokenID?: DirectClusterEndpointTokenStatusPreviousTokenID;
}
/**
 * ID of the predecessor, as status.tokenID.
 */
export interface DirectClusterEndpointTokenStatusPreviousTokenID {
  /**
   * Number of the token with this ID.
   */
  serial: number;
  /**
   * SHA-256, in base64url, of the claim `jti`.
   */
  hash: string;
}
