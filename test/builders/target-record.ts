import { apiVersion } from '../../src/api/names.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  type ClusterRecord,
  type SpaceInstanceRecord,
  type TargetRecord,
  toClusterRecord,
  toInstanceRecord,
  toSpaceRecord,
  type VirtualClusterInstanceRecord,
} from '../../src/platform/targets/target-record.ts';

type Json = Record<string, unknown>;

export interface TargetParts {
  readonly name?: string;
  readonly metadata?: Json;
  readonly spec?: Json;
  readonly status?: Json;
}

const finalizerOf: Partial<Record<TargetRecord['kind'], string>> = {
  VirtualClusterInstance: 'management.platform.sh/virtualclusterinstance',
  Cluster: 'management.platform.sh/cluster',
};

/** An object that credentials point at, as the API server stores it: with its finalizer, in `default` where it has a namespace. */
export function targetObject(kind: TargetRecord['kind'], parts: TargetParts = {}): KubeObject {
  const { name = 'shop', metadata = {}, spec = {}, status = {} } = parts;
  const finalizer = finalizerOf[kind];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: '2026-11-21T10:00:00Z',
      ...(kind === 'Cluster' ? {} : { namespace: 'default' }),
      ...(finalizer === undefined ? {} : { finalizers: [finalizer] }),
      ...metadata,
    },
    spec,
    status,
  } as KubeObject;
}

export const instanceRecord = (parts?: TargetParts): VirtualClusterInstanceRecord =>
  toInstanceRecord(targetObject('VirtualClusterInstance', parts));

export const clusterRecord = (parts?: TargetParts): ClusterRecord =>
  toClusterRecord(targetObject('Cluster', parts));

export const spaceRecord = (parts?: TargetParts): SpaceInstanceRecord =>
  toSpaceRecord(targetObject('SpaceInstance', parts));

/** A status with a Ready condition, observed for the first generation. */
export const readyStatus = (status: string, reason: string): Json => ({
  observedGeneration: 1,
  conditions: [
    {
      ...{ type: 'Ready', status, reason, message: 'before', observedGeneration: 1 },
      lastTransitionTime: '2026-11-21T10:00:00Z',
    },
  ],
});
