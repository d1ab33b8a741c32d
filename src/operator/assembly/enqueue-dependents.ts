import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { allCredentialKinds, type CredentialKind } from '../../api/credential-kinds.ts';
import { maxAncestors } from '../../credentials/ancestors.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { StoreChange, StoredRecord } from '../../kube/cache/store.ts';
import type { Urgency, WorkQueue } from '../../kube/queue/work-queue.ts';
import type { KnownTargets } from '../../platform/targets/known-targets.ts';
import type { TargetClients } from '../../platform/targets/target-clients.ts';
import type { ClusterRecord, VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import { type CredentialStores, instanceKeyOf } from '../credentials/credential-stores.ts';
import type { SecretRecord } from '../credentials/secret-record.ts';
import { findUnmatchedScope } from '../credentials/unmatched-scope.ts';

/** Puts a credential into its queue whenever something that its decision depends on has changed. */
export function enqueueDependents(
  stores: CredentialStores,
  queues: Readonly<Record<CredentialKind, WorkQueue>>,
): void {
  const enqueueFor = ({ origin }: StoreChange<StoredRecord>): Enqueue => {
    const urgency = origin === 'list' ? 'listed' : undefined;
    return ({ kind, key }) => queues[kind].add(key, urgency);
  };
  for (const kind of allCredentialKinds)
    stores.ofKind[kind].store.subscribe((change) => {
      queues[kind].add(change.key, urgencyOf[change.origin]);
      enqueueDyingParent(stores, change, enqueueFor(change));
    });
  stores.keys.subscribe((change) => {
    if (concernsChildren(change)) enqueueDescendants(stores, change.key, enqueueFor(change));
  });
  stores.secrets.subscribe((change) => enqueueOwner(stores, change, enqueueFor(change)));
}

/** How urgent a changed object is itself. What the operator wrote is decided on already. */
const urgencyOf = { list: 'listed', relist: 'changed', watch: 'changed', write: undefined } as const;

type Enqueue = (record: CredentialRecord) => void;

/** A deleted key waits until its children have noticed. */
function enqueueDyingParent(
  stores: CredentialStores,
  { previous, current }: StoreChange<CredentialRecord>,
  enqueue: Enqueue,
) {
  const name = (current ?? previous)?.accessKey;
  const parent = name === undefined ? undefined : stores.keys.get(name);
  if (parent?.deleted !== undefined) enqueue(parent);
}

/** The record of an activity must not enqueue thousands of children. */
function concernsChildren({ previous, current }: StoreChange<CredentialRecord>): boolean {
  return previous === undefined || current === undefined || keyAspects(previous) !== keyAspects(current);
}

function keyAspects(record: CredentialRecord): string {
  const { uid, deleted, disabled, fingerprints, ttl, ttlAfterLastActivity, allowedNamespaces, status } =
    record;
  const { fingerprint, credentialHash, notAfter, confirmedTTL, accessKeyUID, active } = status;
  const { allowedNamespaces: pins, confirmedGroups } = status;
  // Children wait while a change of their key is not reconciled.
  const isPending = record.observedGeneration < record.generation;
  return JSON.stringify([
    isPending,
    [uid, deleted, disabled, fingerprints, ttl, ttlAfterLastActivity, allowedNamespaces],
    [fingerprint, credentialHash, notAfter, confirmedTTL, accessKeyUID, active, pins, confirmedGroups],
  ]);
}

/**
 * Chains cover every level, so a change reaches grandchildren too, but never further than a chain may be long: anyone
 * may hang thousands of refused keys below somebody's key, one below the other.
 */
function enqueueDescendants(stores: CredentialStores, name: string, enqueue: Enqueue): void {
  const seen = new Set([name]);
  let level = [name];
  for (let depth = 0; depth <= maxAncestors && level.length > 0; depth++) {
    const children = level.flatMap((parent) => stores.childrenOf(parent));
    for (const child of children) enqueue(child);
    const keys = children.filter(({ kind }) => kind === 'OwnedAccessKey').map((child) => child.name);
    level = [...new Set(keys)].filter((key) => !seen.has(key));
    for (const key of level) seen.add(key);
  }
}

function enqueueOwner(
  stores: CredentialStores,
  { origin, previous, current }: StoreChange<SecretRecord>,
  enqueue: Enqueue,
): void {
  // Our own writes are decided on already; another reconcile for them would undo the back-off of a failing write.
  if (origin === 'write') return;
  const uids = new Set([previous?.ownerUID, current?.ownerUID].filter((uid) => uid !== undefined));
  for (const uid of uids) stores.byUID(uid).forEach(enqueue);
}

/**
 * Puts a credential into its queue when something that its scope names has come or gone and its status says otherwise. Most
 * credentials name one project, and nothing has to be said of them when another thing in their scope comes.
 */
export function enqueueScoped(
  stores: CredentialStores,
  known: KnownTargets,
  queues: Readonly<Record<CredentialKind, WorkQueue>>,
): void {
  known.subscribe((name, origin) => {
    const urgency = origin === 'list' ? 'listed' : undefined;
    for (const record of stores.inScope(name))
      if (isOutdated(record, known)) queues[record.kind].add(record.key, urgency);
  });
}

function isOutdated(record: CredentialRecord, known: KnownTargets): boolean {
  const isSaid = findCondition(record.conditions, conditionTypes.scopeMatchesNothing) !== undefined;
  return isSaid !== (findUnmatchedScope(record, known.has) !== undefined);
}

interface Queues {
  readonly instances: WorkQueue;
  readonly clusters: WorkQueue;
  readonly spaces: WorkQueue;
  readonly kubeConfigs: WorkQueue;
  readonly tokens: WorkQueue;
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
  const enqueueTokens = (cluster: string, urgency?: Urgency) => {
    for (const { key } of stores.tokensDescribing(cluster)) queues.tokens.add(key, urgency);
  };
  targets.instances.subscribe((change) => {
    if (needsCheck(change)) queues.instances.add(change.key);
    if (concernsKubeConfigs(change))
      enqueueKubeConfigs(change.key, change.origin === 'list' ? 'listed' : undefined);
  });
  targets.clusters.subscribe((change) => {
    const { key } = change;
    if (needsCheck(change)) queues.clusters.add(key);
    if (concernsTokens(change)) enqueueTokens(key, change.origin === 'list' ? 'listed' : undefined);
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

/** Its status is written far more often than the address of its direct endpoint changes. */
const concernsTokens = ({ previous, current }: StoreChange<ClusterRecord>): boolean =>
  endpointAspects(previous) !== endpointAspects(current);

const endpointAspects = (cluster: ClusterRecord | undefined): string =>
  JSON.stringify([cluster?.uid, cluster?.deleted, cluster?.directEndpoint, cluster?.directEndpointCA]);

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
  return (
    previous === undefined || current === undefined || instanceAspects(previous) !== instanceAspects(current)
  );
}

function instanceAspects({
  uid,
  deleted,
  clusterRole,
  ingressHost,
  conditions,
}: VirtualClusterInstanceRecord): string {
  const ready = findCondition(conditions, conditionTypes.ready)?.status;
  return JSON.stringify([uid, deleted, clusterRole, ingressHost, ready]);
}
