import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { accountKubeconfig } from '../../lab/operator/running-operator.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import { collectionPath } from '../../src/kube/resource-path.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { buildGoProxy, startGateway, startGoProxy } from '../gateway/endpoints.ts';
import { type GatewayPlatform, storeKeys, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { usageOf } from '../measure/process-usage.ts';
import { interleave, type Sample } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const measures = [
  { key: 'seconds', title: 'start to ready, s' },
  { key: 'cpu', title: 'CPU until then, s' },
  { key: 'resident', title: 'memory then, MiB' },
  { key: 'peak', title: 'peak until then, MiB' },
];

/** How soon a new replica serves. */
export const coldStart: Benchmark = { name: 'cold-start', run };

interface Program {
  readonly name: string;
  /** Resolves when it is ready. */
  readonly start: (round: string) => Promise<Running>;
}

interface Running {
  readonly pid: number;
  readonly end: () => Promise<unknown>;
}

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  const empty = { ...context, options: { ...options, keys: 0 } };
  const samples = await withGatewayPlatform(empty, async (platform) => {
    const kubeconfig = await accountKubeconfig(platform.plane, 'latchkey-gateway');
    const readerKubeconfig = await accountKubeconfig(platform.plane, 'latchkey-reader');
    const programs = await preparePrograms(platform, kubeconfig);
    // To bring programs and files into memory.
    if (options.warmUp > 0) for (const program of programs) await measure(program, 'warm-up');
    const turns = (keys: number) => [
      ...programs.map((program) => ({
        name: `${program.name}, ${figure(keys)} keys`,
        measure: (round: number) => measure(program, `${keys}-${round}`),
      })),
      {
        name: `beside: the keys to kubectl get --raw, ${figure(keys)} keys`,
        measure: () => measureBytes(platform, readerKubeconfig),
      },
    ];
    const before = await interleave(turns(0), options.rounds, progress);
    progress(`storing ${options.keys} access keys`);
    await storeKeys(platform, options.keys, { now: Date.now() });
    return new Map([...before, ...(await interleave(turns(options.keys), options.rounds, progress))]);
  });
  return {
    title: 'cold-start',
    about: `From the start of the process until \`/readyz\` is answered with 200, asked every 20 ms. ${options.rounds} rounds; etcd does not wait for the disk.`,
    table: tableOf(samples, measures),
    notes: [
      `To reach: at most 1 s without keys and 5 s with ${figure(options.keys)}.`,
      'Beside it, one streamed list of the keys to `kubectl get --raw`, which parses nothing of it: most of the time is that of the API server, on the same cores.',
      'The gateway is the bundle of its image, without a compile cache. The Go program reads the same kinds by client-go informers, into structs with a dozen fields, and checks no fingerprint.',
    ],
  };
}

async function preparePrograms(platform: GatewayPlatform, kubeconfig: string): Promise<readonly Program[]> {
  const env = { NODE_DISABLE_COMPILE_CACHE: '1' };
  const gateway: Program = {
    name: 'Latchkey',
    start: async (round) => {
      const { pid, gateway: running } = await startGateway(platform, {
        name: `gateway-${round}`,
        kubeconfig,
        env,
      });
      return { pid, end: () => running.end() };
    },
  };
  const command = await buildGoProxy(platform.guard.folder);
  if (command === undefined) return [gateway];
  const informer: Program = {
    name: 'client-go informers',
    start: async (round) => {
      const options = { command, kubeconfig, name: `reverse-proxy-${round}` };
      const { pid, process: running } = await startGoProxy(platform, options);
      const end = async () => {
        process.kill(pid, 'SIGTERM');
        await running.exited;
      };
      return { pid, end };
    },
  };
  return [gateway, informer];
}

async function measure(program: Program, round: string): Promise<Sample> {
  const began = performance.now();
  const { pid, end } = await program.start(round);
  const seconds = (performance.now() - began) / 1_000;
  const { cpuSeconds, residentMebibytes, peakMebibytes } = await usageOf(pid);
  await end();
  return { seconds, cpu: cpuSeconds, resident: residentMebibytes, peak: peakMebibytes };
}

const execute = promisify(execFile);

/** Until the bookmark that ends a streamed list. */
async function measureBytes({ plane }: GatewayPlatform, readerKubeconfig: string): Promise<Sample> {
  const query =
    'watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=120';
  const path = `${collectionPath(ownedAccessKeys)}?${query}`;
  const began = performance.now();
  await execute('bash', [
    '-c',
    'exec 3< <(exec "$1" --kubeconfig "$2" get --raw "$3"); grep -m 1 -q k8s.io/initial-events-end <&3; kill $!',
    'bytes',
    plane.binaries.kubectl,
    readerKubeconfig,
    path,
  ]);
  return { seconds: (performance.now() - began) / 1_000 };
}
