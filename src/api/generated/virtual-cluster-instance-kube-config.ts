// Generated from crds/virtualclusterinstancekubeconfigs.yaml by `npm run generate`. Do not edit.

import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../object-meta.ts';

/**
 * A kubeconfig for a virtual cluster instance of the same namespace. What it holds works exactly as long as this object exists.
 */
export interface VirtualClusterInstanceKubeConfig {
  /**
   * Version of the API, `management.platform.sh/v1`.
   */
  apiVersion: string;
  /**
   * Kind of the object, `VirtualClusterInstanceKubeConfig`.
   */
  kind: string;
  metadata: ObjectMeta;
  spec: VirtualClusterInstanceKubeConfigSpec;
  status?: VirtualClusterInstanceKubeConfigStatus;
}
/**
 * Which instance, and how the kubeconfig authenticates. All of it may be left out.
 */
export interface VirtualClusterInstanceKubeConfigSpec {
  /**
   * Life in seconds of the certificate, or of the token, in the kubeconfig. Absent means 86400. 0 asks the signer for no particular life, which is one year as a rule. For a token it means one year or the maximum of a policy. Otherwise at least 60, with clientCert at least 600.
   */
  certificateTTL?: number;
  /**
   * Address of the server in the kubeconfig, in place of the one that the platform would choose: an https URL without user name and password.
   */
  server?: string;
  /**
   * If true, the kubeconfig holds a client certificate of the virtual cluster in place of a platform token. It never changes.
   */
  clientCert?: boolean;
  /**
   * Addition to the contract. Name of the virtual cluster instance in the same namespace. Defaults to metadata.name; it never changes.
   */
  virtualClusterInstance?: string;
  secretRef?: VirtualClusterInstanceKubeConfigSpecSecretRef;
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
 * Addition to the contract. Secret in the same namespace that the operator makes, owns and fills with the credential, which then never stands in this object. A Secret that exists already and was not made for this object is never touched.
 */
export interface VirtualClusterInstanceKubeConfigSpecSecretRef {
  /**
   * Name of the Secret.
   */
  name: string;
  /**
   * Key within the Secret. Defaults to `config`.
   */
  key?: string;
}
/**
 * The kubeconfig, and what the operator confirmed and observed. No one else may write it.
 */
export interface VirtualClusterInstanceKubeConfigStatus {
  /**
   * The finished kubeconfig document, as YAML; absent with secretRef, after its end and when it was revoked.
   */
  kubeConfig?: string;
  /**
   * Addition to the contract. Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  /**
   * Addition to the contract. The metadata.generation that the operator last worked on; -1 until it did so once.
   */
  observedGeneration?: number;
  /**
   * Addition to the contract. What the kubeconfig authenticates with; for people to read.
   */
  auth?: 'Token' | 'ClientCertificate';
  /**
   * Addition to the contract. SHA-256, in hexadecimal, of the whole kubeconfig document.
   */
  documentHash?: string;
  /**
   * Addition to the contract. SHA-256, in hexadecimal, of what the kubeconfig says of its target: address, certificate authority and, with a certificate, the role inside. When these change, another is issued.
   */
  targetHash?: string;
  /**
   * Addition to the contract. UID of the virtual cluster instance that the kubeconfig was pinned to at its first issue.
   */
  virtualClusterInstanceUID?: string;
  /**
   * Addition to the contract. Serials of client certificates that may have a binding or a signing request in the virtual cluster.
   */
  boundSerials?: number[];
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
   * Addition to the contract. First 16 hexadecimal digits of credentialHash, to name the credential in talk and logs.
   */
  keyID?: string;
  /**
   * Addition to the contract. Thumbprint of the key that signed the present token, the `kid` in its header. Absent with a certificate.
   */
  signingKeyID?: string;
  /**
   * Addition to the contract. The user that the credential speaks for: of a team `team:` and its name. Of one that is refused, as far as the object itself says it.
   */
  subject?: string;
  /**
   * Addition to the contract. Where the present token may be used, as its claim `aud` says. Absent with a certificate.
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
  previous?: VirtualClusterInstanceKubeConfigStatusPrevious;
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
export interface VirtualClusterInstanceKubeConfigStatusPrevious {
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
