import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../../lab/controlplane/control-plane.ts';
import { installLatchkey } from '../../lab/operator/install.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import { processWith } from '../measure/process-usage.ts';
import { kubectl } from './kubectl.ts';

/** An ordinary user: the requester of a token must not be a system account. */
export const benchUser = 'bench-user';

/** A control plane of its own with config/default applied, and no one at work on the objects. */
export interface Platform {
  readonly plane: ControlPlane;
  /** Acts as the ordinary user, who holds the role latchkey-admin. */
  readonly client: KubeClient;
  readonly pids: { readonly apiServer: number; readonly etcd: number };
  stop(): Promise<void>;
}

/** By default etcd waits for the disk, as in real clusters. */
export async function startPlatform(options: ControlPlaneOptions = {}): Promise<Platform> {
  const plane = await startControlPlane({ name: 'bench', fsync: true, ...options });
  try {
    await installLatchkey(plane);
    const client = await clientOfUser(plane);
    return {
      plane,
      client,
      pids: {
        apiServer: await processWith(`${plane.binaries['kube-apiserver']}\0`, plane.folder),
        etcd: await processWith(`${plane.binaries.etcd}\0`, plane.folder),
      },
      stop: async () => {
        await client.close();
        await plane.stop();
      },
    };
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

async function clientOfUser(plane: ControlPlane): Promise<KubeClient> {
  const role = ['--clusterrole=latchkey-admin', `--user=${benchUser}`];
  await kubectl(plane, ['create', 'clusterrolebinding', benchUser, ...role]);
  const file = await plane.kubeconfigFor(benchUser);
  return createKubeClient({
    kubeConfig: kubeConfigSource({ file }),
    userAgent: 'latchkey-bench',
    connections: 32,
    timeoutMs: 60_000,
  });
}
