import { reasons } from '../../../api/reasons.ts';
import { virtualClusterInstances } from '../../../api/resources.ts';
import type { Identity } from '../../../credentials/identity.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { isAllowed } from '../../../platform/access-review.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { RefusedFor } from '../refused-status.ts';

/** Why whom the kubeconfig would speak for may not have it now, as the API server says at this moment. */
export async function denialOf(
  client: Pick<KubeClient, 'create'>,
  { kubeConfig }: CredentialRecord,
  identity: Identity,
  { namespace, name }: VirtualClusterInstanceRecord,
): Promise<RefusedFor | undefined> {
  const verbs = kubeConfig?.clientCert === true ? (['use', 'use-as-admin'] as const) : (['use'] as const);
  const { plural: resource } = virtualClusterInstances;
  const ask = (verb: string) => isAllowed(client, identity, { verb, resource, namespace, name });
  const answers = await Promise.all(verbs.map(ask));
  const denied = verbs.find((_, index) => answers[index] !== true);
  if (denied === undefined) return undefined;
  return { reason: reasons.useNotAllowed, message: messages[denied], final: false };
}

const fix =
  'grant it on virtualclusterinstances of the group management.platform.sh with a Role and a RoleBinding in this namespace, to the user by name or to a group that is not reserved (system:masters and the like never count).';

const messages = {
  use: `Whom this kubeconfig speaks for lacks the verb "use" on the VirtualClusterInstance: ${fix}`,
  'use-as-admin': `Whom this kubeconfig speaks for lacks the verb "use-as-admin", which spec.clientCert needs, on the VirtualClusterInstance: ${fix}`,
};
