import { stringify } from 'yaml';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import type { Applied } from '../../lab/operator/kubectl.ts';

export interface Documented {
  /** Who applies the manifests. */
  readonly reader: string;
  /** Host and port of the virtual cluster, for kubeconfigs that lead there. */
  readonly host: string;
  readonly manifests: readonly Applied[];
}

interface TargetSpec {
  readonly user?: string;
  readonly virtualClusterInstance?: string;
  readonly secretRef?: { readonly namespace?: string };
  readonly clusterRef?: { readonly virtualCluster?: string };
  readonly kubeConfigSecretRef?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly key?: string;
  };
}

const rbac = { apiGroup: 'rbac.authorization.k8s.io' };
const useRole = 'documents-use-as-admin';

/**
 * Makes what the manifests of documents take for granted: the namespaces of projects, the Secrets with the administrator
 * kubeconfig that instances and clusters refer to, the instances of kubeconfigs that stand there alone, and for everybody in
 * them the verbs `use` and `use-as-admin`. Resolves with what takes all of it away. @throws Error with what kubectl said.
 */
export async function documentWorld(
  plane: ControlPlaneAccess,
  kubeConfig: string,
  { reader, host, manifests }: Documented,
): Promise<() => Promise<void>> {
  const instances = missingInstances(manifests, host);
  const secrets = [...manifests, ...instances]
    .map((manifest) => secretOf(manifest, kubeConfig))
    .filter((one) => one !== undefined);
  const places = [
    ...[...manifests, ...secrets].map(({ metadata }) => metadata.namespace),
    ...manifests.map(({ spec }) => (spec as TargetSpec | undefined)?.secretRef?.namespace),
  ];
  const namespaces = [...new Set(places)].filter(isMade);
  const users = [reader, ...manifests.map(({ spec }) => (spec as TargetSpec | undefined)?.user)];
  const first = [...namespaces.map(namespaceOf), ...useBy(users.filter(isMade))];
  await untilGone(plane, namespaces);
  await send(plane, 'apply', first);
  await send(plane, 'apply', [...secrets, ...instances]);
  return async () => {
    await send(plane, 'delete', instances);
    await send(plane, 'delete', first, '--wait=false');
  };
}

/** A file before may have left it to the namespace controller to end these, which takes its time. */
export async function untilGone(plane: ControlPlaneAccess, namespaces: readonly string[]): Promise<void> {
  const names = namespaces.map((name) => `namespace/${name}`);
  const { exitCode, stderr } = await plane.kubectl(['wait', '--for=delete', '--timeout=120s', ...names]);
  if (exitCode !== 0) throw new Error(`kubectl wait: ${stderr}`);
}

/** Named, and not there anyway. */
const isMade = (name: string | undefined): name is string => name !== undefined && name !== 'default';

const namespaceOf = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    ...(name.startsWith('p-') && { labels: { 'management.platform.sh/project': name.slice(2) } }),
  },
});

const useBy = (users: readonly string[]): object[] => [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: useRole },
    rules: [
      {
        apiGroups: ['management.platform.sh'],
        resources: ['virtualclusterinstances'],
        verbs: ['use', 'use-as-admin'],
      },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: useRole },
    roleRef: { ...rbac, kind: 'ClusterRole', name: useRole },
    subjects: [...new Set(users)].map((name) => ({ ...rbac, kind: 'User', name })),
  },
];

function missingInstances(manifests: readonly Applied[], host: string): Applied[] {
  const placeOf = (namespace: string | undefined, name: string) => `${namespace ?? 'default'}/${name}`;
  const instances = manifests.filter(({ kind }) => kind === 'VirtualClusterInstance');
  const made = new Set(instances.map(({ metadata }) => placeOf(metadata.namespace, metadata.name)));
  const missing = new Map<string, Applied>();
  for (const { kind, apiVersion, metadata, spec } of manifests) {
    if (kind !== 'VirtualClusterInstanceKubeConfig') continue;
    const name = (spec as TargetSpec | undefined)?.virtualClusterInstance ?? metadata.name;
    const place = placeOf(metadata.namespace, name);
    const ingress = { enabled: true, host };
    const instance = { apiVersion, kind: 'VirtualClusterInstance', spec: { accessPoint: { ingress } } };
    if (!made.has(place)) missing.set(place, { ...instance, metadata: { ...metadata, name } });
  }
  return [...missing.values()];
}

/** The Secret that an instance or a cluster reads. */
function secretOf({ kind, metadata, spec }: Applied, kubeConfig: string): (Applied & object) | undefined {
  const { clusterRef, kubeConfigSecretRef: reference } = (spec ?? {}) as TargetSpec;
  const isInstance = kind === 'VirtualClusterInstance';
  if (!isInstance && (kind !== 'Cluster' || reference === undefined)) return undefined;
  const name = reference?.name ?? `vc-${clusterRef?.virtualCluster ?? metadata.name}`;
  const namespace = (isInstance ? metadata.namespace : reference?.namespace) ?? 'default';
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    stringData: { [reference?.key ?? 'config']: kubeConfig },
  } as Applied;
}

async function send(
  plane: ControlPlaneAccess,
  verb: string,
  objects: readonly object[],
  ...flags: string[]
): Promise<void> {
  if (objects.length === 0) return;
  const input = objects.map((object) => stringify(object)).join('---\n');
  const { exitCode, stderr } = await plane.kubectl([verb, '-f', '-', ...flags], { input });
  if (exitCode !== 0) throw new Error(`kubectl ${verb}: ${stderr}`);
}
