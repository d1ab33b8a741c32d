import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import type { ControlPlaneAccess } from '../controlplane/access.ts';

/** Acts with a client of the administrator of this control plane, and closes it afterwards. Rejects with what `act` rejects with. */
export async function asAdministrator<Result>(
  { adminKubeconfig: file }: ControlPlaneAccess,
  act: (client: KubeClient) => Promise<Result>,
): Promise<Result> {
  const client = createKubeClient({ kubeConfig: kubeConfigSource({ file }), userAgent: 'latchkey-test' });
  try {
    return await act(client);
  } finally {
    await client.close();
  }
}
