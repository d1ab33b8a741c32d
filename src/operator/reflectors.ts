import { labels, systemNamespace, systemObjects } from '../api/names.ts';
import {
  configMaps,
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  secrets,
} from '../api/resources.ts';
import { toCredentialRecord } from '../credentials/project.ts';
import type { CredentialKind, CredentialRecord } from '../credentials/record.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../kube/clock.ts';
import type { Logger } from '../kube/logger.ts';
import { type KubeObject, keyOf } from '../kube/object.ts';
import { Reflector } from '../kube/reflector.ts';
import type { Store, StoredRecord } from '../kube/store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { CredentialStores } from './credential/credential-stores.ts';
import { toSecretRecord } from './credential/secret-record.ts';
import type { WrittenRecords } from './credential/written-records.ts';

export interface ReflectorsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metricsOf: Metrics['forReflector'];
  readonly stores: CredentialStores;
  /** The Secret of the signing keys and the ConfigMap of the discovery documents. */
  readonly system: { readonly signingKeys: Store<StoredRecord>; readonly discovery: Store<StoredRecord> };
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
  'secrets',
  'signing-keys',
  'discovery',
] as const;

/** Everything that the operator watches. */
export function makeReflectors({
  stores,
  system,
  metricsOf,
  ...shared
}: ReflectorsOptions): readonly NamedReflector[] {
  const make = <R extends StoredRecord>(
    name: (typeof reflectorNames)[number],
    source: Source<R>,
  ): NamedReflector => {
    const metrics = metricsOf(name);
    const reflector = new Reflector<R>({ ...shared, ...source, onRestart: metrics.restarted });
    metrics.read(
      () => source.store.size,
      () => reflector.freshness() / 1000,
    );
    return { name, reflector };
  };
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
    make('secrets', {
      resource: secrets,
      labelSelector: labels.ownerUID,
      store: stores.secrets,
      project: (object) => recalled(object, stores.writtenSecrets) ?? toSecretRecord(object),
    }),
    make('signing-keys', { ...named(secrets, systemObjects.signingKeys), store: system.signingKeys }),
    make('discovery', { ...named(configMaps, systemObjects.discovery), store: system.discovery }),
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

function credentialProjection(kind: CredentialKind, written: WrittenRecords<CredentialRecord>) {
  return (object: KubeObject): CredentialRecord =>
    recalled(object, written) ?? toCredentialRecord(object, kind);
}

/** Our own writes were projected when they were answered; hashing them again would be half the work of a busy minute. */
function recalled<R extends StoredRecord>(
  { metadata }: KubeObject,
  written: WrittenRecords<R>,
): R | undefined {
  return written.recall(keyOf(metadata), metadata.resourceVersion);
}
