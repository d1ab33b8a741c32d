import { accountKubeconfig } from '../../lab/operator/running-operator.ts';
import type { BenchmarkContext } from '../benchmark.ts';
import {
  buildGoProxy,
  direct,
  type Endpoint,
  impersonating,
  startGateway,
  startGoProxy,
} from './endpoints.ts';
import type { GatewayPlatform } from './gateway-platform.ts';
import { Generator, type LoadOrder, type LoadSource } from './load.ts';
import { startNginx } from './nginx.ts';
import { findWrk } from './wrk.ts';

/** The gateway and what it is compared with, all at work on one control plane. */
export interface GatewayContenders {
  readonly gateway: Endpoint;
  readonly nginx: Endpoint | undefined;
  readonly goProxy: Endpoint | undefined;
  readonly direct: Endpoint;
  /** The endpoints that there are, in the order of the tables. */
  readonly all: readonly Endpoint[];
  readonly load: LoadSource;
  /** Which of them is missing and why, and where the load comes from. */
  readonly notes: readonly string[];
}

export async function startContenders(
  { options, progress }: BenchmarkContext,
  platform: GatewayPlatform,
): Promise<GatewayContenders> {
  progress('starting the gateway and its peers');
  const load = (await findWrk()) ?? (await Generator.build(platform.guard.folder));
  const gateway = await startGateway(platform, { profile: options.profile });
  const nginx = await startNginx(platform);
  const goProxy = await findGoProxy(platform);
  const limit = direct(platform);
  return {
    ...{ gateway, nginx, goProxy, direct: limit, load },
    all: [gateway, nginx, goProxy, limit, await impersonating(platform)].filter(
      (endpoint) => endpoint !== undefined,
    ),
    notes: [
      `The load comes from ${load.name}, in a process of its own.`,
      nginx === undefined
        ? 'nginx is not installed here, so it has no row.'
        : 'nginx judges nothing: it adds the same identity to each request. One process; keepalive 128.',
      goProxy === undefined
        ? 'There is no command go here, so the Go proxy has no row.'
        : 'The Go proxy reads the same keys by informers and has the same duties for a request, apart from what a key inherits from parents and fingerprints.',
    ],
  };
}

/** Undefined where there is no command `go`. */
export async function findGoProxy(platform: GatewayPlatform): Promise<Endpoint | undefined> {
  const command = await buildGoProxy(platform.guard.folder);
  if (command === undefined) return undefined;
  const kubeconfig = await accountKubeconfig(platform.plane, 'latchkey-gateway');
  return await startGoProxy(platform, { command, kubeconfig, name: 'reverse-proxy' });
}

/** Every contender does the work for some seconds, with so many connections as the most. */
export async function warmUp(
  { all, load }: GatewayContenders,
  { seconds, ...order }: LoadOrder,
  progress: (text: string) => void,
): Promise<void> {
  if (seconds === 0) return;
  for (const endpoint of all) {
    progress(`warming up: ${endpoint.name}`);
    await load.run(endpoint, { seconds, ...order });
  }
}
