import type { CredentialRecord, NamespacePin } from '../../../credentials/record.ts';
import { isOwnedBy } from '../../../credentials/requester.ts';
import { isUnguarded, type LineageInput } from '../lineage.ts';

/**
 * Names in `spec.allowedNamespaces` that are seen for the first time. None after a change by someone whose key it is not, or may
 * not be: they could take a name out and put it back. The next change by its owner has them seen.
 */
export function unpinnedNames(input: LineageInput): readonly string[] {
  const { record } = input;
  const { allowedNamespaces, changedBy, status } = record;
  if (isUnguarded(input) || (changedBy !== undefined && !isOwnedBy(changedBy, record))) return [];
  const pinned = new Set(status.allowedNamespaces?.map(({ name }) => name));
  return [...new Set(allowedNamespaces)].filter((name) => !pinned.has(name));
}

/** A namespace keeps the UID that it had when its name was first seen here, until the name is taken out. */
export function pinsOf({ allowedNamespaces, status }: CredentialRecord): readonly NamespacePin[] {
  return (status.allowedNamespaces ?? []).filter(({ name }) => allowedNamespaces.includes(name));
}
