import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Resource } from '../../src/api/resources.ts';
import { createAuthority, createServer } from '../controlplane/certificates.ts';
import type { Guard } from '../controlplane/guard.ts';
import { buildGoProgram } from '../go/build-program.ts';
import type { Api } from '../operator/api.ts';
import { uniqueName } from '../operator/manifest.ts';
import { until } from '../operator/until.ts';

/** A kubelet that runs commands of pods as processes of this machine. */
export interface Kubelet {
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

/** Builds it and starts it. @throws Error when the build fails, also where there is no `go`. */
export async function startKubelet(guard: Guard): Promise<Kubelet> {
  const [program, certificate, key] = ['kubelet', 'kubelet.crt', 'kubelet.key'].map((file) =>
    path.join(guard.folder, file),
  ) as [string, string, string];
  if (!(await buildGoProgram(import.meta.dirname, program))) throw new Error('this test needs go');
  const served = createServer(createAuthority('kubelet-ca'), ['localhost']);
  await writeFile(certificate, served.certificate);
  await writeFile(key, served.key, { mode: 0o600 });
  const { logPath } = await guard.run({ name: 'kubelet', command: program, args: [certificate, key] });
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
  return { port: Number(port), webSocketPort: Number(webSocketPort), sessions, ended };
}

const nodes: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
const pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };

export interface NodeOptions {
  readonly port: number;
  /** The API server passes websockets on to such a node. */
  readonly takesWebSockets?: boolean;
}

/** Makes a node with its kubelet at this port, and a running pod on it in `default`. Returns the name of the pod. */
export async function makePod(admin: Api, { port, takesWebSockets = false }: NodeOptions): Promise<string> {
  const [node, pod] = [uniqueName('node'), uniqueName('pod')];
  await admin.createObject(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
  const address = [{ type: 'InternalIP', address: '127.0.0.1' }];
  const declaredFeatures = takesWebSockets ? ['ExtendWebSocketsToKubelet'] : [];
  await admin.client.mergePatch(
    nodes,
    { name: node },
    {
      status: {
        addresses: address,
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
        declaredFeatures,
      },
    },
    { subresource: 'status' },
  );
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
