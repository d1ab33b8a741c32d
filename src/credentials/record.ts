import type { Condition } from '../api/conditions.ts';
import type { CredentialKind } from '../api/credential-kinds.ts';
import type { Identity, Refusal } from './identity.ts';
import type { SpecKey } from './keys/spec-key.ts';

/** What the operator confirmed in `status`; absent fields were never confirmed. Instants are epoch milliseconds. */
export interface Confirmation {
  readonly credentialHash?: string;
  readonly fingerprint?: string;
  readonly serial: number;
  /** The hard end. */
  readonly notAfter?: number;
  readonly issuedAt?: number;
  /** Seconds; 0: no end. -1: unreadable, so the life is over. Absent: never confirmed. */
  readonly confirmedTTL?: number;
  readonly previous?: PreviousCredential;
  readonly accessKeyUID?: string;
  readonly chain?: string;
  readonly keyID?: string;
  readonly keySource?: KeySource;
  readonly observedRotation?: string;
  readonly disabledByExpiry?: number;
  /** Access keys only, for people: whether the key granted access when this was written. */
  readonly active?: boolean;
  readonly lastActivity?: number;
  readonly expirationTimestamp?: number;
  /** Kubeconfigs only. */
  readonly auth?: KubeConfigAuth;
  /** Kubeconfigs only: SHA-256, hexadecimal, of the whole document. */
  readonly documentHash?: string;
  /** Kubeconfigs only: SHA-256, hexadecimal, of what the document says of the target. */
  readonly targetHash?: string;
  /** Kubeconfigs only: the UID of the instance that it was issued for. */
  readonly instanceUID?: string;
  /** Kubeconfigs only: serials of certificates that may be bound in the virtual cluster, the present one among them. */
  readonly boundSerials?: readonly number[];
}

export type KubeConfigAuth = 'Token' | 'ClientCertificate';

/** The part of a kubeconfig's spec that says what stands in it. */
export interface KubeConfigSpec {
  /** Name of the VirtualClusterInstance in the same namespace. */
  readonly instance: string;
  readonly clientCert: boolean;
  /** In place of the address that the platform would choose. */
  readonly server?: string;
}

export type KeySource = 'Generated' | 'Plain' | 'Hash' | 'Secret';

export interface PreviousCredential {
  readonly credentialHash: string;
  readonly serial: number;
  readonly expirationTimestamp: number;
  readonly keyID?: string;
}

export interface SecretReference {
  /** Absent on namespaced kinds: the object's own namespace. */
  readonly namespace?: string;
  readonly name: string;
  readonly key?: string;
}

/** Who the stamps of the mutating policy say asked for the object. */
export interface Requester {
  readonly user: string;
  readonly groups: readonly string[];
}

export type { CredentialKind };

/**
 * One credential object as operator and gateway keep it in memory: no prose, no managed fields, no secret.
 * Instants are epoch milliseconds.
 */
export interface CredentialRecord {
  readonly kind: CredentialKind;
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly created: number;
  /** `metadata.deletionTimestamp`. */
  readonly deleted?: number;
  readonly finalizers: readonly string[];
  readonly requester?: Requester;
  /** `name/uid` of the credential that the creating request came with. */
  readonly createdWith?: string;
  readonly rotate?: string;
  readonly ephemeral: boolean;
  /** Fingerprint of the present spec: by the present algorithm first, then the one before where there is one. */
  readonly fingerprints: readonly string[];
  readonly specKey?: SpecKey;
  /** Absent: the identity of parent or requester. */
  readonly identity?: Identity;
  /** Why this spec can never be used as it stands: an identity or a reference that is refused or cannot be read. */
  readonly problem?: Refusal;
  readonly type?: string;
  readonly disabled: boolean;
  /** Who owns `spec.disabled` by managed fields. */
  readonly disabledOwner: 'nobody' | 'operator' | 'other';
  /** True when the operator's field manager wrote the plain `spec.key`. */
  readonly keyWrittenByOperator: boolean;
  /** Seconds; 0 or absent: the default of the kind. -1: what stands there is no life time, so the life is over. */
  readonly ttl?: number;
  readonly ttlAfterLastActivity: boolean;
  /** Kubeconfigs only; seconds, as `ttl`. */
  readonly certificateTTL?: number;
  /** Kubeconfigs only. */
  readonly kubeConfig?: KubeConfigSpec;
  readonly renewBefore?: number;
  /** As it stands in spec; `undefined`: no scope. */
  readonly scope?: unknown;
  readonly rules?: readonly unknown[];
  readonly allowPlatformCli: boolean;
  readonly secretRef?: SecretReference;
  readonly accessKey?: string;
  readonly allowedNamespaces: readonly string[];
  /** True when spec still holds connectorData or tokens of oidcLogin. */
  readonly holdsLoginSecrets: boolean;
  /** True when a credential stands in status now (token or kubeConfig). */
  readonly holdsCredential: boolean;
  readonly status: Confirmation;
  readonly observedGeneration: number;
  readonly conditions: readonly Condition[];
}
