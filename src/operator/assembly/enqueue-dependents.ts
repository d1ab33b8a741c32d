import { maxAncestors } from '../../credentials/ancestors.ts';
import type { CredentialKind, CredentialRecord } from '../../credentials/record.ts';
import type { StoreChange } from '../../kube/cache/store.ts';
import type { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import type { SecretRecord } from '../credentials/secret-record.ts';

interface Queues {
  readonly keys: WorkQueue;
  readonly tokens: WorkQueue;
  readonly kubeConfigs: WorkQueue;
}

/** Puts a credential into its queue whenever something that its decision depends on has changed. */
export function enqueueDependents(stores: CredentialStores, queues: Queues): void {
  const byKind: Readonly<Record<CredentialKind, WorkQueue>> = {
    OwnedAccessKey: queues.keys,
    DirectClusterEndpointToken: queues.tokens,
    VirtualClusterInstanceKubeConfig: queues.kubeConfigs,
  };
  const wake = ({ kind, key }: CredentialRecord) => byKind[kind].add(key);
  stores.keys.subscribe((change) => {
    queues.keys.add(change.key);
    wakeFamily(stores, change, wake);
  });
  stores.tokens.subscribe((change) => {
    queues.tokens.add(change.key);
    wakeDyingParent(stores, change, wake);
  });
  stores.kubeConfigs.subscribe((change) => {
    queues.kubeConfigs.add(change.key);
    wakeDyingParent(stores, change, wake);
  });
  stores.secrets.subscribe((change) => wakeOwner(stores, change, wake));
}

type Wake = (record: CredentialRecord) => void;

function wakeFamily(stores: CredentialStores, change: StoreChange<CredentialRecord>, wake: Wake): void {
  wakeDyingParent(stores, change, wake);
  if (concernsChildren(change)) wakeDescendants(stores, change.key, wake);
}

/** A deleted key waits until its children have noticed. */
function wakeDyingParent(
  stores: CredentialStores,
  { previous, current }: StoreChange<CredentialRecord>,
  wake: Wake,
) {
  const name = (current ?? previous)?.accessKey;
  const parent = name === undefined ? undefined : stores.keys.get(name);
  if (parent?.deleted !== undefined) wake(parent);
}

/** The record of an activity must not wake thousands of children. */
function concernsChildren({ previous, current }: StoreChange<CredentialRecord>): boolean {
  return previous === undefined || current === undefined || aspects(previous) !== aspects(current);
}

function aspects(record: CredentialRecord): string {
  const { uid, deleted, disabled, fingerprints, ttl, ttlAfterLastActivity, allowedNamespaces, status } =
    record;
  const { fingerprint, credentialHash, notAfter, confirmedTTL, accessKeyUID, active } = status;
  return JSON.stringify([
    [uid, deleted, disabled, fingerprints, ttl, ttlAfterLastActivity, allowedNamespaces],
    [fingerprint, credentialHash, notAfter, confirmedTTL, accessKeyUID, active],
  ]);
}

/**
 * Chains cover every level, so a change reaches grandchildren too, but never further than a chain may be long: anybody
 * may hang thousands of refused keys below somebody's key, one below the other.
 */
function wakeDescendants(stores: CredentialStores, name: string, wake: Wake): void {
  const seen = new Set([name]);
  let level = [name];
  for (let depth = 0; depth <= maxAncestors && level.length > 0; depth++) {
    const children = level.flatMap((parent) => stores.childrenOf(parent));
    for (const child of children) wake(child);
    const keys = children.filter(({ kind }) => kind === 'OwnedAccessKey').map((child) => child.name);
    level = [...new Set(keys)].filter((key) => !seen.has(key));
    for (const key of level) seen.add(key);
  }
}

function wakeOwner(
  stores: CredentialStores,
  { previous, current }: StoreChange<SecretRecord>,
  wake: Wake,
): void {
  // What we wrote ourselves is decided on already; waking for it would undo the back-off of a failing write.
  if (current !== undefined && stores.writtenSecrets.isOurs(current)) return;
  const uids = new Set([previous?.ownerUID, current?.ownerUID].filter((uid) => uid !== undefined));
  for (const uid of uids) stores.byUID(uid).forEach(wake);
}
