import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { KubeConfig, KubernetesObjectApi } from '@kubernetes/client-node';
import { runKubectl } from '../../lab/controlplane/kubectl.ts';
import { buildGoProgram } from '../../lab/go/build-program.ts';

/** The work of one client. */
export interface Reads {
  readonly requests: number;
  readonly failed: number;
  /** The first one. */
  readonly error?: string;
}

export interface ReadOrder {
  /** The program. */
  readonly kubectl: string;
  readonly kubeconfig: string;
  /** A ConfigMap. */
  readonly namespace: string;
  readonly name: string;
  /** For what is built and cached. */
  readonly folder: string;
}

type Client = (order: ReadOrder) => Promise<{ readonly stop: () => Promise<Reads> }>;

const goWorkers = 4;
const nodeWorkers = 2;

const clients: Readonly<Record<string, Client>> = {
  'client-go': async ({ kubeconfig, namespace, name, folder }) => {
    const program = path.join(folder, 'reads');
    const source = path.join(import.meta.dirname, '../peers/reverse-proxy');
    if (!(await buildGoProgram(source, program, { package: './reads' })))
      throw new Error('this needs the command go');
    const place = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    const child = spawn(program, [kubeconfig, place, String(goWorkers)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const found = text(child.stdout);
    const stop = async () => {
      child.stdin.end();
      return JSON.parse(await found) as Reads;
    };
    return { stop };
  },
  'client-node': async ({ kubeconfig, namespace, name }) => {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    const client = KubernetesObjectApi.makeApiClient(config);
    const asked = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } };
    return repeated(nodeWorkers, async () => void (await client.read(asked)));
  },
  kubectl: async ({ kubectl, kubeconfig, namespace, name, folder }) =>
    repeated(1, async () => {
      const args = ['get', 'configmap', name, '--namespace', namespace, '--output', 'name'];
      const options = { kubeconfig, cacheFolder: path.join(folder, 'kubectl-cache') };
      const { exitCode, stderr } = await runKubectl(kubectl, args, options);
      if (exitCode !== 0) throw new Error(stderr);
    }),
};

/** Has each client read an object again and again, until `stop`. */
export async function startReads(order: ReadOrder) {
  const started = await Promise.all(
    Object.entries(clients).map(async ([name, start]) => [name, await start(order)] as const),
  );
  const stop = async (): Promise<readonly (readonly [string, Reads])[]> =>
    await Promise.all(started.map(async ([name, client]) => [name, await client.stop()] as const));
  return { stop };
}

function repeated(workers: number, send: () => Promise<void>) {
  let isOver = false;
  let error: string | undefined;
  let [requests, failed] = [0, 0];
  const run = async () => {
    while (!isOver) {
      requests += 1;
      await send().catch((reason: unknown) => {
        failed += 1;
        error ??= String(reason);
      });
    }
  };
  const running = Array.from({ length: workers }, run);
  const stop = async (): Promise<Reads> => {
    isOver = true;
    await Promise.all(running);
    return { requests, failed, ...(error !== undefined && { error }) };
  };
  return { stop };
}
