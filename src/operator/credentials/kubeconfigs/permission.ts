import { labels } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { namespaces, virtualClusterInstances } from '../../../api/resources.ts';
import type { Identity } from '../../../credentials/identity.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { isAllowed } from '../../../platform/access-review.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { CredentialRefusal } from '../desired-status.ts';
import type { GatewayAddress } from '../gateway-address.ts';
import { projectOf } from './destination.ts';

/** Why the user that the kubeconfig would speak for may not have it, as the API server says at this moment. */
export async function permissionProblem(
  client: Pick<KubeClient, 'create'>,
  { kubeConfig }: CredentialRecord,
  identity: Identity,
  { namespace, name }: VirtualClusterInstanceRecord,
): Promise<CredentialRefusal | undefined> {
  const verbs = kubeConfig?.clientCert === true ? (['use', 'use-as-admin'] as const) : (['use'] as const);
  const { plural: resource } = virtualClusterInstances;
  const ask = (verb: string) => isAllowed(client, identity, { verb, resource, namespace, name });
  const answers = await Promise.all(verbs.map(ask));
  const denied = verbs.find((_, index) => answers[index] !== true);
  if (denied === undefined) return undefined;
  return { reason: reasons.useNotAllowed, message: messages[denied], final: false };
}

const fix =
  'grant it with a Role and a RoleBinding in this namespace, on virtualclusterinstances of the group management.platform.sh. Name the user or a group. Reserved groups such as system:masters never count.';

const messages = {
  use: `The user of this kubeconfig lacks the verb "use" on its VirtualClusterInstance: ${fix}`,
  'use-as-admin': `The user of this kubeconfig lacks the verb "use-as-admin", which spec.clientCert needs, on its VirtualClusterInstance: ${fix}`,
};

/**
 * Why the namespace is not that of a project. Its name is not enough: a person who may create namespaces could otherwise
 * make one that passes for the project of someone else.
 */
export async function labelProblem(
  client: Pick<KubeClient, 'get'>,
  record: CredentialRecord,
  gateway: GatewayAddress,
): Promise<CredentialRefusal | undefined> {
  const { metadata } = await client.get(namespaces, { name: record.namespace ?? '' });
  const label = metadata.labels?.[labels.project];
  if (label !== undefined && label === projectOf(record, gateway)) return undefined;
  const message = `A kubeconfig with a token needs the namespace of a project: label it ${labels.project}=<its name without the prefix ${gateway.projectNamespacePrefix}>, or set spec.clientCert in a new object.`;
  return { reason: reasons.noProject, message, final: false };
}
