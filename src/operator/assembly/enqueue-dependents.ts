import { allCredentialKinds, type CredentialKind } from '../../api/credential-kinds.ts';
import { maxAncestors } from '../../credentials/ancestors.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { StoreChange, StoredRecord } from '../../kube/cache/store.ts';
import type { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import type { SecretRecord } from '../credentials/secret-record.ts';

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
const urgencyOf = { list: 'listed', watch: 'changed', write: undefined } as const;

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
  return previous === undefined || current === undefined || aspects(previous) !== aspects(current);
}

function aspects(record: CredentialRecord): string {
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
  // What we wrote ourselves is decided on already; another reconcile for it would undo the back-off of a failing write.
  if (origin === 'write') return;
  const uids = new Set([previous?.ownerUID, current?.ownerUID].filter((uid) => uid !== undefined));
  for (const uid of uids) stores.byUID(uid).forEach(enqueue);
}
