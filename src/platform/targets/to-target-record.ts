import { parseEnd } from '../../api/instant.ts';
import { asCount, asObject, asText, asTexts, defined, type JsonObject } from '../../api/json.ts';
import { conditionsOf } from '../../credentials/conditions-of.ts';
import type { KubeObject } from '../../kube/object.ts';
import { keyOf } from '../../kube/object.ts';
import type {
  ClusterRecord,
  SecretEntry,
  SpaceInstanceRecord,
  TargetRecord,
  VirtualClusterInstanceRecord,
} from './target-record.ts';

/** The entry that an open-source vCluster writes. */
const defaultEntry = 'config';
const defaultClusterRole = 'cluster-admin';

/** The slim record of a VirtualClusterInstance, with the defaults of absent fields filled in. Never throws. */
export function toInstanceRecord(object: KubeObject): VirtualClusterInstanceRecord {
  const { name, namespace = '' } = object.metadata;
  const { spec, status } = partsOf(object);
  const reference = asObject(spec['kubeConfigSecretRef']);
  const virtualCluster = asText(asObject(spec['clusterRef'])['virtualCluster']) ?? name;
  const observed = asObject(asObject(asObject(status['virtualCluster'])['accessPoint'])['ingress'])[
    'enabled'
  ];
  return defined({
    ...common(object, 'VirtualClusterInstance'),
    namespace,
    kubeConfig: {
      namespace,
      name: asText(reference['name']) ?? `vc-${virtualCluster}`,
      key: asText(reference['key']) ?? defaultEntry,
    },
    clusterRole: asText(asObject(spec['access'])['clusterRole']) ?? defaultClusterRole,
    ingressHost: ingressHostOf(spec),
    ingressEnabled: typeof observed === 'boolean' ? observed : undefined,
  });
}

/** The slim record of a SpaceInstance. Never throws. */
export function toSpaceRecord(object: KubeObject): SpaceInstanceRecord {
  const { spec } = partsOf(object);
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
  const { spec } = partsOf(object);
  return defined({
    ...common(object, 'Cluster'),
    kubeConfig: secretEntryOf(asObject(spec['kubeConfigSecretRef'])),
    directEndpoint: asText(asObject(spec['directEndpoint'])['host']),
  });
}

function common<Kind extends TargetRecord['kind']>(object: KubeObject, kind: Kind) {
  const { metadata } = object;
  const { status } = partsOf(object);
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
    conditions: conditionsOf(status['conditions']),
  });
}

function partsOf(object: KubeObject): { readonly spec: JsonObject; readonly status: JsonObject } {
  const { spec, status } = object as KubeObject & { readonly spec?: unknown; readonly status?: unknown };
  return { spec: asObject(spec), status: asObject(status) };
}

function ingressHostOf(spec: JsonObject): string | undefined {
  const ingress = asObject(asObject(spec['accessPoint'])['ingress']);
  return ingress['enabled'] === true ? asText(ingress['host']) : undefined;
}

function secretEntryOf(reference: JsonObject): SecretEntry | undefined {
  const [namespace, name] = [asText(reference['namespace']), asText(reference['name'])];
  if (namespace === undefined || name === undefined) return undefined;
  return { namespace, name, key: asText(reference['key']) ?? defaultEntry };
}
