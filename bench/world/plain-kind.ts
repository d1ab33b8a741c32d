import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import type { Resource } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { apply } from './apply.ts';
import { kubectl } from './kubectl.ts';
import { benchUser } from './platform.ts';

/** A kind that no one watches or judges: what the API server alone takes for a custom resource. */
export const plainObjects: Resource = {
  group: 'bench.example.com',
  version: 'v1',
  plural: 'plainobjects',
  kind: 'PlainObject',
  namespaced: false,
};

const written = 'written';

/** A create and two changes: as many writes as a key costs that the operator makes. */
export async function writeByHand(client: KubeClient, name: string): Promise<void> {
  const { group, version, kind } = plainObjects;
  const metadata = { name };
  await client.create(plainObjects, { apiVersion: `${group}/${version}`, kind, metadata, spec: {} });
  for (const displayName of ['changed', written])
    await client.mergePatch(plainObjects, metadata, { spec: { displayName } });
}

/** Whether `writeByHand` is through with it. */
export function isWritten({ spec }: KubeObject & { readonly spec?: { displayName?: string } }): boolean {
  return spec?.displayName === written;
}

/** Resolves when the kind is served and these users may do everything with it. */
export async function installPlainKind(
  plane: ControlPlaneAccess,
  users: readonly string[] = [benchUser],
): Promise<void> {
  const { plural } = plainObjects;
  const definition = definitionOf(plainObjects);
  const { name } = definition.metadata;
  await apply(plane, [definition]);
  await kubectl(plane, ['wait', '--for=condition=Established', '--timeout=60s', `crd/${name}`]);
  await kubectl(plane, ['create', 'clusterrole', plural, '--verb=*', `--resource=${name}`]);
  const role = [`--clusterrole=${plural}`, ...users.map((user) => `--user=${user}`)];
  await kubectl(plane, ['create', 'clusterrolebinding', plural, ...role]);
}

function definitionOf({ group, version, plural, kind }: Resource) {
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { displayName: { type: 'string' } } } },
    },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: 'Cluster',
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}
