/** Differences between the kinds of credentials. */
export interface CredentialKindTraits {
  /** Its resource in the API; stands in metrics and logs too. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** The word of people for it. */
  readonly noun: string;
  /** True when Latchkey may sign it: it is judged again when the signing keys change. */
  readonly signed: boolean;
  /** How long a deleted object may wait for its clean-up at the most; absent: as long as the setting says. */
  readonly maxFinalizationMs?: number;
  /** The field that says how long it lives. */
  readonly lifeField: string;
  /** The field of `status` with the credential itself; absent: it stands in `spec`. */
  readonly statusField?: string;
  /** The entry of the Secret with the credential, when `spec.secretRef.key` names none. */
  readonly secretEntry: string;
  /** Besides name and namespace, as in its schema. */
  readonly selectableFields: readonly string[];
}

const commonFields = ['spec.accessKey', 'status.keyID'];

const table = {
  OwnedAccessKey: {
    plural: 'ownedaccesskeys',
    namespaced: false,
    noun: 'key',
    signed: false,
    lifeField: 'spec.ttl',
    secretEntry: 'key',
    selectableFields: [
      ...commonFields,
      ...['spec.user', 'spec.team', 'spec.subject', 'spec.type', 'spec.disabled'],
    ],
  },
  DirectClusterEndpointToken: {
    plural: 'directclusterendpointtokens',
    namespaced: false,
    noun: 'token',
    signed: true,
    maxFinalizationMs: 5_000,
    lifeField: 'spec.ttl',
    statusField: 'token',
    secretEntry: 'token',
    selectableFields: commonFields,
  },
  VirtualClusterInstanceKubeConfig: {
    plural: 'virtualclusterinstancekubeconfigs',
    namespaced: true,
    noun: 'kubeconfig',
    signed: true,
    lifeField: 'spec.certificateTTL',
    statusField: 'kubeConfig',
    secretEntry: 'config',
    selectableFields: [...commonFields, 'spec.virtualClusterInstance', 'spec.clientCert'],
  },
} as const satisfies Readonly<Record<string, CredentialKindTraits>>;

export type CredentialKind = keyof typeof table;
export type CredentialPlural = (typeof table)[CredentialKind]['plural'];

/**
 * The one table of the kinds of credentials. Resources, finalizers, stores, informers, queues and controllers follow
 * from it.
 */
export const credentialKinds: Readonly<
  Record<CredentialKind, CredentialKindTraits & { readonly plural: CredentialPlural }>
> = table;

export const allCredentialKinds = Object.keys(table) as readonly CredentialKind[];

/** One value for each kind. */
export function byCredentialKind<T>(make: (kind: CredentialKind) => T): Readonly<Record<CredentialKind, T>> {
  return Object.fromEntries(allCredentialKinds.map((kind) => [kind, make(kind)])) as Record<
    CredentialKind,
    T
  >;
}
