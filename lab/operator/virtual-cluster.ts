import { readFile } from 'node:fs/promises';
import { afterAll } from 'vitest';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../controlplane/control-plane.ts';
import { Api } from './api.ts';

/** The Secrets that those who run virtual clusters write: names, entries and types are theirs. */
export type SecretForm = 'vcluster' | 'cluster-api' | 'kamaji';

/** Where the administrator kubeconfig stands, as `spec.kubeConfigSecretRef` says it. */
export interface SecretPlace {
  readonly name: string;
  readonly key: string;
}

interface Form extends SecretPlace {
  readonly type: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Entries that stand beside the kubeconfig. */
  readonly others: Readonly<Record<string, string>>;
}

const forms: Readonly<Record<SecretForm, (cluster: string) => Form>> = {
  vcluster: (cluster) => ({
    name: `vc-${cluster}`,
    key: 'config',
    type: 'Opaque',
    labels: { app: 'vcluster', 'vcluster-name': cluster },
    others: { 'certificate-authority': 'a', 'client-certificate': 'b', 'client-key': 'c' },
  }),
  'cluster-api': (cluster) => ({
    name: `${cluster}-kubeconfig`,
    key: 'value',
    type: 'cluster.x-k8s.io/secret',
    labels: { 'cluster.x-k8s.io/cluster-name': cluster },
    others: {},
  }),
  kamaji: (cluster) => ({
    name: `${cluster}-admin-kubeconfig`,
    key: 'admin.conf',
    type: 'Opaque',
    labels: { 'kamaji.clastix.io/name': cluster, 'kamaji.clastix.io/component': 'kubeconfig' },
    others: { 'admin.svc': 'a', 'super-admin.conf': 'b', 'super-admin.svc': 'c' },
  }),
};

/** Where each of them puts the kubeconfig of a cluster. */
export function secretPlace(form: SecretForm, cluster: string): SecretPlace {
  const { name, key } = forms[form](cluster);
  return { name, key };
}

/** The Secret with the administrator kubeconfig of a cluster, for `createObject`. */
export function kubeConfigSecret(
  form: SecretForm,
  cluster: string,
  kubeConfig: string,
  namespace = 'default',
): object {
  const { name, key, type, labels, others } = forms[form](cluster);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type,
    metadata: { name, namespace, labels },
    stringData: { ...others, [key]: kubeConfig },
  };
}

export interface VirtualClusterOptions extends ControlPlaneOptions {
  readonly port?: number;
}

/** A second control plane: with an authority, users and signers of its own it stands for a virtual cluster. */
export class VirtualCluster {
  readonly plane: ControlPlane;
  /** The administrator inside. */
  readonly admin: Api;
  readonly #client: KubeClient;

  /** On a given port it takes the place of one that was stopped: the address of old, another authority. */
  static async start(options: VirtualClusterOptions = {}): Promise<VirtualCluster> {
    const { port, ...rest } = options;
    const choosePort = port === undefined ? {} : { choosePort: () => Promise.resolve(port) };
    return new VirtualCluster(await startControlPlane({ name: 'virtual', ...rest, ...choosePort }));
  }

  private constructor(plane: ControlPlane) {
    this.plane = plane;
    this.#client = createKubeClient({
      kubeConfig: kubeConfigSource({ file: plane.adminKubeconfig }),
      userAgent: 'latchkey-test',
    });
    this.admin = new Api(this.#client, () => undefined);
  }

  get port(): number {
    return Number(new URL(this.plane.server).port);
  }

  /** The text of an administrator kubeconfig with a client certificate: a new one for each name. */
  async adminKubeConfig(user = 'virtual-admin'): Promise<string> {
    return await readFile(await this.plane.kubeconfigFor(user, ['system:masters']), 'utf8');
  }

  /** The text of a kubeconfig with a bearer token. */
  async tokenKubeConfig(token: string): Promise<string> {
    return await readFile(await this.plane.kubeconfigWithToken('bearer', token), 'utf8');
  }

  /** A client of somebody else, with the rights that this token gives. The caller closes it. */
  async clientWith(token: string): Promise<KubeClient> {
    const file = await this.plane.kubeconfigWithToken('bearer', token);
    return createKubeClient({ kubeConfig: kubeConfigSource({ file }), userAgent: 'latchkey-test' });
  }

  async stop(): Promise<void> {
    await this.#client.close();
    await this.plane.stop();
  }
}

/** Of the shared one: an administrator with a bearer token, which passes a gate in front of it. */
export const insider = { user: 'insider', groups: ['system:masters'] };

let shared: Promise<VirtualCluster> | undefined;

/**
 * One for all files of a worker that only make objects of their own in it. It ends with the worker. A file that stops it,
 * changes how it judges, or looks at all that is in it, has its own: `virtualCluster`.
 */
export async function sharedVirtualCluster(): Promise<VirtualCluster> {
  shared ??= VirtualCluster.start({ name: 'shared-virtual', users: [insider] });
  return await shared;
}

/** One for all tests of a file; it ends after them. Call it at the top of the file. */
export async function virtualCluster(options: VirtualClusterOptions = {}): Promise<VirtualCluster> {
  const cluster = await VirtualCluster.start(options);
  afterAll(async () => await cluster.stop());
  return cluster;
}
