import { finalizers } from './names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from './resources.ts';

export type CredentialKind =
  | 'OwnedAccessKey'
  | 'DirectClusterEndpointToken'
  | 'VirtualClusterInstanceKubeConfig';

/** What is different from one kind of credential to the next. */
export interface CredentialKindTraits {
  readonly resource: Resource;
  readonly finalizer: string;
  /** How long a deleted object may wait for its clean-up at the most; absent: as long as the setting says. */
  readonly maxFinalizationMs?: number;
  /** What people call it. */
  readonly noun: string;
  /** The field that says how long it lives. */
  readonly lifeField: string;
  /** The field of `status` with the credential itself; absent: it stands in `spec`. */
  readonly statusField?: string;
  /** The entry of the Secret with the credential, when `spec.secretRef.key` names none. */
  readonly secretEntry: string;
}

export const credentialKinds: Readonly<Record<CredentialKind, CredentialKindTraits>> = {
  OwnedAccessKey: {
    resource: ownedAccessKeys,
    finalizer: finalizers.OwnedAccessKey,
    noun: 'key',
    lifeField: 'spec.ttl',
    secretEntry: 'key',
  },
  DirectClusterEndpointToken: {
    resource: directClusterEndpointTokens,
    finalizer: finalizers.DirectClusterEndpointToken,
    maxFinalizationMs: 5_000,
    noun: 'token',
    lifeField: 'spec.ttl',
    statusField: 'token',
    secretEntry: 'token',
  },
  VirtualClusterInstanceKubeConfig: {
    resource: virtualClusterInstanceKubeConfigs,
    finalizer: finalizers.VirtualClusterInstanceKubeConfig,
    noun: 'kubeconfig',
    lifeField: 'spec.certificateTTL',
    statusField: 'kubeConfig',
    secretEntry: 'config',
  },
};

/** One value for each kind. */
export function byCredentialKind<T>(make: (kind: CredentialKind) => T): Readonly<Record<CredentialKind, T>> {
  const kinds = Object.keys(credentialKinds) as CredentialKind[];
  return Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as Record<CredentialKind, T>;
}
