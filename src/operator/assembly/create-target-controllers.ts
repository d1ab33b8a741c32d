import { clusters, type Resource, spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import { toClusterRecord, toInstanceRecord, toSpaceRecord } from '../../platform/targets/to-target-record.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import type { Controller } from '../shared/controller.ts';
import { ClusterController } from '../targets/clusters/controller.ts';
import { SpaceController } from '../targets/space-instances/controller.ts';
import { TargetConnector } from '../targets/target-connector.ts';
import { TargetSecrets } from '../targets/target-secrets.ts';
import type { AnyTargetRecord } from '../targets/target-status-patch.ts';
import { TargetSweep } from '../targets/target-sweep.ts';
import { TargetWriter } from '../targets/target-writer.ts';
import { InstanceController } from '../targets/virtual-cluster-instances/controller.ts';
import { type ControllerName, finalizerLimitOf, type OperatorContext } from './operator-context.ts';

/** A look at a target that is gone holds its worker for many seconds. */
const leastWorkers = 32;

/** The controllers of what credentials point at. */
export function createTargetControllers(context: OperatorContext): readonly Controller[] {
  const { targets, stores, settings, metrics } = context;
  const shared = sharedParts(context);
  const onReleased = (kind: string) => () => metrics.finalizersReleased.inc({ kind });
  const instances = new InstanceController({
    ...shared,
    isAwaited: isAwaitedBy(stores),
    limitMs: finalizerLimitOf(context, 'VirtualClusterInstance'),
    writer: writerOf(context, virtualClusterInstances, targets.writtenInstances, toInstanceRecord),
    onReleased: onReleased('VirtualClusterInstance'),
  });
  const ofClusters = new ClusterController({
    ...shared,
    limitMs: finalizerLimitOf(context, 'Cluster'),
    writer: writerOf(context, clusters, targets.writtenClusters, toClusterRecord),
    onReleased: onReleased('Cluster'),
  });
  const spaces = new SpaceController({
    targets,
    writer: writerOf(context, spaceInstances, targets.writtenSpaces, toSpaceRecord),
  });
  const workers = Math.max(settings.concurrency, leastWorkers);
  const wire = wirerOf(context);
  return [
    wire('virtualclusterinstances', virtualClusterInstances, workers, (key) => instances.reconcile(key)),
    wire('clusters', clusters, workers, (key) => ofClusters.reconcile(key)),
    wire('spaceinstances', spaceInstances, settings.concurrency, (key) => spaces.reconcile(key)),
  ];
}

/** Certificates are revoked while their instance is going: afterwards no one knows how to reach the virtual cluster. */
export function isAwaitedBy(stores: Pick<CredentialStores, 'kubeConfigsOf'>) {
  return ({ key, uid }: VirtualClusterInstanceRecord): boolean =>
    stores.kubeConfigsOf(key).some((kubeConfig) => holdsAccess(kubeConfig, uid));
}

function holdsAccess({ status }: CredentialRecord, instance: string): boolean {
  const { credentialHash, boundSerials = [], instanceUID = instance } = status;
  return instanceUID === instance && (credentialHash !== undefined || boundSerials.length > 0);
}

/** Deletes the access to targets whose object is gone. */
export function sweepOf({ client, clock, random, log, targets }: OperatorContext): TargetSweep {
  const isKnown = (uid: string) =>
    targets.instances.byIndex('uid', uid).length + targets.clusters.byIndex('uid', uid).length > 0;
  return new TargetSweep({ client, clock, random, log, isKnown });
}

function sharedParts({
  client,
  clock,
  random,
  targets,
  targetClients,
  targetEvents,
  settings,
}: OperatorContext) {
  const connector = new TargetConnector({
    clients: targetClients,
    secrets: new TargetSecrets(client),
    clock,
    isOther: (uid) =>
      [...targets.instances.byIndex('uid', uid), ...targets.clusters.byIndex('uid', uid)].some(
        ({ deleted }) => deleted === undefined,
      ),
  });
  const now = () => clock.now();
  return { targets, connector, events: targetEvents, now, random, recheckMs: settings.targetRecheckMs };
}

function writerOf<R extends AnyTargetRecord>(
  { client, clock, targetEvents: events }: OperatorContext,
  resource: Resource,
  records: MutationCache<R>,
  project: (object: KubeObject) => R,
): TargetWriter<R> {
  return new TargetWriter<R>({ client, resource, records, project, events, clock });
}

function wirerOf({ queues }: OperatorContext) {
  return (
    name: ControllerName,
    resource: Resource,
    workers: number,
    reconcile: Controller['reconcile'],
  ): Controller => ({ name, resource, queue: queues[name], workers, reconcile });
}
