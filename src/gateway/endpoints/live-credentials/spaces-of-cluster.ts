import type { LiveSpace } from '../../../api/live-credentials.ts';
import type { SpaceInstanceRecord } from '../../../platform/targets/target-record.ts';
import { confirmedAddress } from '../../../platform/targets/target-reference.ts';
import type { TargetRecords } from '../../index/target-records.ts';

interface NamedCluster {
  readonly name: string;
  readonly uid: string;
}

/** The spaces that are confirmed to be in a Cluster and may be entered, by `project/name`. */
export function spacesOfCluster(
  { spaces, findProject }: Pick<TargetRecords, 'spaces' | 'findProject'>,
  cluster: NamedCluster,
): ReadonlyMap<string, LiveSpace> {
  const found = new Map<string, LiveSpace>();
  for (const record of spaces.values()) {
    const project = findProject(record.namespace);
    const namespace = namespaceIn(record, cluster);
    if (project === undefined || namespace === undefined) continue;
    const { name, uid } = record;
    found.set(`${project}/${name}`, { project, name, namespace, uid });
  }
  return found;
}

/** Whether one space is among {@link spacesOfCluster}. There may be thousands of them, so this reads no other. */
export function isSpaceOfCluster(
  { spaces, findProject }: Pick<TargetRecords, 'spaces' | 'findProject'>,
  cluster: NamedCluster,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): boolean {
  const record = spaces.get(`${namespace}/${name}`);
  return (
    record !== undefined &&
    findProject(record.namespace) !== undefined &&
    namespaceIn(record, cluster) !== undefined
  );
}

/** The namespace in the cluster that the space is, as far as that is confirmed and it may be entered. */
function namespaceIn(record: SpaceInstanceRecord, { name, uid }: NamedCluster): string | undefined {
  const place = confirmedAddress(record);
  if (place === undefined || record.deleted !== undefined) return undefined;
  const isThere = place.cluster === name && (place.uid === undefined || place.uid === uid);
  return isThere ? place.namespace : undefined;
}
