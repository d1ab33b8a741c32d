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
 * How long the token lives and what it may be used for. All of it may be left out.
 */
export interface DirectClusterEndpointTokenSpec {
  /**
   * Life in seconds, from the issue of the token. 0 or absent means 86400; the least is 60. A policy shortens what is above its maximum.
   */
  ttl?: number;
  /**
   * What the credential may be used for. It only takes rights away; it never adds any. A request passes when any one entry allows it. Without this field nothing is narrowed. `{}` or null leaves nothing but Self and discovery. Prefer `{}` to null: in a merge patch null removes the field, and with it the restriction.
   */
  scope?: Scope | null;
  /**
   * @deprecated
   * use projects, spaces, virtualClusters, clusters and roles of scope. The same as scope.rules; an empty list counts as absent.
   */
  rules?: ScopeRule[];
  /**
   * @deprecated
   * use the role `platform-cli` of scope. If true, the reads that the command line client makes are allowed with this token.
   */
  allowPlatformCli?: boolean;
  secretRef?: DirectClusterEndpointTokenSpecSecretRef;
  /**
   * Addition to the contract. Name of the parent OwnedAccessKey. Identity comes from the parent, scope and life stay within it, and this credential is refused whenever the parent is. Pinned to the parent's UID at the first issue; it never changes.
   */
  accessKey?: string;
  /**
   * Addition to the contract. Seconds before its end at which a successor is issued. Needs accessKey. Defaults to a third of the life with secretRef; otherwise, and with 0, nothing is renewed. More than half the life counts as half.
   */
  renewBefore?: number;
}
/**
 * Addition to the contract. Secret that the operator makes, owns and fills with the credential, which then never stands in this object. A Secret that exists already and was not made for this object is never touched.
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
}
/**
 * The token, and what the operator confirmed and observed. No one else may write it.
 */
export interface DirectClusterEndpointTokenStatus {
  /**
   * The signed token; absent with secretRef, after its end and when it was revoked.
   */
  token?: string;
  /**
   * Addition to the contract. Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  /**
   * Addition to the contract. The metadata.generation that the operator last worked on; -1 until it did so once.
   */
  observedGeneration?: number;
  /**
   * Addition to the contract. When the credential ends by its ttl, for people to read; absent when it has no end.
   */
  expirationTimestamp?: string;
  /**
   * Addition to the contract. SHA-256, in hexadecimal, of the credential that the operator confirmed.
   */
  credentialHash?: string;
  /**
   * Addition to the contract. Hash of the parts of spec that decide rights, as the operator confirmed them. A verifier grants only while spec has this fingerprint.
   */
  fingerprint?: string;
  /**
   * Addition to the contract. Number of the issued credential; every successor has the next one.
   */
  serial?: number;
  /**
   * Addition to the contract. Hard end of the credential; absent when it has none.
   */
  notAfter?: string;
  /**
   * Addition to the contract. Life in seconds that the operator confirmed; 0 means no end.
   */
  confirmedTTL?: number;
  /**
   * Addition to the contract. UID of the parent that spec.accessKey was pinned to.
   */
  accessKeyUID?: string;
  /**
   * Addition to the contract. With spec.accessKey: of the groups of that key those that this credential may have, because its requester may. Groups that the key gets later are asked about.
   */
  confirmedGroups?: string[];
  /**
   * Addition to the contract. First 16 hexadecimal digits of credentialHash, to name the token in talk and logs.
   */
  keyID?: string;
  /**
   * Addition to the contract. Thumbprint of the key that signed the present token, the `kid` in its header.
   */
  signingKeyID?: string;
  /**
   * Addition to the contract. The user that the credential speaks for: of a team `team:` and its name. Of one that is refused, as far as the object itself says it.
   */
  subject?: string;
  /**
   * Addition to the contract. Where the present token may be used, as its claim `aud` says.
   */
  audiences?: string[];
  /**
   * Addition to the contract. Value of the annotation `management.platform.sh/rotate` that the operator last acted on.
   */
  observedRotation?: string;
  /**
   * Addition to the contract. When the present credential was issued.
   */
  issuedAt?: string;
  previous?: DirectClusterEndpointTokenStatusPrevious;
  /**
   * Addition to the contract. True when the header of the token names its scopes in `crit`, so that a verifier which does not know them refuses it.
   */
  criticalScopes?: boolean;
  /**
   * Addition to the contract. Hash of the UIDs and fingerprints of all parents at issue; the credential works only while it is the present one.
   */
  chain?: string;
}
/**
 * Addition to the contract. Predecessor that stays valid for a short time after a planned renewal; absent otherwise.
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
   * When the predecessor is refused.
   */
  expirationTimestamp: string;
  /**
   * Thumbprint of the key that signed the predecessor.
   */
  signingKeyID?: string;
  /**
   * What signingKeyID says, in an object of an earlier release.
   */
  keyID?: string;
}
