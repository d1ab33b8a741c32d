import type { CredentialKind } from '../../api/credential-kinds.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import { Store } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import type { SecretRecord } from './secret-record.ts';

/** The credentials of one kind. */
interface KindStore {
  readonly store: Store<CredentialRecord>;
  /** The store and our own writes that the watch has not brought yet. */
  readonly written: MutationCache<CredentialRecord>;
}

/** What the operator knows of all credentials and of the Secrets made for them. */
export class CredentialStores {
  readonly keys = new Store<CredentialRecord>({
    uid: ({ uid }) => [uid],
    parent: ({ accessKey }) => (accessKey === undefined ? [] : [accessKey]),
    hash: ({ specKey, status }) => [
      ...new Set([specKey?.hash, status.credentialHash].filter((hash) => hash !== undefined)),
    ],
  });
  readonly tokens = new Store<CredentialRecord>({
    uid: ({ uid }) => [uid],
    parent: ({ accessKey }) => (accessKey === undefined ? [] : [accessKey]),
  });
  readonly kubeConfigs = new Store<CredentialRecord>({
    uid: ({ uid }) => [uid],
    parent: ({ accessKey }) => (accessKey === undefined ? [] : [accessKey]),
    instance: (record) => [instanceKeyOf(record)],
  });
  readonly secrets = new Store<SecretRecord>({ owner: ({ ownerUID }) => [ownerUID] });
  readonly writtenKeys: MutationCache<CredentialRecord>;
  readonly writtenTokens: MutationCache<CredentialRecord>;
  readonly writtenKubeConfigs: MutationCache<CredentialRecord>;
  readonly writtenSecrets: MutationCache<SecretRecord>;
  readonly ofKind: Readonly<Record<CredentialKind, KindStore>>;

  constructor(clock: Clock) {
    this.writtenKeys = new MutationCache(this.keys, clock);
    this.writtenTokens = new MutationCache(this.tokens, clock);
    this.writtenKubeConfigs = new MutationCache(this.kubeConfigs, clock);
    this.writtenSecrets = new MutationCache(this.secrets, clock);
    this.ofKind = {
      OwnedAccessKey: { store: this.keys, written: this.writtenKeys },
      DirectClusterEndpointToken: { store: this.tokens, written: this.writtenTokens },
      VirtualClusterInstanceKubeConfig: { store: this.kubeConfigs, written: this.writtenKubeConfigs },
    };
  }

  key(name: string): CredentialRecord | undefined {
    return this.writtenKeys.get(name);
  }

  token(name: string): CredentialRecord | undefined {
    return this.writtenTokens.get(name);
  }

  /** By `namespace/name`. */
  kubeConfig(key: string): CredentialRecord | undefined {
    return this.writtenKubeConfigs.get(key);
  }

  /** By `namespace/name`. */
  secret(key: string): SecretRecord | undefined {
    return this.writtenSecrets.get(key);
  }

  secretsOf(ownerUID: string, purpose: string): readonly SecretRecord[] {
    return this.secrets.byIndex('owner', ownerUID).filter((secret) => secret.purpose === purpose);
  }

  /** Every access key that has the hash in its spec or in its status. */
  keysByHash(hash: string): readonly CredentialRecord[] {
    return this.keys.byIndex('hash', hash);
  }

  /** Credentials of any kind that name the access key as their parent. */
  childrenOf(accessKey: string): readonly CredentialRecord[] {
    return this.credentials.flatMap((store) => store.byIndex('parent', accessKey));
  }

  /** The credential of any kind with this UID; at most one. */
  byUID(uid: string): readonly CredentialRecord[] {
    return this.credentials.flatMap((store) => store.byIndex('uid', uid));
  }

  /** Kubeconfigs for the instance, by its `namespace/name`. */
  kubeConfigsOf(instance: string): readonly CredentialRecord[] {
    return this.kubeConfigs.byIndex('instance', instance);
  }

  /** One store for each kind. */
  get credentials(): readonly Store<CredentialRecord>[] {
    return [this.keys, this.tokens, this.kubeConfigs];
  }
}

/** `namespace/name` of the VirtualClusterInstance that a kubeconfig is for. */
export function instanceKeyOf({ namespace = '', name, kubeConfig }: CredentialRecord): string {
  return `${namespace}/${kubeConfig?.instance ?? name}`;
}
