// Generated from crds/ownedaccesskeys.yaml by `npm run generate`. Do not edit.

import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../object-meta.ts';
import type { Scope } from './scope.ts';

/**
 * A key that authenticates API calls and the command line client, for people and for automation. It works exactly as long as this object exists and is enabled.
 */
export interface OwnedAccessKey {
  /**
   * Version of the API, `management.platform.sh/v1`.
   */
  apiVersion: string;
  /**
   * Kind of the object, `OwnedAccessKey`.
   */
  kind: string;
  metadata: ObjectMeta;
  spec: OwnedAccessKeySpec;
  status?: OwnedAccessKeyStatus;
}
/**
 * Identity, secret, life and scope of the key.
 */
export interface OwnedAccessKeySpec {
  /**
   * Name shown to people.
   */
  displayName?: string;
  /**
   * Purpose of the key, in free text.
   */
  description?: string;
  /**
   * The user that the key speaks for. When user, team and subject are all missing, the creator of the object. It never changes.
   */
  user?: string;
  /**
   * The team that the key speaks for: user and group `team:<name>`. It never changes.
   */
  team?: string;
  /**
   * Identity that the key speaks for, in place of a user or a team. It never changes.
   */
  subject?: string;
  /**
   * Groups that the identity gets in addition when the key is used.
   */
  groups?: string[];
  /**
   * The bearer token: the key itself (20 to 512 characters of `A-Z a-z 0-9 . _ ~ + / = -`), or `sha256:` and the SHA-256 of the key in hexadecimal, so that no secret stands here. Absent or empty, and without secretRef, the operator generates a key and writes it here.
   */
  key?: string;
  /**
   * Refuses the key, which stays stored and grants no access, if true.
   */
  disabled?: boolean;
  /**
   * Life in seconds, from the creation of the object or, with ttlAfterLastActivity, from the last use. 0 or absent means no end, unless a policy sets one.
   */
  ttl?: number;
  /**
   * Counts ttl from status.lastActivity in place of the creation of the object, if true.
   */
  ttlAfterLastActivity?: boolean;
  /**
   * Limits what the credential may be used for. It only takes rights away; it never adds any. A request passes when any one entry allows it. Without this field nothing is narrowed. `{}` or null leaves nothing but Self and discovery. Prefer `{}` to null: in a merge patch null removes the field, and with it the restriction.
   */
  scope?: Scope | null;
  /**
   * Party that manages the key. `User`: the user. `Other` and empty: no particular party. The others are set by the platform alone. `Login` is the session of a login and is deleted after its end. `Reset` is a password reset, `OIDCRefreshToken` a refresh token, `NetworkPeer` a tunnel client, `Workspace` a development workspace.
   */
  type?: '' | 'Login' | 'User' | 'Other' | 'Reset' | 'OIDCRefreshToken' | 'NetworkPeer' | 'Workspace';
  identity?: OwnedAccessKeySpecIdentity;
  /**
   * Time of the last refresh of the identity, in the place where older clients send it; the same as identity.identityRefresh.
   */
  identityRefresh?: string;
  oidcProvider?: OwnedAccessKeySpecOidcProvider;
  /**
   * @deprecated
   * Name of a key with which login data was shared. It never decides about access; the parent of a key is accessKey. Deprecated: without replacement.
   */
  parent?: string;
  oidcLogin?: OwnedAccessKeySpecOidcLogin;
  secretRef?: OwnedAccessKeySpecSecretRef;
  /**
   * Name of the parent OwnedAccessKey. Identity comes from the parent, scope and life stay within it, and this credential is refused whenever the parent is. Pinned to the parent's UID at the first issue; it never changes.
   */
  accessKey?: string;
  /**
   * Namespaces in which kubeconfigs may be created under this key.
   */
  allowedNamespaces?: string[];
  exchange?: OwnedAccessKeySpecExchange;
}
/**
 * Data about the user from single sign-on. It is stored for the platform and never decides about access.
 */
