import { finalizers } from '../../api/names.ts';
import { clusters, type Resource, spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  toClusterRecord,
  toInstanceRecord,
  toSpaceRecord,
  type VirtualClusterInstanceRecord,
} from '../../platform/targets/target-record.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import type { Controller } from '../shared/controller.ts';
import { PlatformIdentity } from '../targets/platform-identity.ts';
import { RecheckSchedule } from '../targets/recheck-schedule.ts';
import { SpaceController } from '../targets/space-controller.ts';
import { TargetConnector } from '../targets/target-connector.ts';
import { type ConnectedRecord, TargetFinalizer } from '../targets/target-finalizer.ts';
import { decideCluster, decideInstance, type TargetStep } from '../targets/target-policy.ts';
import { TargetReconciler } from '../targets/target-reconciler.ts';
import { TargetSecrets } from '../targets/target-secrets.ts';
import type { AnyTargetRecord } from '../targets/target-status.ts';
import { TargetSweep } from '../targets/target-sweep.ts';
import { TargetWriter } from '../targets/target-writer.ts';
import type { OperatorContext } from './operator-context.ts';

/** A target that does not answer holds its worker for many seconds. */
const minWorkers = 32;
/** There are more of them than of connected clusters, and twelve of one tenant hold a worker at most. */
const moreForInstances = 32;

/** The controllers of what credentials point at. */
export function createTargetControllers(context: OperatorContext): readonly Controller[] {
  const { targets, stores, settings, queues } = context;
  const connector = createConnector(context);
  const instances = createReconciler(context, connector, {
    find: (key) => targets.instance(key),
    decide: decideInstance,
    writer: createWriter(context, virtualClusterInstances, targets.writtenInstances, toInstanceRecord),
    kind: 'VirtualClusterInstance',
    isAwaited: isAwaitedBy(stores),
  });
  const connected = createReconciler(context, connector, {
    find: (name) => targets.cluster(name),
    decide: decideCluster,
    writer: createWriter(context, clusters, targets.writtenClusters, toClusterRecord),
    kind: 'Cluster',
    isAwaited: () => false,
  });
  const writer = createWriter(context, spaceInstances, targets.writtenSpaces, toSpaceRecord);
  const spaces = new SpaceController({ targets, writer });
  const workers = Math.max(settings.concurrency, minWorkers);
  return [
    {
      ...{ name: 'virtualclusterinstances', resource: virtualClusterInstances },
      workers: workers + moreForInstances,
      queue: queues.virtualclusterinstances,
      reconcile: (key) => instances.reconcile(key),
    },
    {
      ...{ name: 'clusters', resource: clusters, queue: queues.clusters, workers },
      reconcile: (name) => connected.reconcile(name),
    },
    {
      ...{ name: 'spaceinstances', resource: spaceInstances, workers: settings.concurrency },
      queue: queues.spaceinstances,
      reconcile: async (key) => (targets.clusters.isUnserved ? undefined : await spaces.reconcile(key)),
    },
  ];
}

/** Deletes the access to targets whose object is gone. */
export function createTargetSweep({ client, clock, random, log, targets }: OperatorContext): TargetSweep {
  const owners = [targets.instances, targets.clusters];
  const isKnown = (uid: string) =>
    owners.some((store) => store.isUnserved || store.byIndex('uid', uid).length > 0);
  return new TargetSweep({ client, clock, random, log, isKnown });
}

function createConnector({ client, clock, targets, targetClients }: OperatorContext): TargetConnector {
  return new TargetConnector({
    clients: targetClients,
    secrets: new TargetSecrets(client),
    platform: new PlatformIdentity(client),
    clock,
    isOther: (uid) =>
      [...targets.instances.byIndex('uid', uid), ...targets.clusters.byIndex('uid', uid)].some(
        ({ deleted }) => deleted === undefined,
      ),
  });
}

/** What differs between the kinds that are connected. */
interface ConnectedKind<R extends ConnectedRecord> {
  readonly kind: R['kind'];
  readonly find: (key: string) => R | undefined;
  readonly decide: (record: R) => TargetStep;
  readonly writer: TargetWriter<R>;
  /** Whether something else still needs a deleted object in order to be revoked. */
  readonly isAwaited: (record: R) => boolean;
}

function createReconciler<R extends ConnectedRecord>(
  context: OperatorContext,
  connector: TargetConnector,
  { kind, ...options }: ConnectedKind<R>,
): TargetReconciler<R> {
  const { clock, random, settings, metrics, events, workingSince } = context;
  const finalizerName = finalizers[kind];
  const finalizer = new TargetFinalizer<R>({
    ...{ ...options, finalizer: finalizerName, connector, events },
    onReleased: () => metrics.finalizersReleased.inc({ kind }),
    now: () => clock.now(),
    workingSince,
    limitMs: settings.finalizerLimitMs,
  });
  const schedule = new RecheckSchedule({ recheckMs: settings.targetRecheckMs, random });
  return new TargetReconciler<R>({ ...options, connector, finalizer, finalizerName, schedule });
}

/** Certificates are revoked while their instance still exists: afterwards no one knows how to reach the virtual cluster. */
export function isAwaitedBy(stores: Pick<CredentialStores, 'kubeConfigsOf'>) {
  return ({ key, uid }: VirtualClusterInstanceRecord): boolean =>
    stores.kubeConfigsOf(key).some((kubeConfig) => holdsAccess(kubeConfig, uid));
}

function holdsAccess({ status }: CredentialRecord, instance: string): boolean {
  const { credentialHash, boundSerials = [], instanceUID = instance } = status;
  return instanceUID === instance && (credentialHash !== undefined || boundSerials.length > 0);
}

function createWriter<R extends AnyTargetRecord>(
  { client, clock, events }: OperatorContext,
  resource: Resource,
  records: MutationCache<R>,
  project: (object: KubeObject) => R,
): TargetWriter<R> {
  return new TargetWriter<R>({ client, resource, records, project, events, clock });
}
