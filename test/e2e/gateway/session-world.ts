import { type Kubelet, makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { type FourTargets, fourTargets } from './four-targets.ts';
import { knownHolder, untilReached } from './known-holder.ts';

/** The rights that `exec`, `attach`, `port-forward`, `cp`, `logs` and a watch of pods need. */
export const sessionRights = {
  apiGroups: [''],
  resources: ['pods/exec', 'pods/attach', 'pods/portforward', 'pods/log', 'pods'],
  verbs: ['get', 'create', 'list', 'watch'],
};

/** How a node is asked for a session that a client wants over a websocket. */
export const nodeKinds = ['is asked over SPDY', 'takes websockets itself'] as const;
export type NodeKind = (typeof nodeKinds)[number];

export interface SessionWorld extends FourTargets {
  readonly kubelet: Kubelet;
  /** Of the user, who may open sessions in each target. */
  readonly key: string;
  /** The name of a pod on such a node, which is for this target alone. */
  podIn(target: string, node: NodeKind): string;
}

/** Four targets with a pod on a node of each kind. Call it at the top of a file. */
export async function sessionWorld(): Promise<SessionWorld> {
  const targets = await fourTargets();
  const { world, user, paths } = targets;
  const inside = await sharedVirtualCluster();
  const kubelet = await startKubelet(world.guard, world.plane, inside.plane);
  const { port, webSocketPort } = kubelet;
  const admins = [world.admin, inside.admin];
  await Promise.all(admins.map(async (admin) => await giveRight(admin, user, sessionRights)));
  // Three of the targets lead to the same API server. A pod for each shows by which a session came.
  const made = Object.keys(paths).map(async (target) => {
    const admin = target === 'platform' ? world.admin : inside.admin;
    const [plain, modern] = await Promise.all([
      makePod(admin, { port }),
      makePod(admin, { port: webSocketPort, takesWebSockets: true }),
    ]);
    return [target, { 'is asked over SPDY': plain, 'takes websockets itself': modern }] as const;
  });
  const pods = new Map<string, Readonly<Record<NodeKind, string>>>(await Promise.all(made));
  const { key } = await knownHolder(world, { user });
  for (const target of Object.values(paths)) await untilReached(world.gateway, key, target);
  const podIn = (target: string, node: NodeKind) => pods.get(target)?.[node] ?? 'none';
  return { ...targets, kubelet, key, podIn };
}
