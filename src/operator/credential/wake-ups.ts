import type { CredentialRecord } from '../../credentials/record.ts';
import type { StoreChange } from '../../kube/store.ts';
import type { WorkQueue } from '../../kube/work-queue.ts';
import type { CredentialStores } from './credential-stores.ts';
import type { SecretRecord } from './secret-record.ts';

interface Queues {
  readonly keys: WorkQueue;
  readonly tokens: WorkQueue;
}

/** Puts a credential into its queue whenever something that its decision depends on has changed. */
export function wireWakeUps(stores: CredentialStores, queues: Queues): void {
  const wake = ({ kind, key }: CredentialRecord) =>
    (kind === 'OwnedAccessKey' ? queues.keys : queues.tokens).add(key);
  stores.keys.subscribe((change) => {
    queues.keys.add(change.key);
    wakeFamily(stores, change, wake);
  });
  stores.tokens.subscribe((change) => {
    queues.tokens.add(change.key);
    wakeDyingParent(stores, change, wake);
  });
  stores.secrets.subscribe((change) => wakeOwner(stores, change, wake));
}

type Wake = (record: CredentialRecord) => void;

function wakeFamily(stores: CredentialStores, change: StoreChange<CredentialRecord>, wake: Wake): void {
  wakeDyingParent(stores, change, wake);
  if (concernsChildren(change)) wakeDescendants(stores, change.key, wake, new Set());
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

/** Chains cover every level, so a change reaches grandchildren too; `seen` ends loops. */
function wakeDescendants(stores: CredentialStores, name: string, wake: Wake, seen: Set<string>): void {
  if (seen.has(name)) return;
  seen.add(name);
  for (const child of stores.childrenOf(name)) {
    wake(child);
    if (child.kind === 'OwnedAccessKey') wakeDescendants(stores, child.name, wake, seen);
  }
}

function wakeOwner(
  stores: CredentialStores,
  { previous, current }: StoreChange<SecretRecord>,
  wake: Wake,
): void {
  const uids = new Set([previous?.ownerUID, current?.ownerUID].filter((uid) => uid !== undefined));
  for (const uid of uids) {
    for (const owner of [...stores.keys.byIndex('uid', uid), ...stores.tokens.byIndex('uid', uid)])
      wake(owner);
  }
}
