import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { annotations, labels, systemNamespace, systemObjects } from '../../src/api/names.ts';
import { configMaps, ownedAccessKeys } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import { isForbidden, isInvalid } from '../../src/kube/kube-error.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { shippedPolicies } from '../../src/operator/admission/generated/shipped-policies.ts';
import { policyKinds, policyResource } from '../../src/operator/admission/policy-digest.ts';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import { asAdministrator } from './administrator.ts';
import { applyKustomization } from './kustomization.ts';
import { manifestOf } from './manifest.ts';
import { until } from './until.ts';

/**
 * Applies config/default, once for each control plane, and waits until the API server acts on the policies: for a second
 * or two after they were created it refuses every object, or stamps none. What a test takes away it must bring back.
 */
export async function installLatchkey(plane: ControlPlaneAccess): Promise<void> {
  if (!existsSync(markerOf(plane))) {
    const apply = async () => await applyKustomization(plane, 'default');
    await until('kubectl apply -k config/default', apply, { timeoutMs: 120_000 });
  }
  await asAdministrator(plane, async (client) => {
    const act = async () => (await changingPoliciesAct(client)) && (await judgingPoliciesAct(client));
    await until('the policies act', act, { timeoutMs: 120_000 });
  });
  await markInstalled(plane);
}

const markerOf = ({ folder }: ControlPlaneAccess): string => path.join(folder, 'latchkey-installed');

/** For one that begins with the data of another where Latchkey was installed. */
export async function markInstalled(plane: ControlPlaneAccess): Promise<void> {
  await writeFile(markerOf(plane), '');
}

/**
 * Waits until an operator believes the stamps of what is made from now on. It does not for five seconds after the creation of
 * a policy, and refuses for good what it meets of that time.
 */
export async function untilStampsCount(
  plane: ControlPlaneAccess,
  policies = shippedPolicies.length,
): Promise<void> {
  const labelSelector = labels.policyVersion;
  const lists = await asAdministrator(plane, (client) =>
    Promise.all(policyKinds.map((kind) => client.list<KubeObject>(policyResource(kind), { labelSelector }))),
  );
  const times = lists.flatMap(({ items }) =>
    items.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '')),
  );
  if (times.length < policies) throw new Error(`there are ${times.length} policies`);
  const since = Math.max(...times) + 5_000;
  await until('what is made counts', async () => Date.now() >= since);
}

async function changingPoliciesAct(client: KubeClient): Promise<boolean> {
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

/** The API server begins with those that judge by itself, often later; what they refuse here is one of the last that are applied. */
async function judgingPoliciesAct(client: KubeClient): Promise<boolean> {
  const metadata = { name: systemObjects.discovery, namespace: systemNamespace };
  const forged = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
  const isRefused = (error: unknown) => isForbidden(error) || isInvalid(error);
  const attempt = client.create(configMaps, forged, { dryRun: true, namespace: systemNamespace });
  return await attempt.then(() => false, isRefused);
}
