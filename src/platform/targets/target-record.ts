import type { Condition } from '../../api/conditions.ts';
import { parseEnd } from '../../api/instant.ts';
import { asCount, asObject, asText, asTexts, defined, type JsonObject } from '../../api/json.ts';
import { parseConditions } from '../../credentials/confirmation.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import { findService, type ServerChoice } from './dialled-server.ts';

/** A place in a Secret. */
export interface SecretEntry {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** Where an administrator kubeconfig stands, and which server is dialled with it. */
export interface KubeConfigSource extends SecretEntry, ServerChoice {}

/** What all kinds that credentials point at have in common. Instants are epoch milliseconds. */
export interface TargetRecord extends StoredRecord {
  readonly kind: 'VirtualClusterInstance' | 'SpaceInstance' | 'Cluster';
  readonly name: string;
  readonly namespace?: string;
  readonly generation: number;
  /** `metadata.deletionTimestamp`. */
  readonly deleted?: number;
  readonly finalizers: readonly string[];
  readonly observedGeneration: number;
  readonly phase?: string;
  /** `status.endpoint`. */
  readonly endpoint?: string;
  readonly conditions: readonly Condition[];
}

export interface VirtualClusterInstanceRecord extends TargetRecord {
  readonly kind: 'VirtualClusterInstance';
  readonly namespace: string;
  readonly kubeConfig: KubeConfigSource;
  /** What users of the instance get inside it. */
  readonly clusterRole: string;
  /** `host[:port]` of an ingress that is switched on. */
  readonly ingressHost?: string;
  /** `status.virtualCluster.accessPoint.ingress.enabled`. */
  readonly ingressEnabled?: boolean;
}

export interface SpaceInstanceRecord extends TargetRecord {
  readonly kind: 'SpaceInstance';
  readonly namespace: string;
  readonly clusterRef?: { readonly cluster: string; readonly namespace: string };
}

export interface ClusterRecord extends TargetRecord {
  readonly kind: 'Cluster';
  /** Where the administrator kubeconfig stands; absent for a cluster that is reached by its direct endpoint only. */
  readonly kubeConfig?: SecretEntry;
  /** `host[:port]` of the direct endpoint. */
  readonly directEndpoint?: string;
}

/** The entry that an open-source vCluster writes. */
const defaultEntry = 'config';
const defaultClusterRole = 'cluster-admin';

/** The slim record of a VirtualClusterInstance, with the defaults of absent fields filled in. Never throws. */
export function toInstanceRecord(object: KubeObject): VirtualClusterInstanceRecord {
  const { name, namespace = '' } = object.metadata;
  const { spec, status } = readParts(object);
  const reference = asObject(spec['kubeConfigSecretRef']);
  const virtualCluster = asText(asObject(spec['clusterRef'])['virtualCluster']) ?? name;
  const observed = asObject(asObject(asObject(status['virtualCluster'])['accessPoint'])['ingress'])[
    'enabled'
  ];
  return defined({
    ...common(object, 'VirtualClusterInstance'),
    namespace,
    kubeConfig: defined({
      namespace,
      name: asText(reference['name']) ?? `vc-${virtualCluster}`,
      key: asText(reference['key']) ?? defaultEntry,
      server: asText(spec['server']),
      service: findService(virtualCluster, namespace, spec),
    }),
    clusterRole: asText(asObject(spec['access'])['clusterRole']) ?? defaultClusterRole,
    ingressHost: parseIngressHost(spec),
    ingressEnabled: typeof observed === 'boolean' ? observed : undefined,
  });
}

/** The slim record of a SpaceInstance. Never throws. */
export function toSpaceRecord(object: KubeObject): SpaceInstanceRecord {
  const { spec } = readParts(object);
  const reference = asObject(spec['clusterRef']);
  const [cluster, namespace] = [asText(reference['cluster']), asText(reference['namespace'])];
  return defined({
    ...common(object, 'SpaceInstance'),
    namespace: object.metadata.namespace ?? '',
    clusterRef: cluster === undefined || namespace === undefined ? undefined : { cluster, namespace },
  });
}

/** The slim record of a Cluster. Never throws. */
export function toClusterRecord(object: KubeObject): ClusterRecord {
  const { spec } = readParts(object);
  return defined({
    ...common(object, 'Cluster'),
    kubeConfig: parseSecretEntry(asObject(spec['kubeConfigSecretRef'])),
    directEndpoint: asText(asObject(spec['directEndpoint'])['host']),
  });
}

function common<Kind extends TargetRecord['kind']>(object: KubeObject, kind: Kind) {
  const { metadata } = object;
  const { status } = readParts(object);
  return defined({
    kind,
    key: keyOf(metadata),
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    deleted: parseEnd(metadata.deletionTimestamp),
    finalizers: asTexts(metadata.finalizers),
    observedGeneration: asCount(status['observedGeneration']) ?? -1,
    phase: asText(status['phase']),
    endpoint: asText(status['endpoint']),
    conditions: parseConditions(status['conditions']),
  });
}

function readParts(object: KubeObject): { readonly spec: JsonObject; readonly status: JsonObject } {
  const { spec, status } = object as KubeObject & { readonly spec?: unknown; readonly status?: unknown };
  return { spec: asObject(spec), status: asObject(status) };
}

function parseIngressHost(spec: JsonObject): string | undefined {
  const ingress = asObject(asObject(spec['accessPoint'])['ingress']);
  return ingress['enabled'] === true ? asText(ingress['host']) : undefined;
}

function parseSecretEntry(reference: JsonObject): SecretEntry | undefined {
  const [namespace, name] = [asText(reference['namespace']), asText(reference['name'])];
  if (namespace === undefined || name === undefined) return undefined;
  return { namespace, name, key: asText(reference['key']) ?? defaultEntry };
}
