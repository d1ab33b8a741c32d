import { finalizers } from '../../api/names.ts';
import {
  clusters,
  namespaces,
  type Resource,
  spaceInstances,
  virtualClusterInstances,
} from '../../api/resources.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  type ClusterRecord,
  type ConnectedRecord,
  toClusterRecord,
  toInstanceRecord,
  toSpaceRecord,
  type VirtualClusterInstanceRecord,
} from '../../platform/targets/target-record.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { PermissionReviews } from '../credentials/permission-reviews.ts';
import type { Controller } from '../shared/controller.ts';
import { decideCluster, decideInstance, type TargetStep } from '../targets/decide-target.ts';
import { PlatformIdentity } from '../targets/platform-identity.ts';
import { RecheckSchedule } from '../targets/recheck-schedule.ts';
import { ReferenceCheck } from '../targets/reference-check.ts';
import type { ReferenceUIDs } from '../targets/reference-review.ts';
import { sharersOf } from '../targets/sharers.ts';
import { SpaceController } from '../targets/space-controller.ts';
import { SpaceNamespace } from '../targets/space-namespace.ts';
import { TargetConnector } from '../targets/target-connector.ts';
import { TargetFinalizer } from '../targets/target-finalizer.ts';
import { TargetReconciler } from '../targets/target-reconciler.ts';
import { TargetSecrets } from '../targets/target-secrets.ts';
import type { AnyTargetRecord } from '../targets/target-status.ts';
import { TargetSweep } from '../targets/target-sweep.ts';
import { TargetWriter } from '../targets/target-writer.ts';
import type { OperatorContext } from './operator-context.ts';
import { concurrency } from './queues.ts';

/** A target that does not answer holds its worker for many seconds. */
const minWorkers = 32;
/** There are more of them than of connected clusters, and twelve of one tenant hold a worker at most. */
const moreForInstances = 32;

/** The controllers of what credentials point at. */
export function createTargetControllers(context: OperatorContext): readonly Controller[] {
  const { targets, stores, settings, queues } = context;
  const connector = createConnector(context);
  const references = createReferenceCheck(context);
  const instances = createReconciler(
    context,
    { connector, references },
    {
      find: (key) => targets.instance(key),
      decide: decideInstance,
      writer: createWriter(context, virtualClusterInstances, targets.writtenInstances, toInstanceRecord),
      kind: 'VirtualClusterInstance',
      isAwaited: isAwaitedBy(stores),
      // Its Secret is in its own namespace, and goes with that.
      uidsOf: async () => ({}),
    },
  );
  const connected = createReconciler(
    context,
    { connector, references },
    {
      find: (name) => targets.cluster(name),
      decide: decideCluster,
      writer: createWriter(context, clusters, targets.writtenClusters, toClusterRecord),
      kind: 'Cluster',
      isAwaited: () => false,
      uidsOf: (record) => namespaceUIDOf(context, record),
    },
  );
  const writer = createWriter(context, spaceInstances, targets.writtenSpaces, toSpaceRecord);
  const spaces = new SpaceController({
    ...{ targets, writer, references },
    namespaces: new SpaceNamespace({ clients: context.targetClients, clock: context.clock }),
    schedule: new RecheckSchedule({ recheckMs: settings.targetRecheckMs, random: context.random }),
  });
  const workers = Math.max(concurrency, minWorkers);
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
      ...{ name: 'spaceinstances', resource: spaceInstances, workers: concurrency },
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

function createConnector({
  client,
  clock,
  targets,
  targetClients,
  queues,
}: OperatorContext): TargetConnector {
  return new TargetConnector({
    clients: targetClients,
    secrets: new TargetSecrets(client),
    platform: new PlatformIdentity(client),
    clock,
    isOther: (uid) =>
      [...targets.instances.byIndex('uid', uid), ...targets.clusters.byIndex('uid', uid)].some(
        ({ deleted }) => deleted === undefined,
      ),
    sharersOf: (uid) =>
      sharersOf(uid, [...targets.instances.values(), ...targets.clusters.values()], targetClients),
    recheck: ({ kind, key }) =>
      (kind === 'Cluster' ? queues.clusters : queues.virtualclusterinstances).add(key),
  });
}

function createReferenceCheck(context: OperatorContext): ReferenceCheck {
  const { assertAdmission, trustedSince, unguardedTargets: unguarded } = context;
  const reviews = new PermissionReviews(context);
  return new ReferenceCheck({ reviews, assertAdmission, trustedSince, unguarded });
}

/** Another tenant may have made the namespace again. */
async function namespaceUIDOf(
  { client }: OperatorContext,
  { reference: { secretRef } }: ClusterRecord,
): Promise<ReferenceUIDs> {
  if (secretRef === undefined) return {};
  const found = await client.get(namespaces, { name: secretRef.namespace }).catch(ignoreNotFound);
  return found === undefined ? {} : { namespace: found.metadata.uid };
}

/** The differences between the kinds that are connected. */
interface ConnectedKind<R extends ConnectedRecord> {
  readonly kind: R['kind'];
  readonly find: (key: string) => R | undefined;
  readonly decide: (record: R) => TargetStep;
  readonly writer: TargetWriter<R>;
  /** Whether something else still needs a deleted object in order to be revoked. */
  readonly isAwaited: (record: R) => boolean;
  /** UIDs of what the spec names, where another could take the name. */
  readonly uidsOf: (record: R) => Promise<ReferenceUIDs>;
}

function createReconciler<R extends ConnectedRecord>(
  context: OperatorContext,
  { connector, references }: { readonly connector: TargetConnector; readonly references: ReferenceCheck },
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
  return new TargetReconciler<R>({ ...options, connector, references, finalizer, finalizerName, schedule });
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
  toRecord: (object: KubeObject) => R,
): TargetWriter<R> {
  return new TargetWriter<R>({ client, resource, records, toRecord, events, clock });
}
