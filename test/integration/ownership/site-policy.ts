import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import type { ApiAnswer } from '../admission/api-client.ts';
import type { World } from '../admission/world.ts';

const name = systemObjects.sitePolicy;
const collection = `/api/v1/namespaces/${systemNamespace}/configmaps`;
export const policyPath = `${collection}/${name}`;

/** Stores the ConfigMap of the site policy, whether or not there is one. */
export async function writePolicy(world: World, data: Readonly<Record<string, string>>): Promise<ApiAnswer> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: systemNamespace }, data };
  const answer = await world.admin.send('POST', collection, { body });
  return answer.status === 409 ? await world.admin.send('PUT', policyPath, { body }) : answer;
}

/** To be called after all tests of a file: later files expect that the site asks for nothing. */
export async function clearPolicy(): Promise<void> {
  const { kubectl } = await sharedControlPlane();
  await kubectl(['delete', 'configmap', name, '-n', systemNamespace, '--ignore-not-found']);
}
