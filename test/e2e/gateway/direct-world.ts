import type { Stored } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster, type VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { targetSettings } from '../../../lab/operator/world.ts';
import { group, labels } from '../../../src/api/names.ts';
import { namespaces, spaceInstances } from '../../../src/api/resources.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { makeCluster } from '../targets/target-world.ts';
import { type GatewayWorld, gatewayWorld } from './gateway-world.ts';
import { streamPath } from './live-stream.ts';

export interface IssuedToken {
  readonly object: Stored;
  readonly token: string;
  readonly hash: string;
}

/** A platform with a connected cluster, a space in it, and the agent of its direct endpoint. */
export interface DirectWorld {
  readonly world: GatewayWorld;
  readonly inside: VirtualCluster;
  readonly cluster: string;
  readonly project: string;
  readonly space: string;
  /** The key of the agent, and its object. */
  readonly agent: { readonly object: Stored; readonly key: string };
  /** A user who may enter the cluster. */
  user(): Promise<string>;
  /** A token below a key of its own. */
  token(user: string, spec?: object): Promise<IssuedToken & { readonly parent: Stored }>;
}

export interface DirectWorldOptions {
  /** Settings besides the usual ones, of the gateway and of the operator. */
  readonly gateway?: Readonly<Record<string, string>>;
  readonly operator?: Readonly<Record<string, string>>;
  /** Starts the cluster that will be connected under this name. Default: the one that files share. */
  readonly start?: (world: GatewayWorld, cluster: string) => Promise<VirtualCluster>;
  /** Of the Cluster. */
  readonly spec?: object;
}

/** Call it at the top of a file. */
export async function directWorld(options: DirectWorldOptions = {}): Promise<DirectWorld> {
  const { start = async () => await sharedVirtualCluster(), spec: ofCluster = {} } = options;
  const world = await gatewayWorld(
    { LATCHKEY_STALE_AFTER: '25s', ...options.gateway },
    { ...targetSettings, ...options.operator },
  );
  const { admin } = world;
  const clusterName = world.name('cluster');
  const inside = await start(world, clusterName);
  const project = world.name('red');
  const namespace = `p-${project}`;
  const metadata = { name: namespace, labels: { [labels.project]: project } };
  await admin.createObject(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  const { cluster: connected } = await makeCluster(
    world,
    await inside.adminKubeConfig(),
    ofCluster,
    clusterName,
  );
  const cluster = clusterName;
  const clusterRef = { cluster, namespace: 'default' };
  const space = await admin.create(spaceInstances, { clusterRef }, { name: world.name('space'), namespace });
  const rightTo = (resources: readonly string[], verbs: readonly string[]) => ({
    ...{ apiGroups: [group], resources, verbs, resourceNames: [cluster] },
  });
  const user = async () => {
    const name = world.name('user');
    await giveRight(admin, name, rightTo(['clusters'], ['use']));
    return name;
  };
  const agentUser = world.name('agent');
  await giveRight(admin, agentUser, rightTo(['clusters/livecredentials'], ['get']));
  const scope = { roles: [{ role: 'agent' }], clusters: [{ cluster }] };
  const agent = await world.holder({ user: agentUser, scope });
  await Promise.all([connected, space].map(async (one) => await admin.untilReady(one)));
  const token = async (name: string, spec: object = {}) => {
    const { object: parent } = await world.holder({ user: name });
    const accessKey = parent.metadata.name;
    const object = await admin.untilReady(await admin.createToken({ accessKey, ...spec }));
    const text = String(object.status.token);
    return { object, token: text, hash: credentialHash(text), parent };
  };
  await until('the gateway knows the agent', async () => {
    const { statusCode, body } = await world.gateway.send(streamPath(cluster).replace('?watch=true', ''), {
      key: agent.key,
    });
    await body.dump();
    return statusCode === 400;
  });
  return { world, inside, cluster, project, space: space.metadata.name, agent, user, token };
}
