import { clusterProfiles } from '../../api/resources.ts';
import { Store } from '../../kube/cache/store.ts';
import type { InformerSource } from '../../platform/informers.ts';
import { type ProfileRecord, toProfileRecord } from '../cluster-profiles/cluster-profile.ts';
import { ClusterProfileController } from '../cluster-profiles/controller.ts';
import type { Controller } from '../shared/controller.ts';
import { gatewayOf } from './create-credential-controllers.ts';
import type { OperatorContext } from './operator-context.ts';
import { concurrency } from './queues.ts';

/** ClusterProfiles where the site wants them: their informer, and the controller that writes them. */
export interface ClusterProfiles {
  /** Nothing else waits for it: the site may lack the kind, or have given no right to it. */
  readonly source: InformerSource<ProfileRecord>;
  readonly controller: Controller;
  /** To be called when all of them have been read. */
  readonly begin: () => void;
  readonly enqueueAll: () => void;
}

/** Undefined: no namespace is set for them. */
export function createClusterProfiles(context: OperatorContext): ClusterProfiles | undefined {
  const { client, clock, log, queues, settings, targets } = context;
  const { clusterProfilesNamespace: namespace } = settings;
  if (namespace === undefined) return undefined;
  const store = new Store<ProfileRecord>();
  const queue = queues.clusterprofiles;
  const controller = new ClusterProfileController({
    ...{ client, namespace, targets, log },
    profiles: store,
    gateway: gatewayOf(context),
    now: () => clock.now(),
    enqueue: (name) => queue.add(name),
  });
  return {
    source: {
      ...{ resource: clusterProfiles, namespace, store, toRecord: toProfileRecord },
      // A site may install the definition days later.
      backOffMs: [1_000, 60_000],
    },
    controller: {
      ...{ name: 'clusterprofiles', resource: clusterProfiles, namespace, queue },
      workers: concurrency,
      reconcile: (name) => controller.reconcile(name),
    },
    begin: () => controller.begin(),
    enqueueAll: () => controller.enqueueAll(),
  };
}
