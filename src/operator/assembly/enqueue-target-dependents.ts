import { conditionTypes, findCondition } from '../../api/conditions.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { StoreChange, StoredRecord } from '../../kube/cache/store.ts';
import type { Urgency, WorkQueue } from '../../kube/queue/work-queue.ts';
import type { TargetClients } from '../../platform/targets/target-clients.ts';
import type { VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import { type CredentialStores, instanceKeyOf } from '../credentials/credential-stores.ts';

interface Queues {
  readonly instances: WorkQueue;
  readonly clusters: WorkQueue;
  readonly spaces: WorkQueue;
  readonly kubeConfigs: WorkQueue;
}

interface Sources {
  readonly stores: CredentialStores;
  readonly targets: TargetStores;
  readonly clients: Pick<TargetClients, 'subscribe'>;
}

/** Puts targets into their queues, and with them what depends on them, whenever something changes that a decision reads. */
export function enqueueTargetDependents({ stores, targets, clients }: Sources, queues: Queues): void {
  const enqueueKubeConfigs = (instance: string, urgency?: Urgency) => {
    for (const { key } of stores.kubeConfigsOf(instance)) queues.kubeConfigs.add(key, urgency);
  };
  targets.instances.subscribe((change) => {
    if (needsCheck(change)) queues.instances.add(change.key);
    if (concernsKubeConfigs(change))
      enqueueKubeConfigs(change.key, change.origin === 'list' ? 'listed' : undefined);
  });
  targets.clusters.subscribe((change) => {
    const { key } = change;
    if (needsCheck(change)) queues.clusters.add(key);
    for (const space of targets.spaces.byIndex('cluster', key)) queues.spaces.add(space.key);
  });
  targets.spaces.subscribe((change) => {
    if (needsCheck(change)) queues.spaces.add(change.key);
  });
  stores.kubeConfigs.subscribe((change) => enqueueDeletedInstance(targets, change, queues.instances));
  clients.subscribe((uid) => {
    for (const { key } of targets.clusters.byIndex('uid', uid)) queues.clusters.add(key);
    for (const { key } of targets.instances.byIndex('uid', uid)) {
      queues.instances.add(key);
      enqueueKubeConfigs(key);
    }
  });
}

/** Each reconcile dials the target: the operator's own write must not cause another one. */
const needsCheck = ({ origin }: StoreChange<StoredRecord>): boolean => origin !== 'write';

/** A deleted instance waits until its kubeconfigs are revoked. */
function enqueueDeletedInstance(
  targets: TargetStores,
  { previous, current }: StoreChange<CredentialRecord>,
  queue: WorkQueue,
): void {
  const record = current ?? previous;
  const instance = record && targets.instances.get(instanceKeyOf(record));
  if (instance?.deleted !== undefined) queue.add(instance.key);
}

/** An instance is checked, and its status written, far more often than anything changes for its kubeconfigs. */
function concernsKubeConfigs({ previous, current }: StoreChange<VirtualClusterInstanceRecord>): boolean {
  return previous === undefined || current === undefined || aspects(previous) !== aspects(current);
}

function aspects({
  uid,
  deleted,
  clusterRole,
  ingressHost,
  conditions,
}: VirtualClusterInstanceRecord): string {
  const ready = findCondition(conditions, conditionTypes.ready)?.status;
  return JSON.stringify([uid, deleted, clusterRole, ingressHost, ready]);
}
