import { labels, purposes, systemNamespace, systemObjects } from '../../api/names.ts';
import {
  clusters,
  configMaps,
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  secrets,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../api/resources.ts';
import { toCredentialRecord } from '../../credentials/credential-record.ts';
import type { CredentialKind, CredentialRecord } from '../../credentials/record.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import type { Store, StoredRecord } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../kube/logger.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import { toClusterRecord, toInstanceRecord, toSpaceRecord } from '../../platform/targets/target-record.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import type { InformerMetrics } from '../../telemetry/metrics/informers.ts';
import { type RevocationRecord, toRevocationRecord } from '../certificates/revocation-records.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { toSecretRecord } from '../credentials/secret-record.ts';

export interface ReflectorsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metricsOf: InformerMetrics['for'];
  readonly stores: CredentialStores;
  readonly targets: TargetStores;
  /** In the system namespace: the signing keys, the discovery documents, and what is still to be revoked. */
  readonly system: {
    readonly signingKeys: Store<StoredRecord>;
    readonly discovery: Store<StoredRecord>;
    readonly revocations: Store<RevocationRecord>;
  };
}

/** A reflector under the name that its metrics and checks carry. */
export interface NamedReflector {
  readonly name: string;
  readonly reflector: Pick<Reflector<StoredRecord>, 'run' | 'synced' | 'hasSynced' | 'freshness'>;
}

/** As they stand in metrics and checks. */
export const reflectorNames = [
  'ownedaccesskeys',
  'directclusterendpointtokens',
  'virtualclusterinstancekubeconfigs',
  'virtualclusterinstances',
  'spaceinstances',
  'clusters',
  'revocations',
  'secrets',
  'signing-keys',
  'discovery',
] as const;

/** Everything that the operator watches. */
export function makeReflectors({
  stores,
  targets,
  system,
  metricsOf,
  ...shared
}: ReflectorsOptions): readonly NamedReflector[] {
  const make: Make = (name, source) => {
    const metrics = metricsOf(name);
    const reflector = new Reflector({ ...shared, ...source, onRestart: metrics.restarted });
    metrics.read(
      () => source.store.size,
      () => reflector.freshness() / 1000,
    );
    return { name, reflector };
  };
  return [
    ...credentialReflectors(make, stores),
    ...targetReflectors(make, targets),
    make('signing-keys', { ...named(secrets, systemObjects.signingKeys), store: system.signingKeys }),
    make('revocations', {
      resource: configMaps,
      namespace: systemNamespace,
      labelSelector: `${labels.purpose}=${purposes.revocation}`,
      store: system.revocations,
      project: toRevocationRecord,
    }),
    make('discovery', { ...named(configMaps, systemObjects.discovery), store: system.discovery }),
  ];
}

type Make = <R extends StoredRecord>(
  name: (typeof reflectorNames)[number],
  source: Source<R>,
) => NamedReflector;

function credentialReflectors(make: Make, stores: CredentialStores): readonly NamedReflector[] {
  return [
    make('ownedaccesskeys', {
      resource: ownedAccessKeys,
      store: stores.keys,
      project: credentialProjection('OwnedAccessKey', stores.writtenKeys),
    }),
    make('directclusterendpointtokens', {
      resource: directClusterEndpointTokens,
      store: stores.tokens,
      project: credentialProjection('DirectClusterEndpointToken', stores.writtenTokens),
    }),
    make('virtualclusterinstancekubeconfigs', {
      resource: virtualClusterInstanceKubeConfigs,
      store: stores.kubeConfigs,
      project: credentialProjection('VirtualClusterInstanceKubeConfig', stores.writtenKubeConfigs),
    }),
    make('secrets', {
      resource: secrets,
      labelSelector: labels.ownerUID,
      store: stores.secrets,
      project: (object) => recalled(object, stores.writtenSecrets) ?? toSecretRecord(object),
    }),
  ];
}

function targetReflectors(make: Make, targets: TargetStores): readonly NamedReflector[] {
  return [
    make('virtualclusterinstances', {
      resource: virtualClusterInstances,
      store: targets.instances,
      project: (object) => recalled(object, targets.writtenInstances) ?? toInstanceRecord(object),
    }),
    make('spaceinstances', {
      resource: spaceInstances,
      store: targets.spaces,
      project: (object) => recalled(object, targets.writtenSpaces) ?? toSpaceRecord(object),
    }),
    make('clusters', {
      resource: clusters,
      store: targets.clusters,
      project: (object) => recalled(object, targets.writtenClusters) ?? toClusterRecord(object),
    }),
  ];
}

interface Source<R extends StoredRecord> {
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly store: Store<R>;
  readonly project: (object: KubeObject) => R | undefined;
}

/** One object of the system namespace, of which only the version counts. */
function named(resource: Resource, name: string): Omit<Source<StoredRecord>, 'store'> {
  return {
    resource,
    namespace: systemNamespace,
    fieldSelector: `metadata.name=${name}`,
    project: ({ metadata }) => ({
      key: keyOf(metadata),
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    }),
  };
}

function credentialProjection(kind: CredentialKind, written: MutationCache<CredentialRecord>) {
  return (object: KubeObject): CredentialRecord =>
    recalled(object, written) ?? toCredentialRecord(object, kind);
}

/** Our own writes were projected when they were answered; hashing them again would be half the work of a busy minute. */
function recalled<R extends StoredRecord>(
  { metadata }: KubeObject,
  written: MutationCache<R>,
): R | undefined {
  return written.recall(keyOf(metadata), metadata.resourceVersion);
}
