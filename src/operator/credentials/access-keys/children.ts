import type { CredentialRecord } from '../../../credentials/record.ts';
import type { CredentialStores } from '../credential-stores.ts';
import type { Cleaned } from '../finalizer.ts';

export interface ChildrenOptions {
  readonly stores: Pick<CredentialStores, 'childrenOf'>;
  /** Deletes a child, whatever its kind. */
  readonly deleteChild: (child: CredentialRecord) => Promise<void>;
}

/** Deletes the ephemeral credentials below a deleted key, and waits until the others have lost what they had of it. */
export async function cleanUpChildren(
  record: CredentialRecord,
  { stores, deleteChild }: ChildrenOptions,
): Promise<Cleaned> {
  const { toDelete, waiting } = planChildren(record, stores.childrenOf(record.name));
  for (const child of toDelete) await deleteChild(child);
  return { left: waiting.length === 0 ? 'nothing' : 'something' };
}

/** Of the credentials that name a deleted key: those to delete, and those that it waits for. */
export function planChildren(record: CredentialRecord, children: readonly CredentialRecord[]) {
  const pinned = children.filter((child) => child.status.accessKeyUID === record.uid);
  return {
    toDelete: pinned.filter((child) => child.ephemeral && child.deleted === undefined),
    waiting: pinned.filter((child) => (child.ephemeral ? !isHeld(child) : !hasLostItsCredential(child))),
  };
}

/** It is over, and stays for the sake of its name alone. */
const isHeld = ({ deleted, exchangedUntil }: CredentialRecord): boolean =>
  deleted !== undefined && exchangedUntil !== undefined;

/** True for any reason that it gives: a child without a credential has nothing of its parent any more. */
function hasLostItsCredential(child: CredentialRecord): boolean {
  return child.deleted !== undefined || child.status.credentialHash === undefined;
}
