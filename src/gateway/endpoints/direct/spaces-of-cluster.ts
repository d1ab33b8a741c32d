import type { LiveSpace } from '../../../api/live-credentials.ts';
import { confirmedAddress } from '../../../platform/targets/target-reference.ts';
import type { TargetRecords } from '../../index/target-records.ts';

/** The spaces that are confirmed to be in a Cluster and may be entered, by `project/name`. */
export function spacesOfCluster(
  { spaces, findProject }: Pick<TargetRecords, 'spaces' | 'findProject'>,
  cluster: { readonly name: string; readonly uid: string },
): ReadonlyMap<string, LiveSpace> {
  const found = new Map<string, LiveSpace>();
  for (const record of spaces.values()) {
    const project = findProject(record.namespace);
    const place = confirmedAddress(record);
    if (project === undefined || place === undefined || record.deleted !== undefined) continue;
    if (place.cluster !== cluster.name || (place.uid !== undefined && place.uid !== cluster.uid)) continue;
    const { name, uid } = record;
    found.set(`${project}/${name}`, { project, name, namespace: place.namespace, uid });
  }
  return found;
}
