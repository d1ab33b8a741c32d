import { afterAll } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { type Manifest, manifestOf } from '../../../lab/operator/manifest.ts';
import {
  clusters,
  credentialLocks,
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { isNotFound, KubeError } from '../../../src/kube/kube-error.ts';
import type { KubeObject } from '../../../src/kube/object.ts';

export const kinds: readonly Resource[] = [
  ownedAccessKeys,
  directClusterEndpointTokens,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
  spaceInstances,
  clusters,
];

/** An object as it came back. */
export interface Stored extends KubeObject {
  // biome-ignore lint/suspicious/noExplicitAny: the JSON that the API server sent, looked into by assertions.
  spec: any;
  // biome-ignore lint/suspicious/noExplicitAny: the same.
  status: any;
}

/**
 * The definitions on the shared API server. Other tests may have installed the admission policies there; whatever is done
 * here comes out the same with and without them.
 */
export interface World {
  readonly plane: ControlPlaneAccess;
  readonly admin: KubeClient;
  /** Has a name that no policy takes for an identity. */
  readonly systemUser: KubeClient;
  /** May write status. */
  readonly operator: KubeClient;
  /** Stores an object, and deletes it after the tests of the file. */
  store(resource: Resource, manifest: Manifest): Promise<Stored>;
}

/** Call it once a file, outside of `describe`: what it stores and opens goes after all tests of the file. */
export async function crdWorld(): Promise<World> {
  const plane = await sharedControlPlane();
  const clients: KubeClient[] = [];
  const stored: [Resource, Manifest][] = [];
  const clientOf = async (user: string): Promise<KubeClient> => {
    const file = await plane.kubeconfigFor(user, ['system:masters']);
    const client = createKubeClient({ kubeConfig: kubeConfigSource({ file }), userAgent: 'crd-test' });
    clients.push(client);
    return client;
  };
  installed ??= install(plane).catch((error: unknown) => {
    installed = undefined;
    throw error;
  });
  await installed;
  const admin = await clientOf('crd-admin');
  afterAll(async () => {
    for (const [resource, { metadata }] of stored) await remove(admin, resource, metadata);
    await Promise.all(clients.map((client) => client.close()));
  });
  return {
    plane,
    admin,
    systemUser: await clientOf('system:crd-test'),
    operator: await clientOf('system:serviceaccount:latchkey-system:latchkey-operator'),
    store: async (resource, manifest) => {
      stored.push([resource, manifest]);
      return await admin.create<Stored>(resource, manifest, inNamespaceOf(manifest));
    },
  };
}

/** Why the API server refuses the manifest, without the name of the object; `accepted` when it does not. */
export async function verdict(client: KubeClient, resource: Resource, spec: unknown): Promise<string> {
  const manifest = manifestOf(resource, spec);
  const options = { ...inNamespaceOf(manifest), dryRun: true, fieldValidation: 'Strict' as const };
  return await refusalOf(client.create(resource, manifest, options));
}

/** The text of a 422; `accepted` when the request succeeds. Anything else rejects. */
export async function refusalOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return 'accepted';
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const text = error.statusMessage.replace(/^.*? is invalid: /, '').replaceAll(notChecked, '');
    return text.replace(/^\[(.*)\]$/, '$1');
  }
}

/** Said by the API server when the types are wrong, so that rules could not run. */
const notChecked =
  ', <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** An object of the API server in the form in which it goes back to it. */
export const keyOf = ({ metadata }: Manifest | Stored): { name: string; namespace?: string } => ({
  name: metadata.name,
  ...inNamespaceOf({ metadata }),
});

function inNamespaceOf({ metadata }: { metadata: { namespace?: string } }): { namespace?: string } {
  return metadata.namespace === undefined ? {} : { namespace: metadata.namespace };
}

/** On the control plane that the files of a worker share. */
let installed: Promise<void> | undefined;

async function install({ kubectl }: ControlPlaneAccess): Promise<void> {
  await succeed(kubectl(['apply', '--server-side', '--force-conflicts', '-k', 'crds']));
  const names = [...kinds, credentialLocks].map(({ plural, group }) => `crd/${plural}.${group}`);
  await succeed(kubectl(['wait', '--for=condition=Established', '--timeout=120s', ...names]));
}

export async function succeed(
  running: Promise<{ stdout: string; stderr: string; exitCode: number }>,
): Promise<string> {
  const { stdout, stderr, exitCode } = await running;
  if (exitCode !== 0) throw new Error(`kubectl failed: ${stderr}`);
  return stdout;
}

async function remove(admin: KubeClient, resource: Resource, metadata: Manifest['metadata']): Promise<void> {
  const key = keyOf({ metadata } as Manifest);
  try {
    await admin.delete(resource, key);
    await admin.mergePatch(resource, key, { metadata: { finalizers: null } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
