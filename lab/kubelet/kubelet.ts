import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Resource } from '../../src/api/resources.ts';
import { createAuthority, createServer } from '../controlplane/certificates.ts';
import type { ControlPlaneConnection } from '../controlplane/connection.ts';
import { kubeletClientAuthority } from '../controlplane/files.ts';
import type { Guard } from '../controlplane/guard.ts';
import { buildGoProgram } from '../go/build-program.ts';
import type { Api } from '../operator/api.ts';
import { uniqueName } from '../operator/manifest.ts';
import { until } from '../operator/until.ts';

/** A kubelet that runs commands of pods as processes of this machine. */
export interface Kubelet {
  readonly pid: number;
  /** In which commands run. */
  readonly folder: string;
  /** Of a node that leaves websockets to the API server, which speaks SPDY to it. */
  readonly port: number;
  /** Of a node that takes websockets itself. */
  readonly webSocketPort: number;
  /** The sessions that began so far: the pod, what it is, and the protocol in which the API server asked. */
  sessions(): Promise<readonly Session[]>;
  /** The commands that have ended so far, a line each. */
  ended(): Promise<readonly string[]>;
}

interface Session {
  readonly pod: string;
  readonly kind: string;
  readonly protocol: string;
}

/** Of its Go program. */
export const kubeletSource = import.meta.dirname;

type Plane = Pick<ControlPlaneConnection, 'folder'>;

/**
 * Builds it and starts it for the API servers of these control planes, and for no one else. @throws Error when the build fails, also
 * where there is no `go`.
 */
export async function startKubelet(guard: Guard, ...planes: readonly Plane[]): Promise<Kubelet> {
  const program = path.join(guard.folder, 'kubelet');
  if (!(await buildGoProgram(kubeletSource, program))) throw new Error('this test needs go');
  return await runKubelet(guard, program, planes);
}

/** Starts one that is built. */
export async function runKubelet(guard: Guard, program: string, planes: readonly Plane[]): Promise<Kubelet> {
  const place = path.join(guard.folder, 'of-kubelet');
  const folder = path.join(place, 'commands');
  await mkdir(folder, { recursive: true });
  const served = createServer(createAuthority('kubelet-ca'), ['localhost']);
  const authorities = planes.map(
    async (plane) => await readFile(path.join(plane.folder, kubeletClientAuthority)),
  );
  await writeFile(path.join(place, 'clients.crt'), Buffer.concat(await Promise.all(authorities)));
  await writeFile(path.join(place, 'kubelet.crt'), served.certificate);
  await writeFile(path.join(place, 'kubelet.key'), served.key, { mode: 0o600 });
  const { logPath, pid } = await guard.run({
    name: 'kubelet',
    command: program,
    args: ['kubelet.crt', 'kubelet.key', 'clients.crt', folder],
    cwd: place,
  });
  const log = async () => await readFile(logPath, 'utf8');
  const [, port, webSocketPort] = await until(
    'the kubelet',
    async () => /^ports (\d+) (\d+)$/m.exec(await log()) ?? undefined,
  );
  const sessions = async () =>
    [...(await log()).matchAll(/^session (\S+) (\S+) (\S+)$/gm)].map(
      ([, pod = '', kind = '', protocol = '']) => ({ pod, kind, protocol }),
    );
  const ended = async () => [...(await log()).matchAll(/^ended (.*)$/gm)].map(([, command = '']) => command);
  return { pid, folder, port: Number(port), webSocketPort: Number(webSocketPort), sessions, ended };
}

const nodes: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
const pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };

export interface NodeOptions {
  readonly port: number;
  /** The API server passes websockets on to such a node. */
  readonly takesWebSockets?: boolean;
}

/** The status of a node with its kubelet at this port of loopback. */
export const nodeStatus = ({ port, takesWebSockets = false }: NodeOptions): object => ({
  addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
  daemonEndpoints: { kubeletEndpoint: { Port: port } },
  declaredFeatures: takesWebSockets ? ['ExtendWebSocketsToKubelet'] : [],
});

/** Makes a node with its kubelet at this port, and a running pod on it in `default`. Returns the name of the pod. */
export async function makePod(admin: Api, options: NodeOptions): Promise<string> {
  const [node, pod] = [uniqueName('node'), uniqueName('pod')];
  await admin.createObject(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
  const status = nodeStatus(options);
  await admin.client.mergePatch(nodes, { name: node }, { status }, { subresource: 'status' });
  const containers = [{ name: 'main', image: 'none' }];
  await admin.createObject(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod, namespace: 'default' },
    spec: {
      nodeName: node,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers,
    },
  });
  const containerStatuses = [
    { name: 'main', ready: true, restartCount: 0, image: 'none', imageID: 'none', state: { running: {} } },
  ];
  await admin.client.mergePatch(
    pods,
    { name: pod, namespace: 'default' },
    { status: { phase: 'Running', containerStatuses } },
    { subresource: 'status' },
  );
  return pod;
}
