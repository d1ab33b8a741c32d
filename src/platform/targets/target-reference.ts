import { isReady } from '../../api/conditions.ts';
import { asObject, asText, defined, type JsonObject } from '../../api/json.ts';
import { findService } from './dialled-server.ts';
import type { KubeConfigSource, SpaceInstanceRecord, TargetRecord } from './target-record.ts';

/** The reference of a target: what its creator must have a right to. Defaults of absent fields are filled in. */
export interface TargetReference {
  /** The administrator kubeconfig. */
  readonly secretRef?: {
    readonly namespace: string;
    /** Only where it is confirmed. */
    readonly namespaceUID?: string;
    readonly name: string;
    readonly key: string;
  };
  readonly server?: string;
  readonly clusterRef?: {
    readonly cluster?: string;
    /** Of the Cluster; only where it is confirmed. */
    readonly uid?: string;
    readonly namespace?: string;
    readonly virtualCluster?: string;
  };
}

/** With an administrator kubeconfig. */
type WithSecret = TargetReference & Required<Pick<TargetReference, 'secretRef'>>;

export const isWithSecret = (reference: TargetReference): reference is WithSecret =>
  reference.secretRef !== undefined;

/** The entry that an open-source vCluster writes. */
const defaultEntry = 'config';

/** The reference in the spec of a VirtualClusterInstance. */
export function referenceOfInstance(name: string, namespace: string, spec: JsonObject): WithSecret {
  const reference = asObject(spec['kubeConfigSecretRef']);
  const clusterRef = parseClusterRef(asObject(spec['clusterRef']));
  return defined({
    secretRef: {
      namespace,
      name: asText(reference['name']) ?? `vc-${clusterRef?.virtualCluster ?? name}`,
      key: asText(reference['key']) ?? defaultEntry,
    },
    server: asText(spec['server']),
    clusterRef,
  });
}

/** The reference in the spec of a SpaceInstance. */
export function referenceOfSpace(spec: JsonObject): TargetReference {
  return defined({ clusterRef: parseClusterRef(asObject(spec['clusterRef'])) });
}

/** The reference in the spec of a Cluster. */
export function referenceOfCluster(spec: JsonObject): TargetReference {
  return defined({ secretRef: parseSecretRef(asObject(spec['kubeConfigSecretRef'])) });
}

/** `status.confirmed`; undefined where nothing is. */
export function parseConfirmed(status: JsonObject): TargetReference | undefined {
  const confirmed = asObject(status['confirmed']);
  const reference = defined({
    secretRef: parseSecretRef(asObject(confirmed['secretRef'])),
    server: asText(confirmed['server']),
    clusterRef: parseClusterRef(asObject(confirmed['clusterRef'])),
  });
  return Object.keys(reference).length === 0 ? undefined : reference;
}

function parseSecretRef(reference: JsonObject): TargetReference['secretRef'] {
  const [namespace, name] = [asText(reference['namespace']), asText(reference['name'])];
  if (namespace === undefined || name === undefined) return undefined;
  const key = asText(reference['key']) ?? defaultEntry;
  return defined({ namespace, namespaceUID: asText(reference['namespaceUID']), name, key });
}

function parseClusterRef(reference: JsonObject): TargetReference['clusterRef'] {
  const clusterRef = defined({
    cluster: asText(reference['cluster']),
    uid: asText(reference['uid']),
    namespace: asText(reference['namespace']),
    virtualCluster: asText(reference['virtualCluster']),
  });
  return Object.keys(clusterRef).length === 0 ? undefined : clusterRef;
}

/** Whether both name the same. UIDs say which object of a name was meant, and are compared apart. */
export function isSameReference(left: TargetReference, right: TargetReference): boolean {
  return JSON.stringify(namesIn(left)) === JSON.stringify(namesIn(right));
}

function namesIn({ secretRef, server, clusterRef }: TargetReference): readonly unknown[] {
  return [
    [secretRef?.namespace, secretRef?.name, secretRef?.key],
    server,
    [clusterRef?.cluster, clusterRef?.namespace, clusterRef?.virtualCluster],
  ];
}

/** Where the administrator kubeconfig of a target stands, and which server is dialled with it. Only a virtual cluster has a Service. */
export function kubeConfigOf(
  { kind, name: target }: Pick<TargetRecord, 'kind' | 'name'>,
  { secretRef: { namespace, name, key }, server, clusterRef }: WithSecret,
): KubeConfigSource {
  if (kind !== 'VirtualClusterInstance') return { namespace, name, key };
  const service = findService(clusterRef?.virtualCluster ?? target, namespace, { clusterRef });
  return defined({ namespace, name, key, server, service });
}

/**
 * Whether it was connected by a release that confirmed no references. Of such an object the operator confirms the present one
 * without a question: it is in use.
 */
export function wasConnectedBefore(record: TargetRecord): boolean {
  return record.confirmed === undefined && isReady(record) && record.observedGeneration === record.generation;
}

/** The namespace that a space is, as far as it is confirmed, and in which Cluster. */
export function confirmedAddress(record: SpaceInstanceRecord): SpaceAddress | undefined {
  const { confirmed, clusterRef } = record;
  if (confirmed === undefined) return wasConnectedBefore(record) ? clusterRef : undefined;
  const { cluster, uid, namespace } = confirmed.clusterRef ?? {};
  return cluster === undefined || namespace === undefined ? undefined : defined({ cluster, uid, namespace });
}

interface SpaceAddress {
  readonly cluster: string;
  /** Of the Cluster. */
  readonly uid?: string;
  readonly namespace: string;
}
