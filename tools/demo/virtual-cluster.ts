import { mkdir, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { configFolder } from '../../lab/operator/kustomization.ts';
import { until } from '../../lab/operator/until.ts';
import { requireSuccess } from './cluster.ts';

/** The namespace of the sample project. */
export const projectNamespace = 'p-demo';
/** Of the pod in the virtual cluster. */
export const nodeName = 'node';

/** The platform, and the control plane that plays the virtual cluster of the samples. */
export interface Planes {
  readonly platform: ControlPlaneAccess;
  readonly virtual: ControlPlaneAccess;
}

/**
 * Makes the sample project, and the Secrets that never stand in Git: as vCluster would, and as an administrator would who
 * connects a cluster, which here is the platform's own. @throws Error with what kubectl said.
 */
export async function prepareProject({ platform, virtual }: Planes): Promise<void> {
  // For the eyes: with it, a list of namespaces is plainly not the platform's.
  requireSuccess(await virtual.kubectl(['create', 'namespace', 'shop-web']), 'kubectl create namespace');
  await playPod(virtual);
  // The space of the samples.
  requireSuccess(await platform.kubectl(['create', 'namespace', 'shop']), 'kubectl create namespace');
  const project = ['apply', '-k', path.join(configFolder, 'samples/project')];
  requireSuccess(await platform.kubectl(project), 'kubectl apply -k config/samples/project');
  const secret = async (namespace: string, name: string, kubeconfig: string): Promise<void> => {
    const create = ['create', 'secret', 'generic', name, '-n', namespace, `--from-file=config=${kubeconfig}`];
    requireSuccess(await platform.kubectl(create), `creating the Secret ${namespace}/${name}`);
  };
  await secret(projectNamespace, 'vc-shop', virtual.adminKubeconfig);
  await secret('sample-clusters', 'staging-kubeconfig', platform.adminKubeconfig);
}

/** No one runs it: the pod says that it runs. */
async function playPod(virtual: ControlPlaneAccess): Promise<void> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-0', namespace: 'shop-web' },
    spec: { containers: [{ name: 'web', image: 'web' }], nodeName },
  };
  const file = ['-f', '-'];
  await until('the ServiceAccount of the namespace is there', async () => {
    const { exitCode } = await virtual.kubectl(['create', ...file], { input: JSON.stringify(pod) });
    return exitCode === 0;
  });
  const ready = { type: 'Ready', status: 'True' };
  const container = { name: 'web', image: 'web', imageID: 'web', ready: true, restartCount: 0 };
  const containerStatuses = [{ ...container, state: { running: {} } }];
  const status = { phase: 'Running', conditions: [ready], containerStatuses };
  const patch = ['patch', 'pod', 'web-0', '-n', 'shop-web', '--subresource=status', '--type=merge'];
  const patched = await virtual.kubectl([...patch, '-p', JSON.stringify({ status })]);
  requireSuccess(patched, 'kubectl patch pod');
}

/**
 * The samples of a virtual cluster, as a kustomization over them in which the host of the ingress is its own address: there
 * is no ingress here. Returns its folder.
 */
export async function virtualClusterSamples({ platform, virtual }: Planes): Promise<string> {
  const folder = path.join(await realpath(platform.folder), 'samples');
  await mkdir(folder);
  const samples = path.join(await realpath(configFolder), 'samples');
  const { host } = new URL(virtual.server);
  const patch = [{ op: 'replace', path: '/spec/accessPoint/ingress/host', value: host }];
  const overlay = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    // kustomize refuses absolute paths.
    resources: [path.relative(folder, path.join(samples, 'virtual-cluster'))],
    patches: [{ target: { kind: 'VirtualClusterInstance', name: 'shop' }, patch: JSON.stringify(patch) }],
  };
  await writeFile(path.join(folder, 'kustomization.yaml'), stringify(overlay));
  return folder;
}
