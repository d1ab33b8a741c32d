import { readFile } from 'node:fs/promises';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { type ControlPlane, startControlPlane } from '../../lab/controlplane/control-plane.ts';
import { apiVersion, group, labels } from '../../src/api/names.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import { apply } from './apply.ts';
import { kubectl } from './kubectl.ts';
import { benchUser } from './platform.ts';

/** Where the instance is on the platform. */
export const instance = { namespace: 'p-bench', name: 'bench' };

/** A second control plane, which stands for a virtual cluster, and an instance of it that the ordinary user may use. */
export interface VirtualCluster {
  readonly plane: ControlPlane;
  /** Acts as the administrator inside. */
  readonly client: KubeClient;
  stop(): Promise<void>;
}

/** Resolves when the operator has made the instance ready. `serverFor`: the address by which the operator comes to it. */
export async function startVirtualCluster(
  platform: ControlPlaneAccess,
  serverFor: (plane: ControlPlane) => Promise<string> = async ({ server }) => server,
): Promise<VirtualCluster> {
  const plane = await startControlPlane({ name: 'virtual', fsync: true });
  try {
    const kubeConfig = await readFile(await plane.kubeconfigFor('virtual-admin', ['system:masters']), 'utf8');
    const server = await serverFor(plane);
    await apply(platform, instanceObjects(kubeConfig.replaceAll(plane.server, server)));
    const { namespace, name } = instance;
    const target = [`virtualclusterinstances.${group}/${name}`, '--namespace', namespace];
    await kubectl(platform, ['wait', '--for=condition=Ready', '--timeout=60s', ...target]);
  } catch (error) {
    await plane.stop();
    throw error;
  }
  const source = kubeConfigSource({ file: plane.adminKubeconfig });
  const client = createKubeClient({ kubeConfig: source, userAgent: 'latchkey-bench', timeoutMs: 60_000 });
  return {
    plane,
    client,
    stop: async () => {
      await client.close();
      await plane.stop();
    },
  };
}

function instanceObjects(kubeConfig: string): readonly object[] {
  const { namespace, name } = instance;
  const rbac = 'rbac.authorization.k8s.io';
  const user = { apiGroup: rbac, kind: 'User', name: benchUser };
  const role = { apiGroup: rbac, kind: 'Role', name: 'users' };
  const rule = {
    apiGroups: [group],
    resources: ['virtualclusterinstances'],
    resourceNames: [name],
    verbs: ['use', 'use-as-admin'],
  };
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { [labels.project]: 'bench' } },
    },
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: 'users', namespace }, rules: [rule] },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'users', namespace },
      roleRef: role,
      subjects: [user],
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `vc-${name}`, namespace },
      stringData: { config: kubeConfig },
    },
    { apiVersion, kind: 'VirtualClusterInstance', metadata: { name, namespace }, spec: {} },
  ];
}
