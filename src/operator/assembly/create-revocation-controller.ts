import { systemNamespace } from '../../api/names.ts';
import { configMaps } from '../../api/resources.ts';
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
    reconcile: (key) => controller.reconcile(key),
  };
}
