import { setTimeout as delay } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { apiVersion } from '../../src/api/names.ts';
import {
  certificateSigningRequests,
  clusterRoleBindings,
  namespaces,
  virtualClusterInstanceKubeConfigs,
} from '../../src/api/resources.ts';
import { createCertificateRequest } from '../../src/credentials/certificates/certificate-request.ts';
import { kubeConfigDocument } from '../../src/credentials/kubeconfig-document.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { KubeError } from '../../src/kube/kube-error.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { nameOf } from '../world/objects.ts';
import type { Platform } from '../world/platform.ts';
import { ReadyWatch } from '../world/ready-watch.ts';
import { instance, type VirtualCluster } from '../world/virtual-cluster.ts';

/** Milliseconds from the start of the first request. */
export interface Times {
  /** Until the holder has a kubeconfig. */
  readonly issued: number;
  /** Until a first request with it has been allowed; absent where nothing can answer such a request. */
  readonly usable?: number;
}

/** A way to come to a kubeconfig. */
export interface Flow {
  readonly once: (index: number) => Promise<Times>;
  readonly close: () => void;
}

const seconds = 3600;
/** The API server learns of a binding by a watch of its own. */
const retryMs = 2;
const patienceMs = 30_000;

/** By a VirtualClusterInstanceKubeConfig. A token is for the gateway, so only a certificate is put to use. */
export async function byObject(
  platform: Platform,
  cluster: VirtualCluster,
  clientCert: boolean,
): Promise<Flow> {
  const { client } = platform;
  const resource = virtualClusterInstanceKubeConfigs;
  const watch = await ReadyWatch.open(client, resource);
  const { namespace } = instance;
  const spec = { virtualClusterInstance: instance.name, clientCert, certificateTTL: seconds };
  const server = clientCert ? { server: cluster.plane.server } : {};
  const once = async (index: number): Promise<Times> => {
    const name = nameOf(clientCert ? 'certificate' : 'token', index);
    const manifest = {
      apiVersion,
      kind: resource.kind,
      metadata: { name, namespace },
      spec: { ...spec, ...server },
    };
    const seen = watch.expect(name);
    const start = performance.now();
    await client.create(resource, manifest, { namespace });
    const { ready, object } = await seen;
    const { kubeConfig } = (object as KubeObject & { status?: { kubeConfig?: string } }).status ?? {};
    if (kubeConfig === undefined) throw new Error(`${resource.kind} ${name} is ready without a kubeconfig`);
    const issued = ready - start;
    if (!clientCert) return { issued };
    return { issued, usable: (await allowedAt(kubeConfig)) - start };
  };
  return { once, close: () => watch.close() };
}

/** The same steps by hand, one after the other, as an administrator of the virtual cluster. */
export async function byHand({ client, plane }: VirtualCluster): Promise<Flow> {
  const watch = await ReadyWatch.open(
    client,
    certificateSigningRequests,
    (object) => certificateOf(object) !== undefined,
  );
  const ca = Buffer.from(plane.caData, 'base64').toString();
  const once = async (index: number): Promise<Times> => {
    const name = nameOf('by-hand', index);
    const seen = watch.expect(name);
    const start = performance.now();
    const { request, privateKey } = createCertificateRequest({ commonName: name, organization: name });
    const created = await client.create<KubeObject>(
      certificateSigningRequests,
      signingRequest(name, request),
    );
    const approval = { type: 'Approved', status: 'True', reason: 'ByHand', message: 'by the benchmark' };
    const approved = { ...created, status: { conditions: [approval] } };
    await client.replace(certificateSigningRequests, { name }, approved, { subresource: 'approval' });
    const { object } = await seen;
    const certificate = certificateOf(object) ?? '';
    await client.create(clusterRoleBindings, binding(name));
    const user = { certificate, key: privateKey };
    const kubeConfig = kubeConfigDocument({ server: plane.server, ca, name, user });
    const issued = performance.now() - start;
    return { issued, usable: (await allowedAt(kubeConfig)) - start };
  };
  return { once, close: () => watch.close() };
}

function signingRequest(name: string, request: string): object {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: certificateSigningRequests.kind,
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
      expirationSeconds: seconds,
    },
  };
}

function binding(name: string): object {
  const apiGroup = 'rbac.authorization.k8s.io';
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: clusterRoleBindings.kind,
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup, kind: 'User', name }],
  };
}

function certificateOf(object: KubeObject): string | undefined {
  const { certificate } = (object as KubeObject & { status?: { certificate?: string } }).status ?? {};
  return certificate === undefined ? undefined : Buffer.from(certificate, 'base64').toString();
}

/**
 * A new client with this kubeconfig gets a namespace until it may: when it did, on the clock of `performance.now()`. A list would not do:
 * after any write the API server answers one up to 100 ms late, when its cache is up to date.
 */
async function allowedAt(document: string): Promise<number> {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(document);
  const client = createKubeClient({ kubeConfig, userAgent: 'latchkey-bench' });
  const end = performance.now() + patienceMs;
  try {
    while (!(await isAllowed(client))) {
      if (performance.now() > end) throw new Error('the kubeconfig allows nothing');
      await delay(retryMs);
    }
    return performance.now();
  } finally {
    await client.close();
  }
}

async function isAllowed(client: KubeClient): Promise<boolean> {
  try {
    await client.get(namespaces, { name: 'kube-system' });
    return true;
  } catch (error) {
    if (error instanceof KubeError && error.status === 403) return false;
    throw error;
  }
}
