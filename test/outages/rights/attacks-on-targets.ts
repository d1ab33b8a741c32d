import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { type Api, resourceOf, type Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { until } from '../../../lab/operator/until.ts';
import { kubeConfigSecret } from '../../../lab/operator/virtual-cluster.ts';
import type { World } from '../../../lab/operator/world.ts';
import { annotations, group, labels } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  clusters,
  namespaces,
  type Resource,
  secrets,
  spaceInstances,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import type { Person } from '../../e2e/rights/people.ts';
import { accessSecretOf } from '../../e2e/targets/target-world.ts';

const namespace = 'default';
const used = { namespace, name: 'vc-in-use', key: 'config' };
/** An administrator kubeconfig that leads somewhere, and that a stranger may not get. */
export const ofOthers = { namespace, name: 'vc-of-others', key: 'config' };

/** With the instance that is in use: kubeconfigs are for those of projects. */
export const projectNamespace = 'p-standing';
/** The spec of a kubeconfig for that instance. */
export const ofStanding = { certificateTTL: 600, virtualClusterInstance: 'standing' };

/** A target that is in use, and what it names. */
export interface StandingTarget {
  readonly on: Stored;
  readonly named: object;
  /** All that a stranger would have it name. */
  readonly other: object;
}

/**
 * A target of each kind, in use. The platform itself is what they lead to, for one control plane is enough. Their definitions let what they
 * name change, as one may have them do who changes definitions: the operator has to notice by itself.
 */
export async function makeTargets({ admin, plane }: World): Promise<readonly StandingTarget[]> {
  const kubeConfig = await readFile(plane.adminKubeconfig, 'utf8');
  await admin.client.create(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: projectNamespace, labels: { [labels.project]: 'standing' } },
  });
  for (const { name } of [used, ofOthers])
    for (const place of [namespace, projectNamespace])
      await admin.createObject(
        secrets,
        kubeConfigSecret('vcluster', name.replace('vc-', ''), kubeConfig, place),
      );
  const cluster = 'standing';
  const kinds = [
    [clusters, { kubeConfigSecretRef: used }, { kubeConfigSecretRef: ofOthers }],
    [
      spaceInstances,
      { clusterRef: { cluster, namespace } },
      { clusterRef: { cluster, namespace: 'kube-system' } },
    ],
    [
      virtualClusterInstances,
      { kubeConfigSecretRef: { name: used.name } },
      { kubeConfigSecretRef: { name: ofOthers.name } },
    ],
  ] as const;
  return await concurrently(kinds, async ([resource, named, other]) => {
    const place = resource === virtualClusterInstances ? { namespace: projectNamespace } : {};
    const on = await admin.untilReady(await admin.create(resource, named, { name: cluster, ...place }));
    await loosen(plane, resource);
    await until(
      `the definition of ${resource.kind} lets it change`,
      async () =>
        await admin.patch(on, { spec: other }, { dryRun: true }).then(
          () => true,
          () => false,
        ),
    );
    return { on, named, other };
  });
}

async function loosen(plane: World['plane'], { plural }: Resource): Promise<void> {
  const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations';
  const patch = JSON.stringify([{ op: 'remove', path }]);
  const { exitCode, stderr } = await plane.kubectl([
    ...['patch', 'crd', `${plural}.${group}`, '--type=json', '-p', patch],
  ]);
  if (exitCode !== 0) throw new Error(stderr);
}

/** Has each of them name something else, as if an administrator wished it. @throws Error when that is refused. */
export async function changeTargets(by: Person, targets: readonly StandingTarget[]): Promise<void> {
  const metadata = {
    annotations: {
      [annotations.changedBy]: 'platform-admin',
      [annotations.changedByGroups]: '["system:masters"]',
    },
  };
  await concurrently(targets, async ({ on, other }) => {
    const { status, body } = await by.patch(on, resourceOf(on), { metadata, spec: other });
    if (status !== 200) throw new Error(`${on.kind}: ${body.message}`);
  });
}

/** The change is refused, and they go on as they were. */
export async function expectChangesRefused(admin: Api, targets: readonly StandingTarget[]): Promise<void> {
  await concurrently(targets, async ({ on }) => {
    const { status } = await admin.untilRefused(on, reasons.requesterUnknown, { timeoutMs: 90_000 });
    expect(status.confirmed).toEqual(on.status.confirmed);
  });
}

export async function expectNeverConnected(admin: Api, made: readonly Stored[]): Promise<void> {
  await concurrently(made, async (object) => {
    expect(await admin.find(accessSecretOf(object))).toBeUndefined();
  });
}

/** An administrator puts back what they name, and they are Ready again. */
export async function putBack(admin: Api, targets: readonly StandingTarget[]): Promise<void> {
  await concurrently(targets, async ({ on, named }) => {
    await admin.patch(on, { spec: named });
    await admin.untilReady(on, { timeoutMs: 90_000 });
  });
}
