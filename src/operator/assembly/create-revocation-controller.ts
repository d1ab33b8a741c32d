import { isReady } from '../../api/conditions.ts';
import { systemNamespace } from '../../api/names.ts';
import { configMaps } from '../../api/resources.ts';
import { keyOf } from '../../kube/object.ts';
import { RevocationController } from '../certificates/revocation-controller.ts';
import type { Controller } from '../shared/controller.ts';
import type { OperatorContext } from './operator-context.ts';

/** A try to reach a virtual cluster that is gone holds its worker for many seconds; four of one tenant do so at most. */
const workers = 16;

export function createRevocationController(context: OperatorContext): Controller {
  const { targetClients: clients, targets, clock, random, log, queues, stores, events, metrics } = context;
  const { recorded: store, records, revoker } = context.certificates;
  const controller = new RevocationController({
    ...{ store, records, revoker },
    findOwner: (uid) => {
      const [found] = stores.byUID(uid);
      const owner = found && stores.kubeConfig(found.key);
      return owner?.uid === uid ? owner : undefined;
    },
    pending: metrics.revocationsPending,
    ...{ clients, clock, random, log, events },
  });
  stores.kubeConfigs.subscribe(({ previous, current }) => {
    const uid = (current ?? previous)?.uid ?? '';
    for (const { key } of store.byIndex('owner', uid)) queues.revocations.add(key);
  });
  onReturn(context, (secret) => {
    for (const record of store.byIndex('secret', secret)) {
      controller.endPause(record);
      queues.revocations.add(record.key);
    }
  });
  store.subscribe(({ previous, current }) => {
    // A target that is there is forgotten when it goes.
    const uid = current === undefined ? previous?.instance.uid : undefined;
    if (uid !== undefined && targets.instances.byIndex('uid', uid).length === 0) clients.forget(uid);
  });
  return {
    name: 'revocations',
    resource: configMaps,
    namespace: systemNamespace,
    queue: queues.revocations,
    workers,
    // Nothing that was revoked comes back, and no one knows now whose certificates are to go.
    reconcile: async (key) => (stores.kubeConfigs.isUnserved ? undefined : await controller.reconcile(key)),
  };
}

/**
 * Calls back with the Secret of each instance that is usable again, or whose Secret holds something else. The Secret is what
 * leads into a virtual cluster: an instance that was made again leads into the same one.
 */
function onReturn(
  { targets, targetClients }: Pick<OperatorContext, 'targets' | 'targetClients'>,
  enqueue: (secret: string) => void,
): void {
  targets.instances.subscribe(({ previous, current }) => {
    if (current !== undefined && isReady(current) && (previous === undefined || !isReady(previous)))
      enqueue(keyOf(current.kubeConfig));
  });
  targetClients.subscribe((uid) => {
    for (const { kubeConfig } of targets.instances.byIndex('uid', uid)) enqueue(keyOf(kubeConfig));
  });
}
