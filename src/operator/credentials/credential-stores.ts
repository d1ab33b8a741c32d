import {
  allCredentialKinds,
  byCredentialKind,
  type CredentialKind,
  credentialKinds,
} from '../../api/credential-kinds.ts';
import { defined } from '../../api/json.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import { Store, type StoreIndex } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import { isNewerVersion } from '../../kube/object.ts';
import type { LaneName } from '../../kube/queue/fair-lanes.ts';
import type { TargetName } from '../../scope/named-targets.ts';
import { OwnerQuota, ownerOf } from './owner-quota.ts';
import { endpointCluster } from './secret-layout.ts';
import type { SecretRecord } from './secret-record.ts';
import { scopeNames } from './unmatched-scope.ts';

/** The credentials of one kind. */
interface KindStore {
  readonly store: Store<CredentialRecord>;
  /** The store and our own writes that the watch has not brought yet. */
  readonly written: MutationCache<CredentialRecord>;
  readonly quota: OwnerQuota;
}

type Indexes = Readonly<Record<string, StoreIndex<CredentialRecord>>>;

/** How the credentials of a kind are found, besides by UID, by parent and by hash. */
const indexes: Readonly<Partial<Record<CredentialKind, Indexes>>> = {
  DirectClusterEndpointToken: {
    described: (record) => {
      const cluster = endpointCluster(record);
      return cluster === undefined ? [] : [cluster];
    },
  },
  VirtualClusterInstanceKubeConfig: { instance: (record) => [instanceKeyOf(record)] },
};

/** All credentials, and the Secrets made for them, as the operator knows them. */
export class CredentialStores {
  readonly ofKind: Readonly<Record<CredentialKind, KindStore>>;
  readonly keys: Store<CredentialRecord>;
  readonly kubeConfigs: Store<CredentialRecord>;
  readonly secrets = new Store<SecretRecord>({ owner: ({ ownerUID }) => [ownerUID] });
  readonly writtenSecrets: MutationCache<SecretRecord>;
  /** The contents of Secrets that were read since the watch brought them. */
  readonly #contents = new WeakMap<SecretRecord, SecretRecord>();

  /** `maxPerOwner`: live objects of one kind; 0: no bound. */
  constructor(clock: Clock, maxPerOwner = 0) {
    this.ofKind = byCredentialKind((kind) => {
      const store = new Store<CredentialRecord>({
        uid: ({ uid }) => [uid],
        parent: ({ accessKey }) => (accessKey === undefined ? [] : [accessKey]),
        hash: hashesOf,
        scopeName: scopeNames,
        ...indexes[kind],
      });
      const quota = new OwnerQuota(store, maxPerOwner);
      return { store, written: new MutationCache(store, clock), quota };
    });
    this.keys = this.ofKind.OwnedAccessKey.store;
    this.kubeConfigs = this.ofKind.VirtualClusterInstanceKubeConfig.store;
    this.writtenSecrets = new MutationCache(this.secrets, clock);
  }

  key(name: string): CredentialRecord | undefined {
    return this.ofKind.OwnedAccessKey.written.get(name);
  }

  /** Whose object it is, so that owners take turns; empty when it is gone. */
  ownerOf(kind: CredentialKind, key: string): LaneName {
    const record = this.ofKind[kind].store.get(key);
    return record === undefined ? '' : ownerOf(record, (name) => this.keys.get(name));
  }

  /** By `namespace/name`. */
  kubeConfig(key: string): CredentialRecord | undefined {
    return this.ofKind.VirtualClusterInstanceKubeConfig.written.get(key);
  }

  /** By `namespace/name`. */
  secret(key: string): SecretRecord | undefined {
    const known = this.writtenSecrets.get(key);
    return known && (this.#contents.get(known) ?? known);
  }

  /** The Secret was read. What the watch has brought since is another one. */
  rememberContent({ key, uid, resourceVersion, hashes = noEntries, ...read }: SecretRecord): void {
    const known = this.writtenSecrets.get(key);
    if (known?.uid !== uid || isNewerVersion(known.resourceVersion, resourceVersion)) return;
    const { followsLayout } = read;
    this.#contents.set(known, { ...known, hashes, ...defined({ followsLayout }) });
  }

  /**
   * The Secrets made for an object. One that the watch has not brought yet counts too: as our own write it enqueues nothing
   * when it comes, so one that is missed here would be left behind.
   */
  secretsOf(ownerUID: string): readonly SecretRecord[] {
    const known = this.secrets.byIndex('owner', ownerUID);
    const pending = this.writtenSecrets.pending().filter((secret) => secret.ownerUID === ownerUID);
    const isPending = ({ key }: SecretRecord) => pending.some((secret) => secret.key === key);
    const isThere = (secret: SecretRecord) => !isPending(secret) && !this.writtenSecrets.isGone(secret);
    return [...known.filter(isThere), ...pending];
  }

  /**
   * Every credential that has the hash in its spec or in its status. A token can be presented as soon as its status is
   * written, so one that the watch has not brought yet counts too.
   */
  byHash(hash: string): readonly CredentialRecord[] {
    const known = this.credentials.flatMap((store) => store.byIndex('hash', hash));
    const uids = new Set(known.map(({ uid }) => uid));
    const pending = allCredentialKinds.flatMap((kind) => this.ofKind[kind].written.pending());
    return [
      ...known,
      ...pending.filter((record) => !uids.has(record.uid) && hashesOf(record).includes(hash)),
    ];
  }

  /** Credentials of any kind that name the access key as their parent. */
  childrenOf(accessKey: string): readonly CredentialRecord[] {
    return this.credentials.flatMap((store) => store.byIndex('parent', accessKey));
  }

  /** Credentials of any kind whose scope has the name of a target. */
  inScope(name: TargetName): readonly CredentialRecord[] {
    return this.credentials.flatMap((store) => store.byIndex('scopeName', name));
  }

  /** The credential of any kind with this UID; at most one. */
  byUID(uid: string): readonly CredentialRecord[] {
    return this.credentials.flatMap((store) => store.byIndex('uid', uid));
  }

  /** Tokens whose Secrets describe this cluster. */
  tokensDescribing(cluster: string): readonly CredentialRecord[] {
    return this.ofKind.DirectClusterEndpointToken.store.byIndex('described', cluster);
  }

  /** Kubeconfigs for the instance, by its `namespace/name`. */
  kubeConfigsOf(instance: string): readonly CredentialRecord[] {
    return this.kubeConfigs.byIndex('instance', instance);
  }

  /** For the log. */
  get sizes(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      allCredentialKinds.map((kind) => [`${credentialKinds[kind].noun}s`, this.ofKind[kind].store.size]),
    );
  }

  /** One store for each kind. */
  get credentials(): readonly Store<CredentialRecord>[] {
    return allCredentialKinds.map((kind) => this.ofKind[kind].store);
  }
}

const noEntries: ReadonlyMap<string, string> = new Map();

function hashesOf({ specKey, status }: CredentialRecord): readonly string[] {
  const { credentialHash, previous } = status;
  const hashes = [specKey?.hash, credentialHash, previous?.credentialHash];
  return [...new Set(hashes.filter((hash) => hash !== undefined))];
}

/** `namespace/name` of the VirtualClusterInstance that a kubeconfig is for. */
export function instanceKeyOf({ namespace = '', name, kubeConfig }: CredentialRecord): string {
  return `${namespace}/${kubeConfig?.instance ?? name}`;
}
