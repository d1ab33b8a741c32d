import { Agent, request } from 'undici';
import { until } from '../../lab/operator/until.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import { collectionPath, objectPath } from '../../src/kube/resource-path.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { direct, type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { storeAll } from '../gateway/etcd.ts';
import { type GatewayPlatform, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { Generator } from '../gateway/load.ts';
import { loadMeasures, measureLoad } from '../gateway/measured-load.ts';
import { ownKey, ownSecret, storedKey } from '../gateway/stored-keys.ts';
import { usageOf } from '../measure/process-usage.ts';
import { type Contender, interleave } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const counts = [10, 100, 1_000] as const;
/** The owner whose keys are watched: the gateway limits how many watches one key may have. */
const watchingKeys = 10;
const opening = 32;
const knownMs = 120_000;
const collection = collectionPath(ownedAccessKeys);

const measures = [
  ...loadMeasures,
  { key: 'cpuEach', title: 'CPU, µs an object' },
  { key: 'resident', title: 'most memory, MiB' },
];

/** The gateway's cost to show somebody what is their own among all that exists. */
export const ownLists: Benchmark = { name: 'own-lists', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    const generator = await Generator.build(platform.guard.folder);
    const gateway = await startOwners(platform, options.profile);
    const apiServer = platform.pids.apiServer;
    const turn = ({ endpoint, path, objects }: Turn, seconds = options.seconds): Contender => ({
      name: endpoint.name,
      measure: async () => {
        const order = { path, connections: 1, seconds };
        const sample = await measureLoad(endpoint, apiServer, () => generator.run(endpoint, order));
        return { ...sample, ...(sample['cpu'] !== undefined && { cpuEach: sample['cpu'] / objects }) };
      },
    });
    const turns = [...counts.map((count) => listOf(gateway, count)), oneKey(platform)];
    const { warmUp, rounds } = options;
    if (warmUp > 0) for (const each of turns) await turn(each, Math.ceil(warmUp / turns.length)).measure(0);
    const samples = await interleave(
      turns.map((each) => turn(each)),
      rounds,
      progress,
    );
    progress(`opening ${options.watches} watches`);
    const watchMemory = await memoryOfWatches(gateway, options.watches);
    return section(tableOf(samples, measures), watchMemory, options);
  });
}

interface Turn {
  readonly endpoint: Endpoint;
  readonly path: string;
  readonly objects: number;
}

type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Every owner has all of their keys in a list when it resolves. */
async function startOwners(platform: GatewayPlatform, profile: string | undefined): Promise<Gateway> {
  const now = Date.now();
  for (const count of counts) {
    const keys = Array.from({ length: count }, (_, index) => ownKey(count, index, { now }));
    await storeAll(platform.plane, ownedAccessKeys, keys.values());
  }
  const gateway = await startGateway(platform, { profile });
  for (const count of counts) {
    const isComplete = async () => (await lengthOfList(gateway, count)) === count;
    await until(`the gateway knows ${count} keys of one owner`, isComplete, { timeoutMs: knownMs });
  }
  return gateway;
}

async function lengthOfList({ url, gateway }: Gateway, count: number): Promise<number> {
  const dispatcher = new Agent({ connect: { ca: gateway.ca } });
  try {
    const { statusCode, body } = await request(url + collection, { dispatcher, headers: bearer(count, 0) });
    const { items } = (await body.json()) as { items?: readonly unknown[] };
    return statusCode === 200 ? (items?.length ?? 0) : 0;
  } finally {
    await dispatcher.close();
  }
}

const bearer = (count: number, index: number) => ({ Authorization: `Bearer ${ownSecret(count, index)}` });

function listOf(gateway: Endpoint, count: number): Turn {
  const name = `Latchkey, ${figure(count)} of one's own`;
  return {
    endpoint: { ...gateway, name, headers: () => bearer(count, 0) },
    path: collection,
    objects: count,
  };
}

function oneKey(platform: GatewayPlatform): Turn {
  const { name } = storedKey(0, { now: 0 }).metadata;
  const endpoint = { ...direct(platform), name: 'beside: one key by its name, from the API server' };
  return { endpoint, path: objectPath(ownedAccessKeys, { name }), objects: 1 };
}

/** Kilobytes for each. */
async function memoryOfWatches({ url, pid, gateway }: Gateway, watches: number): Promise<number> {
  const dispatcher = new Agent({ connect: { ca: gateway.ca } });
  const watched = `${url}${collection}?watch=true`;
  const { residentMebibytes: atRest } = await usageOf(pid);
  const open = async (index: number): Promise<void> => {
    const headers = bearer(watchingKeys, index % watchingKeys);
    const { statusCode, body } = await request(watched, { dispatcher, headers, bodyTimeout: 0 });
    if (statusCode !== 200) throw new Error(`a watch was answered with ${statusCode}`);
    // They end with the connections.
    body.on('error', () => undefined).resume();
  };
  try {
    for (let index = 0; index < watches; index += opening) {
      const some = Array.from({ length: Math.min(opening, watches - index) }, (_, more) =>
        open(index + more),
      );
      await Promise.all(some);
    }
    const { residentMebibytes } = await usageOf(pid);
    return ((residentMebibytes - atRest) * 2 ** 20) / 1_000 / watches;
  } finally {
    await dispatcher.destroy();
  }
}

function section(
  table: string,
  watchMemory: number,
  { keys, rounds, seconds, watches }: BenchmarkContext['options'],
): Section {
  return {
    title: 'own-lists',
    about: `Lists of all access keys by holders who own 10, 100 and 1,000 of them, one after the other over one connection. ${figure(keys)} keys of others loaded, TLS on both sides. ${rounds} rounds of ${seconds} s.`,
    table,
    notes: [
      'To reach: what a list costs goes by the objects in it, not by those that exist.',
      `Memory of ${figure(watches)} open watches on one's own, a hundred with each of ${watchingKeys} keys, from before the first one: ${figure(watchMemory)} kB each. Once, after the lists.`,
      'The gateway knows which objects are one’s own, and reads each by its name. So the CPU of the API server goes by the objects too.',
    ],
  };
}
