import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { buildInBackground } from '../../lab/go/build-program.ts';
import { kubeletSource, nodeStatus, runKubelet } from '../../lab/kubelet/kubelet.ts';
import { requireSuccess } from './cluster.ts';
import type { Started } from './started.ts';
import { nodeName } from './virtual-cluster.ts';

/** Longer than a build with Go's cache. The first one takes minutes, and no one waits for that. */
const patienceMs = 5_000;
const stillBuilt = 'Go still builds it, for the first time';

/** The node of the pod in the virtual cluster, which has a kubelet where Go can build it. */
export class PlayedNode {
  readonly #starting: Promise<string | undefined>;

  constructor(started: Started, virtual: ControlPlaneAccess) {
    this.#starting = startNode(started, virtual).catch(() => 'it does not start');
  }

  /** Resolves with the reason why there is no kubelet, if there is none. */
  async whyNone(): Promise<string | undefined> {
    return await Promise.race([this.#starting, delay(patienceMs, stillBuilt, { ref: false })]);
  }
}

async function startNode(started: Started, virtual: ControlPlaneAccess): Promise<string | undefined> {
  const guard = await started.guard('demo-kubelet');
  const program = path.join(guard.folder, 'kubelet');
  const problem = await buildInBackground(guard, kubeletSource, program);
  if (problem !== undefined) return problem;
  const kubelet = await runKubelet(guard, program, [virtual]);
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } };
  const made = await virtual.kubectl(['create', '-f', '-'], { input: JSON.stringify(node) });
  requireSuccess(made, 'kubectl create node');
  const patch = ['patch', 'node', nodeName, '--subresource=status', '--type=merge'];
  const status = JSON.stringify({ status: nodeStatus(kubelet) });
  requireSuccess(await virtual.kubectl([...patch, '-p', status]), 'kubectl patch node');
  return undefined;
}
