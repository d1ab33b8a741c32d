import type { Condition } from '../api/conditions.ts';
import type { CredentialKind } from '../api/credential-kinds.ts';
import type { Problem } from '../api/reasons.ts';
import type { Identity } from './identity.ts';
import type { SpecKey } from './keys/spec-key.ts';
import type { SecretTemplate } from './secret-template.ts';

/** The confirmation in `status`, as verifiers need it; absent fields were never confirmed. Instants are epoch milliseconds. */
export interface LiveConfirmation {
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
  /** Signed tokens only: the `kid` in their header. */
  readonly signingKeyID?: string;
  /** Tokens only: SHA-256, base64url, of their `jti`. Absent: an earlier release issued it, with a `jti` that can be guessed. */
  readonly tokenIDHash?: string;
  /**
   * Below a key: of its groups those that this credential may have, because its requester may. Without a key above, of a token or
   * kubeconfig: the groups that its requester had at the last issue. Absent: it was confirmed by a release that did not say.
   */
  readonly confirmedGroups?: readonly string[];
  /** The user that it speaks for. */
  readonly subject?: string;
  readonly lastActivity?: number;
  /** Kubeconfigs only: the UID of the instance that it was issued for. */
  readonly instanceUID?: string;
}

/** All that the operator confirmed. */
export interface Confirmation extends LiveConfirmation {
  /** For people: what the credential is called. Of an earlier release the ID of the signing key, where there is one. */
  readonly keyID?: string;
  /** Signed tokens only, for people: where they may be used. */
  readonly audiences?: readonly string[];
  readonly keySource?: KeySource;
  /** The user who asked for it, as its annotation said at the confirmation. Absent: it was confirmed by a release that did not say. */
  readonly requester?: string;
  readonly observedRotation?: string;
  readonly disabledByExpiry?: number;
  /** Access keys only, for people: whether the key granted access when this was written. */
  readonly active?: boolean;
  readonly expirationTimestamp?: number;
  /** Kubeconfigs only. */
  readonly auth?: KubeConfigAuth;
  /** Kubeconfigs only: SHA-256, hexadecimal, of the whole document. */
  readonly documentHash?: string;
  /** Kubeconfigs only: SHA-256, hexadecimal, of what the document says of the target. */
  readonly targetHash?: string;
  /** Access keys only: the namespaces of `spec.allowedNamespaces`, each with the UID that it had when it was first seen there. */
  readonly allowedNamespaces?: readonly NamespacePin[];
  /** For people: what the scope opens. Absent: an earlier release wrote the status. */
  readonly scope?: string;
  /** For people: the conditions in a word or two; absent likewise. */
  readonly state?: string;
  /** Signed tokens only: the header says that its scopes must be understood. */
  readonly criticalScopes?: true;
  /** Tokens whose Secret describes a cluster only: the UID of the Cluster for which the right to use it was asked. */
  readonly clusterUID?: string;
  /** Kubeconfigs only: serials of certificates that may be bound in the virtual cluster, the present one among them. */
  readonly boundSerials?: readonly number[];
}

export interface NamespacePin {
  readonly name: string;
  /** Absent: there was no such namespace. */
  readonly uid?: string;
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

export type KeySource = 'Generated' | 'Plain' | 'Hash' | 'Secret' | 'Exchange';

export interface PreviousCredential {
  readonly credentialHash: string;
  readonly serial: number;
  readonly expirationTimestamp: number;
  /** Absent: an earlier release wrote the status. */
  readonly issuedAt?: number;
  /** Signed tokens only. */
  readonly signingKeyID?: string;
  /** As of the present one. */
  readonly tokenIDHash?: string;
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

/** The token that was exchanged for a key. */
export interface ExchangedFrom {
  readonly issuer: string;
  readonly subject?: string;
}

/**
 * One credential object as a verifier keeps it in memory: what decides whether it is live, for which identity, and for
 * what. At most 1 kB, because a gateway holds every one. Equal names, groups and scopes stand in memory once. Instants are
 * epoch milliseconds.
 */
export interface LiveRecord {
  readonly kind: CredentialKind;
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly created: number;
  /** `metadata.deletionTimestamp`. */
  readonly deleted?: number;
  readonly requester?: Requester;
  /** `name/uid` of the credential that the creating request came with. */
  readonly createdWith?: string;
  /** Fingerprint of the present spec: by the present algorithm first, then the one before where there is one. */
  readonly fingerprints: readonly string[];
  readonly specKey?: SpecKey;
  /** Access keys only: `spec.type`. */
  readonly type?: string;
  /** Absent: the identity of parent or requester. */
  readonly identity?: Identity;
  /** Why this spec can never be used as it stands: an identity or a reference that is refused or cannot be read. */
  readonly problem?: Problem;
  readonly disabled: boolean;
  /** Of a kubeconfig `spec.certificateTTL`. Seconds; 0 or absent: the default of the kind. -1: what stands there is no life time, so the life is over. */
  readonly ttl?: number;
  readonly ttlAfterLastActivity: boolean;
  /** Kubeconfigs only. */
  readonly kubeConfig?: KubeConfigSpec;
  /** As it stands in spec; `undefined`: no scope. */
  readonly scope?: unknown;
  readonly rules?: readonly unknown[];
  readonly allowPlatformCli: boolean;
  /** Of a verifier's record: access keys only, whose confirmation depends on it. */
  readonly secretRef?: SecretReference;
  /** Access keys only. In one place: each field takes memory of every record. */
  readonly exchange?: {
    /** `spec.exchange` as it stands there. */
    readonly trust?: unknown;
    /** The token that the key came of. */
    readonly token?: ExchangedFrom;
  };
  readonly accessKey?: string;
  readonly allowedNamespaces: readonly string[];
  readonly status: LiveConfirmation;
}

/** One credential object as the operator keeps it in memory: no prose, no managed fields, no secret. */
export interface CredentialRecord extends LiveRecord {
  readonly generation: number;
  readonly finalizers: readonly string[];
  /** How the Secret is to look besides the credential; absent: nothing is asked for. */
  readonly secretTemplate?: SecretTemplate;
  /** Who last changed what the policies judge; absent: no one since the creation. */
  readonly changedBy?: Requester;
  /** True when a limited credential made the last of these changes and went beyond its limits. */
  readonly isBeyondLimits: boolean;
  readonly rotate?: string;
  /** Access keys only: the object was made with the key of an earlier one, from a backup or as a copy. */
  readonly isRestored: boolean;
  /** Of a key that came of a token: until when that could be used once more, epoch milliseconds. */
  readonly exchangedUntil?: number;
  readonly ephemeral: boolean;
  /** Who owns `spec.disabled` by managed fields. */
  readonly disabledOwner: 'none' | 'operator' | 'other';
  /** True when the operator's field manager wrote the plain `spec.key`. */
  readonly keyWrittenByOperator: boolean;
  readonly renewBefore?: number;
  /** True when spec still holds connectorData or tokens of oidcLogin. */
  readonly holdsLoginSecrets: boolean;
  /** True when a credential stands in status now (token or kubeConfig). */
  readonly holdsCredential: boolean;
  readonly status: Confirmation;
  readonly observedGeneration: number;
  readonly conditions: readonly Condition[];
}

/**
 * A record with every member in place, `undefined` where it is absent. V8 then keeps it as a small object of one form; one that
 * is put together member by member becomes a hash table of three times the size.
 */
export type Slots<T> = {
  [K in keyof T]-?: Pick<T, K> extends Required<Pick<T, K>> ? T[K] : T[K] | undefined;
};
