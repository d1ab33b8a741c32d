import { reasons } from '../../../api/reasons.ts';
import { clusters } from '../../../api/resources.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { isAllowed } from '../../../platform/access-review.ts';
import { mayReachCluster } from '../../../scope/audiences.ts';
import { effectiveScope } from '../../../scope/effective-scope.ts';
import type { CredentialRefusal } from '../desired-status.ts';
import type { IssueCredential } from '../issued/issued-steps.ts';
import { endpointCluster, type FoundLayout, isKnownLayout } from '../secret-layout.ts';

/** Why the Secret of a token cannot describe the cluster that `spec.secretRef.format` asks for. Nothing is asked of one without a format. */
export async function describedClusterProblem(
  client: Pick<KubeClient, 'create'>,
  record: CredentialRecord,
  { ancestors, identity }: Pick<IssueCredential, 'ancestors' | 'identity'>,
  layout: FoundLayout,
): Promise<CredentialRefusal | undefined> {
  if (record.secretTemplate?.format === undefined) return undefined;
  const name = endpointCluster(record);
  if (!isKnownLayout(layout) || name === undefined) {
    // The compiler does not know that a token waits for no authority of the gateway.
    const message = layout !== undefined && layout !== 'pending' && 'problem' in layout ? layout.problem : '';
    return { reason: reasons.secretFailed, message, final: false };
  }
  const narrow = ancestors.find((above) => !mayReachCluster(effectiveScope(above), name));
  if (narrow !== undefined) {
    const message = `spec.scope names the cluster "${name}", and the scope of the access key "${narrow.name}" above does not: name it there too.`;
    return { reason: reasons.secretFailed, message, final: false };
  }
  const question = { verb: 'use', resource: clusters.plural, name };
  if (await isAllowed(client, identity, question)) return undefined;
  const message = `The user of this token lacks the verb "use" on the Cluster "${name}", which spec.secretRef.format needs: grant it with a ClusterRole and a ClusterRoleBinding, on clusters of the group management.platform.sh. Name the user or a group. Reserved groups such as system:masters never count.`;
  return { reason: reasons.useNotAllowed, message, final: false };
}
