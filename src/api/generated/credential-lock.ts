// Generated from crds/credentiallocks.yaml by `npm run generate`. Do not edit.

import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../object-meta.ts';

/**
 * A stop of credentials of anybody. It deletes nothing. Credentials that still live work again when the lock is gone.
 */
export interface CredentialLock {
  /**
   * Version of the API, `management.platform.sh/v1`.
   */
  apiVersion: string;
  /**
   * Kind of the object, `CredentialLock`.
   */
  kind: string;
  metadata: ObjectMeta;
  spec: CredentialLockSpec;
  status?: CredentialLockStatus;
}
/**
 * Selection of what to stop: exactly one of user, group, requester, accessKey, credentialHash, exchange and signingKeyID, or issuedBefore alone. For several, make several locks.
 */
export interface CredentialLockSpec {
  /**
   * Reason for people, for example the number of an incident. Owners of stopped credentials do not see it.
   */
  reason?: string;
  /**
   * Name of a Kubernetes user, compared exactly. Credentials that speak for it are stopped. A team is the user `team:` and its name.
   */
  user?: string;
  /**
   * Name of a group, compared exactly. Credentials that carry it are stopped, and everything below them.
   */
  group?: string;
  /**
   * Name of a user, compared exactly. Credentials that this user asked for are stopped, for any user, and everything below them.
   */
  requester?: string;
  accessKey?: CredentialLockSpecAccessKey;
  /**
   * SHA-256 of a credential, as status.credentialHash has it or with `sha256:` in front, as spec.key has it. It is stopped in whatever object it turns up, and what is below that.
   */
  credentialHash?: string;
  exchange?: CredentialLockSpecExchange;
  /**
   * ID of a signing key, as `kid` is in the header of a token. Tokens that it signed are stopped. A successor that another key signs works.
   */
  signingKeyID?: string;
  /**
   * Time before which the life of a credential began, if the lock is to stop it. A key counts from the creation of its object, a token or kubeconfig from its issue. Alone it stops every credential of the platform that is older, and what is below these.
   */
  issuedBefore?: string;
  /**
   * End of the lock; absent for none.
   */
  expirationTimestamp?: string;
}
/**
 * An OwnedAccessKey, all credentials below it, and those that were made with it.
 */
export interface CredentialLockSpecAccessKey {
  /**
   * Name of the key. A key that is made again under this name is stopped too.
   */
  name: string;
  /**
   * UID of the key, to stop this very object alone.
   */
  uid?: string;
}
/**
 * Keys that came of an exchanged token, and what is below them.
 */
export interface CredentialLockSpecExchange {
  /**
   * Issuer of the token, compared exactly.
   */
  issuer: string;
  /**
   * Subject of the token, compared exactly; absent for all of the issuer.
   */
  subject?: string;
}
/**
 * Observations of the operator. No one else may write them.
 */
export interface CredentialLockStatus {
  /**
   * State of the object in one or two words for people: Ready, Expired or Waiting. Programs read the conditions.
   */
  state?: string;
  /**
   * Words for people about what the lock stops.
   */
  stops?: string;
  /**
   * Number of credentials that would work without locks and that it stops, counted at each change and once a minute.
   */
  stoppedCredentials?: number;
  /**
   * Time at which the operator first obeyed the lock; absent once it has ended.
   */
  inForceSince?: string;
  /**
   * Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  /**
   * The metadata.generation that the operator last reconciled; -1 before the first time.
   */
  observedGeneration?: number;
}
