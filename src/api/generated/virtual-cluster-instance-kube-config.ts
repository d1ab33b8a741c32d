// Generated from crds/virtualclusterinstancekubeconfigs.yaml by `npm run generate`. Do not edit.

import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../object-meta.ts';

/**
 * A kubeconfig for a virtual cluster instance of the same namespace. Its credential works exactly as long as this object exists.
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
 * Instance and authentication of the kubeconfig. All of it may be left out.
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
   * Puts a client certificate of the virtual cluster into the kubeconfig, in place of a platform token, if true. It never changes.
   */
  clientCert?: boolean;
  /**
   * Name of the virtual cluster instance in the same namespace. Defaults to metadata.name; it never changes.
   */
  virtualClusterInstance?: string;
  secretRef?: VirtualClusterInstanceKubeConfigSpecSecretRef;
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
 * Secret in the same namespace that the operator makes, owns and fills with the credential, which is then never in this object. A Secret that exists already and was not made for this object is never touched.
 */
export interface VirtualClusterInstanceKubeConfigSpecSecretRef {
  /**
   * Name of the Secret.
   */
  name: string;
  /**
   * Key within the Secret. Defaults to `config`, and to `kubeconfig` with format.
   */
  key?: string;
  /**
   * Form of the Secret besides the credential. `argocd-cluster` adds the label and the entries by which Argo CD takes it for a cluster.
   */
  format?: 'argocd-cluster';
  template?: VirtualClusterInstanceKubeConfigSpecSecretRefTemplate;
}
/**
 * Labels, annotations and further entries of the Secret. A change changes the Secret in place and keeps the credential.
 */
export interface VirtualClusterInstanceKubeConfigSpecSecretRefTemplate {
  labels?: VirtualClusterInstanceKubeConfigSpecSecretRefTemplateLabels;
  annotations?: VirtualClusterInstanceKubeConfigSpecSecretRefTemplateAnnotations;
  entries?: VirtualClusterInstanceKubeConfigSpecSecretRefTemplateEntries;
}
/**
 * Labels of the Secret. Names of Latchkey and of tools that keep an inventory of what they applied are refused.
 */
export interface VirtualClusterInstanceKubeConfigSpecSecretRefTemplateLabels {
  [k: string]: string;
}
/**
 * Annotations of the Secret, at most 16 KiB in all. The same names are refused as in labels. They never hold the credential.
 */
export interface VirtualClusterInstanceKubeConfigSpecSecretRefTemplateAnnotations {
  [k: string]: string;
}
/**
 * Further data of the Secret by name, as text in which `$(credential)` stands for the credential; at most 16 KiB in all. Everyone who may read this object reads this text.
 */
export interface VirtualClusterInstanceKubeConfigSpecSecretRefTemplateEntries {
  [k: string]: string;
}
/**
 * The kubeconfig, with confirmations and observations of the operator. No one else may write them.
 */
export interface VirtualClusterInstanceKubeConfigStatus {
  /**
   * State of the object in one or two words for people: Ready, Disabled, Locked, Expired, Deleting, Waiting or Refused, with the reason in brackets. Programs read the conditions.
   */
  state?: string;
  /**
   * The finished kubeconfig document, as YAML; absent with secretRef, after its end and when it was revoked.
   */
  kubeConfig?: string;
  /**
   * Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  /**
   * The metadata.generation that the operator last reconciled; -1 before the first time.
   */
  observedGeneration?: number;
  /**
   * Kind of credential in the kubeconfig; for people to read.
   */
  auth?: 'Token' | 'ClientCertificate';
  /**
   * SHA-256, in hexadecimal, of the whole kubeconfig document.
   */
  documentHash?: string;
  /**
   * SHA-256, in hexadecimal, of what the kubeconfig says of its target: address, certificate authority and, with a certificate, the role inside. When these change, another is issued.
   */
  targetHash?: string;
  /**
   * UID of the virtual cluster instance that the kubeconfig was pinned to at its first issue.
   */
  virtualClusterInstanceUID?: string;
  /**
   * Serials of client certificates that may have a binding or a signing request in the virtual cluster.
   */
  boundSerials?: number[];
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
   * First 16 hexadecimal digits of credentialHash, to name the credential in talk and logs.
   */
  keyID?: string;
  /**
   * Thumbprint of the key that signed the present token, the `kid` in its header. Absent with a certificate.
   */
  signingKeyID?: string;
  /**
   * The user that the credential speaks for: of a team `team:` and its name. Of one that is refused, as far as the object itself says it.
   */
  subject?: string;
  /**
   * Audiences of the present token, as its claim `aud` says. Absent with a certificate.
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
  previous?: VirtualClusterInstanceKubeConfigStatusPrevious;
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
 * Predecessor that stays valid for a short time after a planned renewal; absent otherwise.
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
}
