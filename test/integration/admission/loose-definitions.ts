import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { group } from '../../../src/api/names.ts';
import type { Resource } from '../../../src/api/resources.ts';

/** The kinds, accepting anything, as they are before config/default gives them their schemas. */
export async function looseDefinitions(
  plane: ControlPlaneAccess,
  resources: readonly Resource[],
): Promise<void> {
  const items = resources.map(({ kind, plural, namespaced }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  }));
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await kubectl(plane, ['create', '-f', '-'], input);
  await kubectl(plane, ['wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s']);
}

async function kubectl(plane: ControlPlaneAccess, args: readonly string[], input?: string): Promise<void> {
  const { exitCode, stderr } = await plane.kubectl(args, input === undefined ? {} : { input });
  if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
}
