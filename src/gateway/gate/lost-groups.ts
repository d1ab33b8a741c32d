import { isReserved } from '../../credentials/identity.ts';
import type { Verdict } from '../index/verdict.ts';

const maxGroups = 3;

/**
 * Explains a refusal by RBAC to the holder of a key: who made the key for themselves may have their rights by groups, and a key
 * has only the groups that it names, of which it is told too.
 */
export function lostGroups({
  record,
  identity,
}: {
  readonly record: Pick<Verdict['record'], 'kind' | 'accessKey' | 'requester'>;
  readonly identity: Pick<Verdict['identity'], 'user' | 'groups'>;
}): string | undefined {
  const { kind, accessKey, requester } = record;
  if (kind !== 'OwnedAccessKey') return undefined;
  if (identity.groups.length > 0)
    return `this key carries the groups ${namesOf(identity.groups)}; rights that come by other groups are not in it`;
  if (accessKey !== undefined) return undefined;
  if (requester?.user !== identity.user) return undefined;
  const groups = requester.groups.filter((group) => !isReserved(group));
  if (groups.length === 0) return undefined;
  const named = namesOf(groups);
  return `the access key has none of the groups of ${identity.user} (${named}), nor the rights that come by them; a new key gets those that its spec.groups names`;
}

const namesOf = (groups: readonly string[]): string =>
  [...groups.slice(0, maxGroups), ...(groups.length > maxGroups ? ['...'] : [])].join(', ');
