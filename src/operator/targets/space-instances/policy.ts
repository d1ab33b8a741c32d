import { conditionTypes } from '../../../api/conditions.ts';
import { reasons } from '../../../api/reasons.ts';
import type { ClusterRecord, SpaceInstanceRecord } from '../../../platform/targets/target-record.ts';
import { connected, type DesiredTargetStatus, refused } from '../desired-target-status.ts';

/** How a space is: as the Cluster that it is in. The namespace itself is not looked at. */
export function spaceStatus(
  { clusterRef }: SpaceInstanceRecord,
  cluster: ClusterRecord | undefined,
): DesiredTargetStatus {
  if (clusterRef === undefined) return refused(nowhere, true);
  if (cluster === undefined) return refused(notFound);
  return isReady(cluster) ? connected(ready) : refused(notReady);
}

function isReady({ conditions, deleted }: ClusterRecord): boolean {
  const found = conditions.find(({ type }) => type === conditionTypes.ready);
  return deleted === undefined && found?.status === 'True';
}

const ready = 'The cluster of this space can be used.';

const nowhere = {
  reason: reasons.clusterNotFound,
  message: 'This space is nowhere: create it with spec.clusterRef, cluster and namespace.',
};

const notFound = {
  reason: reasons.clusterNotFound,
  message: 'The Cluster that spec.clusterRef names does not exist: create it.',
};

const notReady = {
  reason: reasons.clusterNotReady,
  message: 'The Cluster that spec.clusterRef names is not ready: look at its conditions.',
};
