import { conditionTypes, findCondition } from '../../api/conditions.ts';
import type { CredentialKind } from '../../api/credential-kinds.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { KnownTargets } from '../../platform/targets/known-targets.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { findUnmatchedScope } from '../credentials/unmatched-scope.ts';

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
