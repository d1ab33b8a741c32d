import { allCredentialKinds, type CredentialKind, credentialKinds } from '../../api/credential-kinds.ts';
import { labels, purposes, systemNamespace, systemObjects } from '../../api/names.ts';
import {
  clusters,
  configMaps,
  credentialResources,
  namespaces,
  type Resource,
  secrets,
  spaceInstances,
  virtualClusterInstances,
} from '../../api/resources.ts';
import { toCredentialRecord } from '../../credentials/credential-record.ts';
import { toLockRecord } from '../../credentials/locks/lock-record.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { ReflectorClient } from '../../kube/cache/reflector-options.ts';
import type { Store, StoredRecord } from '../../kube/cache/store.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import type { InformerSource, Informers } from '../../platform/informers.ts';
import { type SitePolicyRecord, sitePolicySource } from '../../platform/site-policy.ts';
import { toProjectRecord } from '../../platform/targets/project-record.ts';
import { toClusterRecord, toInstanceRecord, toSpaceRecord } from '../../platform/targets/target-record.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import type { RevocationRecord } from '../certificates/revocation-records.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { toSecretMetadata } from '../credentials/secret-record.ts';
import type { LockStore } from '../locks/lock-store.ts';
import { controllerNames } from './queues.ts';

/** Where what is watched is kept. */
export interface WatchedStores {
  readonly stores: CredentialStores;
  readonly targets: TargetStores;
  readonly locks: LockStore;
  /** In the system namespace. */
  readonly system: {
    readonly signingKeys: Store<StoredRecord>;
    readonly discovery: Store<StoredRecord>;
    readonly gatewayCertificate: Store<StoredRecord>;
    readonly gatewayAuthority: Store<StoredRecord>;
    readonly revocations: Store<RevocationRecord>;
    readonly sitePolicy: Store<SitePolicyRecord>;
  };
  readonly readRevocation: (object: KubeObject) => RevocationRecord | undefined;
}

/** As they stand in metrics and checks. */
export const informerNames = [
  ...controllerNames,
  'secrets',
  'discovery',
  'gateway-authority',
  'site-policy',
  'projects',
] as const;

/** Everything that the operator watches. `metadata`: a client that reads nothing else of an object. */
export function addInformers(informers: Informers, watched: WatchedStores, metadata: ReflectorClient): void {
  const { stores, targets, locks, system } = watched;
  const add: Add = (name, source) => informers.add(name, source);
  addCredentials(add, stores, metadata);
  addTargets(add, targets);
  add('credentiallocks', {
    ...locks.source(),
    mayBeUnserved: true,
    toRecord: (object) => ownWrite(object, locks.written) ?? toLockRecord(object),
  });
  add('signing-keys', { ...named(secrets, systemObjects.signingKeys), store: system.signingKeys });
  add('revocations', {
    resource: configMaps,
    namespace: systemNamespace,
    labelSelector: `${labels.purpose}=${purposes.revocation}`,
    store: system.revocations,
    toRecord: (object) => watched.readRevocation(object),
  });
  add('discovery', { ...named(configMaps, systemObjects.discovery), store: system.discovery });
  add('gateway-certificate', {
    ...named(secrets, systemObjects.gatewayCertificate),
    store: system.gatewayCertificate,
  });
  add('gateway-authority', {
    ...named(secrets, systemObjects.gatewayAuthority),
    store: system.gatewayAuthority,
  });
  add('site-policy', sitePolicySource(system.sitePolicy));
}

type InformerName = (typeof informerNames)[number];

type Add = <R extends StoredRecord>(name: InformerName, source: InformerSource<R>) => void;

function addCredentials(add: Add, stores: CredentialStores, client: ReflectorClient): void {
  for (const kind of allCredentialKinds) addCredential(add, stores, kind);
  add('secrets', {
    // Anyone who makes Secrets may label them. Their content is read when it counts, one at a time.
    client,
    resource: secrets,
    labelSelector: labels.ownerUID,
    store: stores.secrets,
    toRecord: (object) => ownWrite(object, stores.writtenSecrets) ?? toSecretMetadata(object),
  });
}

function addTargets(add: Add, targets: TargetStores): void {
  add('virtualclusterinstances', {
    resource: virtualClusterInstances,
    mayBeUnserved: true,
    store: targets.instances,
    toRecord: (object) => ownWrite(object, targets.writtenInstances) ?? toInstanceRecord(object),
  });
  add('spaceinstances', {
    resource: spaceInstances,
    mayBeUnserved: true,
    store: targets.spaces,
    toRecord: (object) => ownWrite(object, targets.writtenSpaces) ?? toSpaceRecord(object),
  });
  add('clusters', {
    resource: clusters,
    mayBeUnserved: true,
    store: targets.clusters,
    toRecord: (object) => ownWrite(object, targets.writtenClusters) ?? toClusterRecord(object),
  });
  add('projects', {
    resource: namespaces,
    labelSelector: labels.project,
    store: targets.projects,
    toRecord: toProjectRecord,
  });
}

/** One object of the system namespace, of which only the version counts. */
function named(resource: Resource, name: string): Omit<InformerSource<StoredRecord>, 'store'> {
  return {
    resource,
    namespace: systemNamespace,
    fieldSelector: `metadata.name=${name}`,
    toRecord: ({ metadata }) => ({
      key: keyOf(metadata),
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    }),
  };
}

function addCredential(add: Add, stores: CredentialStores, kind: CredentialKind): void {
  const { store, written } = stores.ofKind[kind];
  const toRecord = (object: KubeObject) => ownWrite(object, written) ?? toCredentialRecord(object, kind);
  const resource = credentialResources[kind];
  add(credentialKinds[kind].plural, { resource, store, toRecord, mayBeUnserved: true });
}

/** Our own writes were projected when they were answered; hashing them again would be half the work of a busy minute. */
function ownWrite<R extends StoredRecord>(
  { metadata }: KubeObject,
  written: MutationCache<R>,
): R | undefined {
  return written.getVersion(keyOf(metadata), metadata.resourceVersion);
}
