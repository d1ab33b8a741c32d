import { isReady } from '../../api/conditions.ts';
import type { TargetClients } from '../../platform/targets/target-clients.ts';
import type { ConnectedRecord } from '../../platform/targets/target-record.ts';
import type { RemovedObject } from './target-objects.ts';

/**
 * The records that lead to the same API server as the target of this UID, and are not being deleted. Address and authority
 * must be the same: several API servers can stand behind one authority.
 */
export function sharersOf(
  uid: string,
  records: readonly ConnectedRecord[],
  clients: Pick<TargetClients, 'known'>,
): readonly ConnectedRecord[] {
  const own = clients.known(uid);
  if (own === undefined) return [];
  return records.filter((record) => {
    if (record.uid === uid || record.deleted !== undefined) return false;
    const { ca, server } = clients.known(record.uid) ?? {};
    return ca === own.ca && server?.href === own.server.href;
  });
}

/**
 * Whether one of them works with this object. One that is not ready may have no right there, or only claim the address:
 * nothing is left in a target for it.
 */
export const isUsed = (
  { isForUsers }: Pick<RemovedObject, 'isForUsers'>,
  sharers: readonly ConnectedRecord[],
): boolean =>
  sharers.some((sharer) => isReady(sharer) && (!isForUsers || sharer.kind === 'VirtualClusterInstance'));
