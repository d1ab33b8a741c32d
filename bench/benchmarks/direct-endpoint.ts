import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { type ControlPlane, startControlPlane } from '../../lab/controlplane/control-plane.ts';
import { installDirectEndpoint } from '../../lab/gateway/direct-endpoint.ts';
import type { RunningGateway } from '../../lab/gateway/running-gateway.ts';
import { apiVersion } from '../../src/api/names.ts';
import { clusters, directClusterEndpointTokens, ownedAccessKeys } from '../../src/api/resources.ts';
import { liveCredentials } from '../../src/scope/gate/agents.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type Endpoint, readyTimeoutMs, startGateway } from '../gateway/endpoints.ts';
import { storeAll } from '../gateway/etcd.ts';
import { type GatewayPlatform, storeAndWait, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { Generator } from '../gateway/load.ts';
import { loadMeasures, measureLoad } from '../gateway/measured-load.ts';
import { secretOf, usedKeys } from '../gateway/stored-keys.ts';
import { placeOf, storedAgent, storedToken, storedTokens, tokenOf } from '../gateway/stored-tokens.ts';
import { processWith, usageOf } from '../measure/process-usage.ts';
import { ratioOf } from '../measure/ratios.ts';
import { interleave } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';
import { kubectl } from '../world/kubectl.ts';

/** A cluster with all tokens, and one without any: what remains between their endpoints is the price of tokens. */
const connected = { full: 'bench-full', empty: 'bench-empty' } as const;
const settleMs = 10_000;
const connections = 16;
/** The API server answers it by itself. */
const asked = '/version';
const usedTokens = 1_000;

/** The gateway of one cluster, which follows the tokens that are good there. */
export const directEndpoint: Benchmark = { name: 'direct-endpoint', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  const few = { ...context, options: { ...options, keys: usedKeys } };
  return await withGatewayPlatform(few, async (platform) => {
    progress('starting the cluster that is connected');
    const inside = await startControlPlane({ name: 'bench-inside', fsync: false });
    try {
      progress(`storing ${options.keys} tokens`);
      await prepare(platform, options.keys);
      return await measure(context, platform, inside);
    } finally {
      await inside.stop();
    }
  });
}

async function prepare(platform: GatewayPlatform, count: number): Promise<void> {
  await storeCluster(platform, connected.full, { tokens: count, index: 0 });
  await storeCluster(platform, connected.empty, { tokens: 0, index: 1 });
}

interface StoredCluster {
  /** How many tokens are good there. */
  readonly tokens: number;
  /** Of its agent: each has another. */
  readonly index: number;
}

/** Puts a Cluster, the key of its agent and its tokens into etcd. */
export async function storeCluster(
  platform: GatewayPlatform,
  cluster: string,
  { tokens, index }: StoredCluster,
): Promise<void> {
  const { plane } = platform;
  const now = Date.now();
  await storeAll(plane, clusters, [storedCluster(cluster)].values());
  await storeAll(plane, ownedAccessKeys, [storedAgent(index, cluster, now)].values());
  if (tokens > 0)
    await storeAndWait(platform, directClusterEndpointTokens, {
      objects: storedTokens(tokens, cluster, now),
      last: storedToken(tokens - 1, cluster, now),
    });
  const apiGroups = [clusters.group];
  const rules = [
    { apiGroups, resources: [clusters.plural], verbs: ['use'] },
    { apiGroups, resources: [`${clusters.plural}/${liveCredentials}`], verbs: ['get'] },
  ];
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: cluster },
    rules,
  };
  await kubectl(plane, ['create', '-f', '-'], JSON.stringify(role));
  const binding = ['create', 'clusterrolebinding', cluster, `--clusterrole=${cluster}`];
  await kubectl(plane, [...binding, '--group=system:authenticated']);
}