export interface OwnedAccessKeySpecIdentity {
  /**
   * Subject of the user at the identity provider.
   */
  userId?: string;
  /**
   * Name of the user at the identity provider.
   */
  username?: string;
  /**
   * Name that the user prefers to be shown.
   */
  preferredUsername?: string;
  /**
   * E-mail address of the user.
   */
  email?: string;
  /**
   * Tells whether the identity provider verified the e-mail address.
   */
  emailVerified?: boolean;
  extraClaims?: OwnedAccessKeySpecIdentityExtraClaims;
  /**
   * Groups of the user at the identity provider.
   */
  groups?: string[];
  /**
   * Name of the connector that made the key.
   */
  connector?: string;
  /**
   * Data that the connector keeps for later requests. It is moved to a Secret at once and never returned.
   */
  connectorData?: string;
  /**
   * Time of the last refresh of the identity.
   */
  identityRefresh?: string;
}
/**
 * Further claims of the identity provider, each a text, as far as the configuration lets them in.
 */
export interface OwnedAccessKeySpecIdentityExtraClaims {
  [k: string]: string;
}
/**
 * Client and login that a refresh token is for; only keys that the platform issued as identity provider have it.
 */
export interface OwnedAccessKeySpecOidcProvider {
  /**
   * Client that the token was made for.
   */
  clientId?: string;
  /**
   * Nonce of the login.
   */
  nonce?: string;
  /**
   * Redirect URI of the login.
   */
  redirectUri?: string;
  /**
   * Scopes of the login.
   */
  scopes?: string;
}
/**
 * @deprecated
 * Tokens of the login. Deprecated: use identity.
 */
export interface OwnedAccessKeySpecOidcLogin {
  /**
   * ID token of the login. It is moved to a Secret at once and never returned.
   */
  idToken?: string;
  /**
   * Access token of the login. It is moved to a Secret at once and never returned.
   */
  accessToken?: string;
  /**
   * Refresh token of the login. It is moved to a Secret at once and never returned.
   */
  refreshToken?: string;
  /**
   * Time of the last refresh of the ID token.
   */
  lastRefresh?: string;
}
/**
 * Secret that the operator makes, owns and fills with the credential, which is then never in this object. A Secret that exists already and was not made for this object is never touched.
 */
export interface OwnedAccessKeySpecSecretRef {
  /**
   * Namespace of the Secret.
   */
  namespace: string;
  /**
   * Name of the Secret.
   */
  name: string;
  /**
   * Key within the Secret. Defaults to `key`.
   */
  key?: string;
  /**
   * Form of the Secret besides the credential. `argocd-cluster` adds the label and the entries by which Argo CD takes it for a cluster.
   */
  format?: 'argocd-cluster';
  /**
   * The cluster behind the gateway that the Secret is for with format: `cluster/<name>`, `space/<project>/<name>` or `virtualcluster/<project>/<name>`.
   */
  target?: string;
  template?: OwnedAccessKeySpecSecretRefTemplate;
}
/**
 * Labels, annotations and further entries of the Secret. A change changes the Secret in place and keeps the credential.
 */
export interface OwnedAccessKeySpecSecretRefTemplate {
  labels?: OwnedAccessKeySpecSecretRefTemplateLabels;
  annotations?: OwnedAccessKeySpecSecretRefTemplateAnnotations;
  entries?: OwnedAccessKeySpecSecretRefTemplateEntries;
}
/**
 * Labels of the Secret. Names of Latchkey and of tools that keep an inventory of what they applied are refused.
 */
export interface OwnedAccessKeySpecSecretRefTemplateLabels {
  [k: string]: string;
}
/**
 * Annotations of the Secret, at most 16 KiB in all. The same names are refused as in labels. They never hold the credential.
 */
export interface OwnedAccessKeySpecSecretRefTemplateAnnotations {
  [k: string]: string;
}
/**
 * Further data of the Secret by name, as text in which `$(credential)` stands for the credential; at most 16 KiB in all. Everyone who may read this object reads this text.
 */
