import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import type { Guard, GuardedProcess, ProcessSpec } from '../../lab/controlplane/guard.ts';
import { freePort } from '../../lab/controlplane/ports.ts';
import { type GatewayOptions, RunningGateway } from '../../lab/gateway/running-gateway.ts';
import { buildGoProgram } from '../../lab/go/build-program.ts';
import { shippedNodeOptions } from '../../lab/operator/node-options.ts';
import { accountKubeconfig } from '../../lab/operator/running-operator.ts';
import { until } from '../../lab/operator/until.ts';
import { extras } from '../../src/api/names.ts';
import { impersonationHeaders } from '../../src/kube/client/impersonation.ts';
import type { GatewayPlatform } from './gateway-platform.ts';
import { secretOf, storedKey } from './stored-keys.ts';

/** Something that answers requests for objects of the platform. */
export interface Endpoint {
  readonly name: string;
  /** With what stands before the paths of the API server. */
  readonly url: string;
  /** The process under test. */
  readonly pid: number;
  /** Headers from the holder of the key with this number. */
  readonly headers: (key: number) => Readonly<Record<string, string>>;
}

const platformPath = '/kubernetes/management';
/** With 100,000 credentials, on a machine that does something else meanwhile: a gateway alone takes half a minute there. */
export const readyTimeoutMs = 300_000;

export const withKey = (key: number) => ({ Authorization: `Bearer ${secretOf(key)}` });

/** The API server, asked by a user of its own. */
export function direct({ plane, pids, userToken }: GatewayPlatform): Endpoint {
  const headers = () => ({ Authorization: `Bearer ${userToken}` });
  return { name: 'limit: the API server directly', url: plane.server, pid: pids.apiServer, headers };
}

/** The API server, asked as the gateway asks it for the holder of the first key: the checks of that are the API server's own work. */
export async function impersonating(platform: GatewayPlatform): Promise<Endpoint> {
  const headers = await identityHeaders(platform);
  const name = 'limit: the same, asked as the gateway asks';
  return { name, url: platform.plane.server, pid: platform.pids.apiServer, headers: () => headers };
}

/** Builds the headers that the gateway adds for the first key to those of the client. */
export async function identityHeaders({ plane }: GatewayPlatform): Promise<Readonly<Record<string, string>>> {
  const kubeconfig = parse(await readFile(await accountKubeconfig(plane, 'latchkey-gateway'), 'utf8'));
  const { metadata, spec } = storedKey(0, { now: Date.now() });
  const { user, groups } = spec as unknown as { user: string; groups: string[] };
  const accessKey = [`${metadata.name}/${metadata.uid}`];
  const extra = { [extras.accessKey]: accessKey, [extras.accessKeyLimited]: ['true'] };
  const names = impersonationHeaders({ user, groups, extra });
  const pairs = names.flatMap((name, index) => (index % 2 === 0 ? [[name, names[index + 1]]] : []));
  return { Authorization: `Bearer ${kubeconfig.users[0].user.token}`, ...Object.fromEntries(pairs) };
}

/** Latchkey's gateway, ready for requests. `profile`: where it leaves a CPU profile when it ends. */
export async function startGateway(
  { plane, guard }: Pick<GatewayPlatform, 'plane' | 'guard'>,
  { profile, ...options }: GatewayOptions & { readonly profile?: string | undefined } = {},
): Promise<Endpoint & { readonly gateway: RunningGateway }> {
  const profiling =
    profile === undefined
      ? {}
      : {
          NODE_OPTIONS: `${shippedNodeOptions('gateway')} --cpu-prof --cpu-prof-dir=${path.resolve(profile)}`,
        };
  const env = { NODE_ENV: 'production', ...profiling, ...options.env };
  const gateway = await RunningGateway.start(plane, guard, { readyTimeoutMs, ...options, env });
  const url = gateway.url + platformPath;
  return { name: 'Latchkey', url, pid: gateway.process.pid, headers: withKey, gateway };
}

/** The same duties in Go, built; undefined where there is no command `go`. */
export async function buildGoProxy(folder: string): Promise<string | undefined> {
  const command = path.join(folder, 'reverse-proxy');
  const source = path.join(import.meta.dirname, '../peers/reverse-proxy');
  return (await buildGoProgram(source, command)) ? command : undefined;
}

export interface GoProxyOptions {
  /** The program from `buildGoProxy`. */
  readonly command: string;
  /** With the credentials of the gateway's account. */
  readonly kubeconfig: string;
  /** Unique within the guard. */
  readonly name: string;
}

/** Resolves when it has read all credentials. */
export async function startGoProxy(
  { guard, certificate }: GatewayPlatform,
  { command, kubeconfig, name }: GoProxyOptions,
): Promise<Endpoint & { readonly process: GuardedProcess }> {
  const listen = `127.0.0.1:${await freePort()}`;
  const { cert, key, ca } = certificate;
  const args = ['--kubeconfig', kubeconfig, '--listen', listen, '--cert', cert, '--key', key];
  const process = await startServer(guard, { name, command, args }, { url: `https://${listen}/readyz`, ca });
  const url = `https://${listen}${platformPath}`;
  return { name: 'Go `httputil.ReverseProxy`', url, pid: process.pid, headers: withKey, process };
}

/**
 * Starts a server and waits until the URL is answered with a success.
 * @throws Error with the end of its log when it ends instead.
 */
export async function startServer(
  guard: Guard,
  spec: ProcessSpec,
  { url, ca }: { readonly url: string; readonly ca: string },
): Promise<GuardedProcess> {
  const process = await guard.run(spec);
  let isOver = false;
  void process.exited.then(() => {
    isOver = true;
  });
  const dispatcher = new Agent({ connect: { ca } });
  const answers = async (): Promise<boolean> => {
    if (isOver) return true;
    const { statusCode, body } = await request(url, { dispatcher });
    await body.dump();
    return statusCode < 300;
  };
  try {
    await until(url, answers, { timeoutMs: readyTimeoutMs, everyMs: 20 });
  } finally {
    await dispatcher.close();
  }
  if (!isOver) return process;
  throw new Error(`${spec.name} has ended: ${(await readFile(process.logPath, 'utf8')).slice(-2_000)}`);
}
