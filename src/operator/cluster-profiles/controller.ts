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
  /** All of the namespace: of one that has lost its label a selector would say that it is gone. */
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
  /** UIDs of those that were made here or had our marks, by name: they stay ours without them. */
  readonly #known = new Map<string, string>();
  /** UIDs of those that are left as they are, by name, so that the log says it once. */
  readonly #left = new Map<string, string>();
  #isSynced = false;

  constructor(options: ClusterProfileControllerOptions) {
    this.#options = options;
    const { targets, profiles, enqueue } = options;
    targets.clusters.subscribe(({ previous, current }) => this.#follow(previous, current));
    targets.instances.subscribe(({ previous, current }) => this.#follow(previous, current));
    profiles.subscribe(({ previous, current }) => {
      if (current?.owner === 'latchkey') this.#known.set(current.name, current.uid);
      if (current === undefined && previous !== undefined && this.#isKnown(previous))
        this.#known.delete(previous.name);
      if (current === undefined) this.#left.delete(previous?.name ?? '');
      enqueue((current ?? previous)?.name ?? '');
    });
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
    if (present.owner === 'other' && !this.#isKnown(present)) {
      const err = new LatchkeyError('ERR_CLUSTER_PROFILE_TAKEN', { name, namespace });
      this.#leave(present, { err });
      // The target has no profile: the queue tries again, and counts it.
      throw err;
    }
    const isOfAnother = present.sourceUID !== '' && present.sourceUID !== record?.uid;
    if (isOfAnother && present.owner === 'latchkey') return this.#remove(present);
    await this.#repair(present, desired);
  }

  /** The log says once of each that it is left. */
  #leave({ name, uid }: ProfileRecord, why: object): void {
    if (this.#left.get(name) !== uid)
      this.#options.log.warn({ name, ...why }, 'a ClusterProfile is left as it is');
    this.#left.set(name, uid);
  }

  readonly #isKnown = ({ name, uid }: ProfileRecord): boolean => this.#known.get(name) === uid;

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

  /** Of a target that is gone, or was made again. A copy under another name is no one's error, and stays. */
  async #remove(present: ProfileRecord | undefined): Promise<undefined> {
    const { targets, client, namespace, log } = this.#options;
    // Where a kind is not served, that a target is missing says nothing.
    if (targets.clusters.isUnserved || targets.instances.isUnserved) return;
    if (present === undefined) return;
    const { uid, name, owner } = present;
    if (owner !== 'latchkey' && !this.#isKnown(present)) {
      if (owner === 'unnamed') this.#leave(present, { reason: 'it names no target that has this profile' });
      return;
    }
    await client
      .delete(clusterProfiles, { namespace, name }, { preconditions: { uid } })
      .catch(ignoreNotFound);
    log.info({ name, uid }, 'a ClusterProfile of no target is deleted');
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
      this.#known.set(name, made.metadata.uid);
      await this.#write(toProfileRecord(made), desired);
    } catch (error) {
      // It may be our own of a moment ago: as soon as the watch shows it, the name comes again, and its owner is known.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async #repair(present: ProfileRecord, desired: DesiredProfile): Promise<undefined> {
    const isSame = present.fingerprint === desired.fingerprint;
    if (isSame && present.hasRole) return;
    const role = present.hasRole ? undefined : await this.#owner();
    if (isSame && role === undefined) return;
    // A merge patch replaces the whole list.
    const ownerReferences = role && [...(present.otherOwners ?? []), ...role];
    await this.#write(present, desired, ownerReferences);
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

  async #write(
    { uid, resourceVersion }: ProfileRecord,
    desired: DesiredProfile,
    ownerReferences?: readonly object[],
  ): Promise<void> {
    const { client, namespace } = this.#options;
    const { name, labels, annotations, spec, status } = desired;
    const key = { namespace, name };
    const marks = defined({ labels, annotations, ownerReferences });
    const body = { metadata: { uid, resourceVersion, ...marks }, spec };
    const written = await client.mergePatch<KubeObject>(clusterProfiles, key, body, { fieldManager });
    const metadata = { uid, resourceVersion: written.metadata.resourceVersion };
    await client.mergePatch(
      clusterProfiles,
      key,
      { metadata, status },
      { fieldManager, subresource: 'status' },
    );
  }
}
