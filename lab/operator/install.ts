import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { annotations, labels } from '../../src/api/names.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import { applyKustomization } from './kustomization.ts';
import { manifestOf } from './manifest.ts';
import { until } from './until.ts';

/**
 * Applies config/default, once for each control plane, and waits until the API server acts on the policies: for a second
 * or two after they were created it refuses every object, or stamps none. What a test takes away it must bring back.
 */
export async function installLatchkey(plane: ControlPlaneAccess): Promise<void> {
  const marker = path.join(plane.folder, 'latchkey-installed');
  if (!existsSync(marker)) {
    const apply = async () => await applyKustomization(plane, 'default');
    await until('kubectl apply -k config/default', apply, { timeoutMs: 30_000 });
  }
  const client = createKubeClient({
    kubeConfig: kubeConfigSource({ file: plane.adminKubeconfig }),
    userAgent: 'latchkey-test',
  });
  try {
    await until('the policies act', async () => await policiesAct(client), { timeoutMs: 30_000 });
  } finally {
    await client.close();
  }
  await writeFile(marker, '');
}

async function policiesAct(client: KubeClient): Promise<boolean> {
  const forged = { labels: { [labels.ephemeral]: 'true' } };
  const probe = manifestOf(ownedAccessKeys);
  const made = await client.create<KubeObject>(
    ownedAccessKeys,
    { ...probe, metadata: { ...probe.metadata, ...forged } },
    { dryRun: true },
  );
  const { annotations: stamps = {}, finalizers = [], labels: kept = {} } = made.metadata;
  return annotations.requester in stamps && finalizers.length > 0 && !(labels.ephemeral in kept);
}