export interface OwnedAccessKeySpecSecretRefTemplateEntries {
  [k: string]: string;
}
/**
 * Tokens of other issuers that become short-lived children of this key, at `POST <base URL>/oauth/token`. Without key and secretRef, this key itself has no secret then.
 */
export interface OwnedAccessKeySpecExchange {
  /**
   * The longest life of a child, in seconds. Absent is 3600. A child ends no later than this key.
   */
  maxTTL?: number;
  /**
   * Tokens of trusted issuers. A token fits when it fits one entry.
   */
  tokens?: OwnedAccessKeySpecExchangeToken[];
  /**
   * ServiceAccounts of the platform's own API server, whose tokens with the base URL as audience fit.
   */
  serviceAccounts?: OwnedAccessKeySpecExchangeServiceAccount[];
}
export interface OwnedAccessKeySpecExchangeToken {
  /**
   * The claim `iss`, exactly. The setting `LATCHKEY_TRUSTED_ISSUERS` must name it, or the entry fits no token.
   */
  issuer: string;
  claims: OwnedAccessKeySpecExchangeTokenClaims;
}
/**
 * Claims that the token must have, each with exactly this text. There are no patterns. A claim that is no text fits nothing.
 */
export interface OwnedAccessKeySpecExchangeTokenClaims {
  [k: string]: string;
}
export interface OwnedAccessKeySpecExchangeServiceAccount {
  /**
   * Namespace of the ServiceAccount.
   */
  namespace: string;
  /**
   * Name of the ServiceAccount.
   */
  name: string;
}
/**
 * Confirmations and observations of the operator. No one else may write them.
 */
export interface OwnedAccessKeyStatus {
  /**
   * State of the object in one or two words for people: Ready, Disabled, Locked, Expired, Deleting, Waiting or Refused, with the reason in brackets. Programs read the conditions.
   */
  state?: string;
  /**
   * Summary of the scope for people: names, or in brackets what has none. Programs read spec.scope.
   */
  scope?: string;
  /**
   * Time of the last API call with the key.
   */
  lastActivity?: string;
  /**
   * Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  /**
   * The metadata.generation that the operator last reconciled; -1 before the first time.
   */
  observedGeneration?: number;
  /**
   * Tells whether the key granted access when the operator last checked; for people to read.
   */
  active?: boolean;
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
   * The namespaces of spec.allowedNamespaces, each with the UID that it had when the operator first saw the name there. A namespace with another UID is not allowed.
   */
  allowedNamespaces?: OwnedAccessKeyStatusAllowedNamespace[];
  /**
   * UID of the parent that spec.accessKey was pinned to.
   */
  accessKeyUID?: string;
  /**
   * User who asked for the object when the operator confirmed it. With another one in the annotation `management.platform.sh/requester` it is refused.
   */
  requester?: string;
  /**
   * Groups of the key in spec.accessKey that this credential may have, because its requester may. Groups that the key gets later are asked about.
   */
  confirmedGroups?: string[];
  /**
   * First 16 hexadecimal digits of credentialHash, to name the key in talk and logs.
   */
  keyID?: string;
  /**
   * The user that the credential speaks for: of a team `team:` and its name. Of one that is refused, as far as the object itself says it.
   */
  subject?: string;
  /**
   * Value of the annotation `management.platform.sh/rotate` that the operator last acted on.
   */
  observedRotation?: string;
  /**
   * Origin of the key: made by the operator, given in plain, given as a hash, or made by the operator in the Secret of secretRef. `Exchange`: there is none, and only tokens are exchanged.
   */
  keySource?: 'Generated' | 'Plain' | 'Hash' | 'Secret' | 'Exchange';
  /**
   * The metadata.generation at which the operator set spec.disabled because the key had ended; only then does it take that back.
   */
  disabledByExpiry?: number;
}
export interface OwnedAccessKeyStatusAllowedNamespace {
  /**
   * Name of the namespace.
   */
  name: string;
  /**
   * UID of the namespace; absent when there was no such namespace.
   */
  uid?: string;
}
