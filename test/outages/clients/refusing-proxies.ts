import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { base64, writeKubeconfig } from '../../../lab/controlplane/kubeconfig.ts';
import { refusals, startTLSProxy, type TLSProxy } from '../../../lab/gateway/tls-proxy.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { bindRole } from '../../../lab/operator/rights.ts';
import { sharedVirtualCluster, type VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { serviceAccounts } from '../../../src/api/resources.ts';
import { untilReached } from '../../e2e/gateway/known-holder.ts';
import { nodeKinds, type SessionWorld } from '../../e2e/gateway/session-world.ts';
import { makeCluster } from '../../e2e/targets/target-world.ts';

interface Refusing {
  readonly place: string;
  readonly how: keyof typeof refusals;
  /** Leads by way of the proxy into a target. */
  readonly kubeconfig: string;
  /** Of the target, behind `/kubernetes/`. */
  readonly path: string;
  /** In that target. */
  readonly pod: string;
  readonly proxy: TLSProxy;
}

/** Proxies that let no websocket pass, and answer at once: one of each kind in front of the gateway, and one between it and a target. */
export async function refusingProxies(sessions: SessionWorld): Promise<readonly Refusing[]> {
  const ways = ['refuses websockets', 'drops the header of websockets'] as const;
  return await Promise.all(
    ways.flatMap((how) => [inFrontOfGateway(sessions, how), inFrontOfTarget(sessions, how)]),
  );
}

/** A target behind one that takes its time. */
export const lateTarget = async (sessions: SessionWorld): Promise<Refusing> =>
  await inFrontOfTarget(sessions, 'refuses websockets after two seconds');

async function inFrontOfGateway(sessions: SessionWorld, how: keyof typeof refusals): Promise<Refusing> {
  const { world, paths, key, podIn } = sessions;
  const { gateway, guard } = world;
  const name = uniqueName('front');
  const proxy = await startTLSProxy(guard, { name, port: gateway.port, ca: gateway.ca }, refusals[how]);
  const server = `${proxy.url}/kubernetes/${paths.space}`;
  const place = { name, server, caData: base64(proxy.ca), folder: guard.folder };
  const kubeconfig = await writeKubeconfig(place, 'holder', { token: key });
  const pod = podIn('space', nodeKinds[1]);
  return { place: 'in front of the gateway', how, kubeconfig, path: paths.space, pod, proxy };
}

async function inFrontOfTarget(sessions: SessionWorld, how: keyof typeof refusals): Promise<Refusing> {
  const { world, key, podIn } = sessions;
  const { gateway, guard, admin } = world;
  const inside = await sharedVirtualCluster();
  const name = uniqueName('behind');
  const ca = await readFile(path.join(inside.plane.folder, 'pki/ca.crt'), 'utf8');
  const proxy = await startTLSProxy(guard, { name, port: inside.port, ca }, refusals[how]);
  const place = { name, server: proxy.url, caData: base64(proxy.ca), folder: guard.folder };
  // No client certificate would pass: the proxy ends TLS.
  const file = await writeKubeconfig(place, 'administrator', {
    token: await administratorToken(inside, name),
  });
  const { cluster } = await makeCluster(world, await readFile(file, 'utf8'));
  await admin.untilReady(cluster);
  const target = `cluster/${cluster.metadata.name}`;
  await untilReached(gateway, key, target);
  const kubeconfig = await gateway.kubeconfig(key, target);
  const pod = podIn('cluster', nodeKinds[1]);
  return { place: 'in front of the target', how, kubeconfig, path: target, pod, proxy };
}

async function administratorToken({ admin }: VirtualCluster, name: string): Promise<string> {
  const namespace = 'default';
  await admin.createObject(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace },
  });
  await bindRole(admin, `system:serviceaccount:${namespace}:${name}`, 'cluster-admin');
  const request = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await admin.client.request<{ status: { token: string } }>('POST', request, { body });
  return status.token;
}
