import { until } from '../../lab/operator/until.ts';
import { annotations, systemNamespace } from '../../src/api/names.ts';
import { clusters, ownedAccessKeys } from '../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { kubectl } from './kubectl.ts';
import { installPlainKind } from './plain-kind.ts';
import { benchUser, type Platform, startPlatform } from './platform.ts';

/** Which kinds of bindings are taken away. */
export const subsets = {
  'all policies': [],
  'mutating only': ['validatingadmissionpolicybindings'],
  'no policies': ['validatingadmissionpolicybindings', 'mutatingadmissionpolicybindings'],
} as const satisfies Record<string, readonly (keyof typeof gone)[]>;

export type Subset = keyof typeof subsets;

/** A control plane of its own with some of the policies; on it an ordinary user with all rights, and the operator's account. */
export interface SubsetPlatform extends Platform {
  readonly operator: KubeClient;
}

const operatorUser = 'system:serviceaccount:latchkey-system:latchkey-operator';

export async function startSubset(subset: Subset): Promise<SubsetPlatform> {
  const platform = await startPlatform();
  const { plane } = platform;
  await installPlainKind(plane);
  const role = ['--clusterrole=cluster-admin', `--user=${benchUser}`, `--user=${operatorUser}`];
  await kubectl(plane, ['create', 'clusterrolebinding', 'bench-rights', ...role]);
  for (const bindings of subsets[subset]) {
    await kubectl(plane, ['delete', bindings, '--all']);
    await until(`no ${bindings}`, async () => await gone[bindings](platform.client));
  }
  const operator = createKubeClient({
    kubeConfig: kubeConfigSource({ file: await plane.kubeconfigFor(operatorUser) }),
    userAgent: 'latchkey-bench',
  });
  const stop = async (): Promise<void> => {
    await operator.close();
    await platform.stop();
  };
  return { ...platform, operator, stop };
}

/** Whether the last binding that `delete --all` takes away, in the order of their names, has no effect any more. */
const gone = {
  validatingadmissionpolicybindings: async (client: KubeClient): Promise<boolean> => {
    const kubeConfigSecretRef = { namespace: systemNamespace, name: 'refused' };
    await dryRun(client, clusters, { kubeConfigSecretRef });
    return true;
  },
  mutatingadmissionpolicybindings: async (client: KubeClient): Promise<boolean> => {
    const made = await dryRun(client, ownedAccessKeys, { user: benchUser });
    return !(annotations.requester in (made.metadata.annotations ?? {}));
  },
};

async function dryRun(client: KubeClient, resource: typeof clusters, spec: object): Promise<KubeObject> {
  const { group, version, kind } = resource;
  const manifest = { apiVersion: `${group}/${version}`, kind, metadata: { name: 'bench-subset' }, spec };
  return await client.create<KubeObject>(resource, manifest, { dryRun: true });
}