const storedCluster = (cluster: string) => ({
  ...{ apiVersion, kind: clusters.kind },
  metadata: { name: cluster, uid: randomUUID(), generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { directEndpoint: { host: 'localhost' } },
});

type StartedEndpoint = Endpoint & { readonly gateway: RunningGateway; readonly syncedSeconds: number };

async function measure(
  { options, progress }: BenchmarkContext,
  platform: GatewayPlatform,
  inside: ControlPlane,
): Promise<Section> {
  const gateway = await startGateway(platform);
  const installed = await installDirectEndpoint(inside);
  const start = async (index: number, cluster: string): Promise<StartedEndpoint> => {
    const begun = performance.now();
    const running = await installed.start(platform.guard, {
      ...{ name: cluster, cluster, key: secretOf(placeOf(index)), platform: gateway.gateway },
      env: { NODE_ENV: 'production', LATCHKEY_UNAUTHENTICATED_REQUESTS_PER_ADDRESS: '0' },
      readyTimeoutMs,
    });
    const headers = (number: number) => ({ Authorization: `Bearer ${tokenOf(number)}` });
    const url = `${running.url}/kubernetes/cluster`;
    const syncedSeconds = (performance.now() - begun) / 1_000;
    return {
      name: 'its direct endpoint',
      url,
      pid: running.process.pid,
      headers,
      gateway: running,
      syncedSeconds,
    };
  };
  progress('starting its direct endpoint');
  const full = await start(0, connected.full);
  const empty = await start(1, connected.empty);
  await delay(settleMs);
  const held = await heldBy(full.gateway);
  if (held !== options.keys) throw new Error(`the endpoint holds ${held} tokens, not ${options.keys}`);
  const [own, rest] = await Promise.all(
    [full, empty].map(async ({ pid }) => (await usageOf(pid)).residentMebibytes),
  );
  await empty.gateway.end();
  const generator = await Generator.build(platform.guard.folder);
  const insidePid = await processWith(`${inside.binaries['kube-apiserver']}\0`, inside.folder);
  const turns = [
    { endpoint: gateway as Endpoint, behind: platform.pids.apiServer },
    { endpoint: full as Endpoint, behind: insidePid },
  ].map(({ endpoint, behind }) => ({
    name: endpoint.name,
    measure: async () =>
      await measureLoad(endpoint, behind, () =>
        generator.run(endpoint, { path: asked, connections, seconds: options.seconds }),
      ),
  }));
  for (const { measure: warm } of turns) if (options.warmUp > 0) await warm();
  const samples = await interleave(turns, options.rounds, progress);
  progress('revoking tokens');
  const refused = await revoke(platform, full.gateway, Math.min(options.runs, usedTokens, options.keys - 1));
  const cpu = ratioOf(samples, { key: 'cpu', of: full.name, to: gateway.name });
  return {
    title: 'direct-endpoint',
    about: `GET ${asked} with ${connections} connections through the gateway to the platform, and through a direct endpoint to its cluster, with ${figure(options.keys)} tokens that are good there. ${options.rounds} rounds of ${options.seconds} s.`,
    table: tableOf(samples, loadMeasures),
    notes: [
      'To reach: CPU of a GET at most 1.05 times that of the gateway; at most 96 MiB for 100,000 tokens; a revocation within a second.',
      `Measured: CPU ${figure(cpu ?? Number.NaN)} times the gateway; ${figure((own ?? 0) - (rest ?? 0))} MiB more with the tokens than without (${figure(own ?? 0)} and ${figure(rest ?? 0)} MiB).`,
      `From the start of its process until it is ready, the stream of all tokens included: ${figure(full.syncedSeconds)} s; without tokens ${figure(empty.syncedSeconds)} s.`,
      `From the start of the deletion of a token to the first 401: p50 ${figure(percentile(refused, 50))} ms, p99 ${figure(percentile(refused, 99))} ms, ${refused.length} tokens.`,
      'The two API servers, both programs and the client work on the same cores.',
    ],
  };
}

/** As it says itself: figures of an endpoint without its tokens would be worth nothing. */
async function heldBy(endpoint: RunningGateway): Promise<number> {
  const { body } = await request(`http://127.0.0.1:${await endpoint.listeningPort('metrics')}/metrics`);
  const [, value] = /^latchkey_direct_endpoint_credentials\{.*\} (.*)$/m.exec(await body.text()) ?? [];
  return Number(value);
}

/** Milliseconds for each token, from the last one on: the load comes with the first. */
async function revoke(platform: GatewayPlatform, endpoint: RunningGateway, count: number): Promise<number[]> {
  const found: number[] = [];
  const [first] = [...storedTokens(1, connected.full, 0)];
  const prefix = first?.metadata.name.replace(/0$/, '') ?? '';
  for (let index = count; index > 0; index--) {
    const start = performance.now();
    const deleted = platform.admin.delete(directClusterEndpointTokens, { name: `${prefix}${index}` });
    // A request that is under way is cut with its token, and has no status.
    while ((await statusOf(endpoint, tokenOf(index)).catch(() => 0)) !== 401);
    found.push(performance.now() - start);
    await deleted;
  }
  return found;
}

async function statusOf(endpoint: RunningGateway, key: string): Promise<number> {
  const { statusCode, body } = await endpoint.send('/kubernetes/cluster/version', { key });
  await body.dump();
  return statusCode;
}
