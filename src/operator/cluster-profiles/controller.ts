import { defined } from '../../api/json.ts';
import { fieldManager, systemObjects } from '../../api/names.ts';
import { clusterProfiles, roles } from '../../api/resources.ts';
import { LatchkeyError } from '../../errors.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound, isAlreadyExists } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Logger } from '../../logger.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import type { GatewayAddress } from '../credentials/gateway-address.ts';
import {
  type DesiredProfile,
  type ProfiledRecord,
  type ProfileRecord,
  planProfile,
  profileNameOf,
  targetNameOf,
  toProfileRecord,
} from './cluster-profile.ts';

export interface ClusterProfileControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'mergePatch' | 'delete'>;
  /** Where the profiles are. */
  readonly namespace: string;
  /** All with our label. */
  readonly profiles: Store<ProfileRecord>;
  readonly targets: TargetStores;
  readonly gateway: () => GatewayAddress;
  readonly now: () => number;
  readonly log: Logger;
  /** Called with the name of a profile that may have to change. */
  readonly enqueue: (name: string) => void;
}

/** Publishes a ClusterProfile for each Cluster and VirtualClusterInstance, so that fleet tools find them. */
export class ClusterProfileController {
  readonly #options: ClusterProfileControllerOptions;
  /** The target behind the name of each profile. */
  readonly #sources = new Map<string, Pick<ProfiledRecord, 'kind' | 'key'>>();
  /** Names that an object of somebody else has, so that the log says it once. */
  readonly #taken = new Set<string>();
  #isSynced = false;

  constructor(options: ClusterProfileControllerOptions) {
    this.#options = options;
    const { targets, profiles, enqueue } = options;
    targets.clusters.subscribe(({ previous, current }) => this.#follow(previous, current));
    targets.instances.subscribe(({ previous, current }) => this.#follow(previous, current));
    profiles.subscribe(({ previous, current }) => enqueue((current ?? previous)?.name ?? ''));
  }

  /** To be called when all profiles have been read: before that, one that is missing may only be unread. */
  begin(): void {
    this.#isSynced = true;
    this.enqueueAll();
  }

  enqueueAll(): void {
    for (const name of this.#sources.keys()) this.#options.enqueue(name);
    for (const { name } of this.#options.profiles.values()) this.#options.enqueue(name);
  }

  async reconcile(name: string): Promise<undefined> {
    const gateway = this.#options.gateway();
    if (!this.#isSynced || gateway.isCAPending === true) return;
    const { profiles, namespace, now } = this.#options;
    const present = profiles.get(`${namespace}/${name}`);
    const record = this.#recordOf(name);
    const desired = record && planProfile({ record, gateway, present, now: now() });
    if (desired === undefined) return this.#remove(present);
    if (present === undefined) return this.#create(desired);
    if (!present.isOurs) return this.#reportTaken(name);
    if (present.sourceUID !== record?.uid) return this.#remove(present);
    if (present.fingerprint !== desired.fingerprint) await this.#write(present, desired);
  }

  #follow(previous: ProfiledRecord | undefined, current: ProfiledRecord | undefined): void {
    const record = current ?? previous;
    const target = record && targetNameOf(record, this.#options.gateway().projectNamespacePrefix);
    if (target === undefined || record === undefined) return;
    const name = profileNameOf(target);
    if (current === undefined) this.#sources.delete(name);
    else this.#sources.set(name, { kind: record.kind, key: record.key });
    this.#options.enqueue(name);
  }

  #recordOf(name: string): ProfiledRecord | undefined {
    const source = this.#sources.get(name);
    const { targets } = this.#options;
    if (source === undefined) return undefined;
    return source.kind === 'Cluster' ? targets.cluster(source.key) : targets.instance(source.key);
  }

  /** Of a target that is gone, or was made again. A copy under another name is of somebody else. */
  async #remove(present: ProfileRecord | undefined): Promise<undefined> {
    const { targets, client, namespace } = this.#options;
    // Where a kind is not served, that a target is missing says nothing.
    if (targets.clusters.isUnserved || targets.instances.isUnserved) return;
    if (present?.isOurs !== true) return;
    const { uid, name } = present;
    await client
      .delete(clusterProfiles, { namespace, name }, { preconditions: { uid } })
      .catch(ignoreNotFound);
  }

  async #create(desired: DesiredProfile): Promise<undefined> {
    const { client, namespace } = this.#options;
    const { name, labels, annotations, spec } = desired;
    const ownerReferences = await this.#owner();
    const metadata = { namespace, name, labels, annotations, ...defined({ ownerReferences }) };
    const { group, version, kind } = clusterProfiles;
    const object = { apiVersion: `${group}/${version}`, kind, metadata, spec };
    try {
      const made = await client.create<KubeObject>(clusterProfiles, object, { namespace, fieldManager });
      this.#taken.delete(name);
      await this.#write(toProfileRecord(made), desired);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      this.#reportTaken(name);
      throw new LatchkeyError('ERR_CLUSTER_PROFILE_TAKEN', { name, namespace }, { cause: error });
    }
  }

  /** With the Role that gives the right to write profiles, all of them go: no one could renew or delete them any more. */
  async #owner(): Promise<readonly object[] | undefined> {
    const { client, namespace } = this.#options;
    const name = systemObjects.clusterProfilesRole;
    const role = await client.get<KubeObject>(roles, { namespace, name }).catch(ignoreNotFound);
    if (role === undefined) return undefined;
    const { group, version, kind } = roles;
    return [{ apiVersion: `${group}/${version}`, kind, name, uid: role.metadata.uid }];
  }

  async #write({ uid, resourceVersion }: ProfileRecord, desired: DesiredProfile): Promise<void> {
    const { client, namespace } = this.#options;
    const { name, labels, annotations, spec, status } = desired;
    const key = { namespace, name };
    const body = { metadata: { uid, resourceVersion, labels, annotations }, spec };
    const written = await client.mergePatch<KubeObject>(clusterProfiles, key, body, { fieldManager });
    const metadata = { uid, resourceVersion: written.metadata.resourceVersion };
    await client.mergePatch(
      clusterProfiles,
      key,
      { metadata, status },
      { fieldManager, subresource: 'status' },
    );
  }

  #reportTaken(name: string): undefined {
    if (this.#taken.has(name)) return;
    this.#taken.add(name);
    const { log, namespace } = this.#options;
    log.warn({ namespace, name }, 'another object has the name of a ClusterProfile, and is left as it is');
  }
}
