import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import { kubectl } from './kubectl.ts';
import { installPlainKind } from './plain-kind.ts';
import { benchUser, type Platform, startPlatform } from './platform.ts';

/** Which kinds of bindings are taken away. */
export const subsets = {
  'all policies': [],
  'mutating only': ['validatingadmissionpolicybindings'],
  'no policies': ['validatingadmissionpolicybindings', 'mutatingadmissionpolicybindings'],
} as const satisfies Record<string, readonly string[]>;

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
  for (const bindings of subsets[subset]) await kubectl(plane, ['delete', bindings, '--all']);
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
