import { labels } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { namespaces } from '../../../api/resources.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { RefusedFor } from '../refused-status.ts';
import { projectOf } from './destination.ts';
import type { GatewayPlace } from './input.ts';

/**
 * Why the namespace is not that of a project. Its name is not enough: who may create namespaces could otherwise make
 * one that passes for somebody's project.
 */
export async function unlabelled(
  client: Pick<KubeClient, 'get'>,
  record: CredentialRecord,
  gateway: GatewayPlace,
): Promise<RefusedFor | undefined> {
  const { metadata } = await client.get(namespaces, { name: record.namespace ?? '' });
  const label = metadata.labels?.[labels.project];
  if (label !== undefined && label === projectOf(record, gateway)) return undefined;
  const message = `A kubeconfig with a token needs the namespace of a project: label it ${labels.project}=<its name without the prefix ${gateway.projectNamespacePrefix}>, or set spec.clientCert in a new object.`;
  return { reason: reasons.noProject, message, final: false };
}
