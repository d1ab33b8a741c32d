import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { until } from '../../lab/operator/until.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { findGoProxy } from '../gateway/contenders.ts';
import { type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { removeAll, storeAll } from '../gateway/etcd.ts';
import { type GatewayPlatform, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { storedKey } from '../gateway/stored-keys.ts';
import { usageOf } from '../measure/process-usage.ts';
import { figure, tableOf } from '../measure/table.ts';

const measures = [
  { key: 'start', title: 'after the start, MiB' },
  { key: 'relist', title: 'after a relist, MiB' },
  { key: 'churn', title: 'after the changes, MiB' },
  { key: 'peak', title: 'peak, MiB' },
];

/** Until what happened is through, and garbage is collected as far as a process does that by itself. */
const settleMs = 10_000;
const relistMs = 120_000;
/** One of those that requests come with. */
const removedKey = 0;
/** Each second; one in ten is removed and made again. */
const changesASecond = 100;

/** The gateway's memory for many keys. */
export const memory100k: Benchmark = { name: 'memory-100k', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    progress('starting the gateway and its peer');
    const gateway = await startGateway(platform, { profile: options.profile });
    const peer = await findGoProxy(platform);
    const subjects = [gateway, ...(peer === undefined ? [] : [{ ...peer, name: 'client-go informers' }])];
    await delay(settleMs);
    const start = await residents(subjects);
    progress('relist: the API server starts again with a later state');
    await relist(platform, subjects, [gateway.gateway.ca, platform.certificate.ca]);
    const afterRelist = await residents(subjects);
    progress(`changing keys for ${options.churn} s`);
    await churn(platform, options.keys, options.churn);
    const afterChurn = await residents(subjects);
    const peaks = await Promise.all(subjects.map(async ({ pid }) => (await usageOf(pid)).peakMebibytes));
    const rows = subjects.map(({ name }, index) => {
      const at = (values: readonly number[]): number => values[index] ?? 0;
      const sample = { start: at(start), relist: at(afterRelist), churn: at(afterChurn), peak: at(peaks) };
      return [name, [sample]] as const;
    });
    return section(tableOf(new Map(rows), measures), options);
  });
}

function section(table: string, { keys, churn: seconds }: BenchmarkContext['options']): Section {
  return {
    title: 'memory-100k',
    about: `Resident memory with ${figure(keys)} access keys: after the start, after the API server has come back with a later state, so that everything is listed again, and after ${seconds} s with ${changesASecond} changes of keys a second. Once, with both processes at the same time.`,
    table,
    notes: [
      'To reach: at most 200 MiB; no growth.',
      'The changes go straight into etcd. One in ten removes a key and makes it again.',
      'The Go program reads the same kinds by client-go informers, and keeps a dozen fields of each object.',
    ],
  };
}

const residents = async (subjects: readonly Endpoint[]): Promise<readonly number[]> =>
  await Promise.all(subjects.map(async ({ pid }) => (await usageOf(pid)).residentMebibytes));

/**
 * An API server that starts again knows no changes from before, so a watch cannot go on from there. The key that was removed
 * meanwhile is refused once a new list is complete.
 */
async function relist(
  { plane }: GatewayPlatform,
  subjects: readonly Endpoint[],
  ca: readonly string[],
): Promise<void> {
  const { metadata } = storedKey(removedKey, { now: 0 });
  await plane.stopApiServer();
  await removeAll(plane, ownedAccessKeys, [metadata].values());
  await plane.startApiServer();
  const dispatcher = new Agent({ connect: { ca: [...ca] } });
  const isRefused = async ({ url, headers }: Endpoint): Promise<boolean> => {
    const { statusCode, body } = await request(`${url}/api`, { dispatcher, headers: headers(removedKey) });
    await body.dump();
    return statusCode === 401;
  };
  try {
    for (const subject of subjects)
      await until(`${subject.name} lists again`, () => isRefused(subject), { timeoutMs: relistMs });
  } finally {
    await dispatcher.close();
  }
  await delay(settleMs);
}

async function churn({ plane }: GatewayPlatform, keys: number, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  for (let next = performance.now(); next < end; next += 1_000) {
    const removed = [...changed(keys, changesASecond / 10)];
    await removeAll(plane, ownedAccessKeys, removed.map(({ metadata }) => metadata).values());
    await storeAll(plane, ownedAccessKeys, changed(keys, changesASecond - removed.length));
    await storeAll(plane, ownedAccessKeys, removed.values());
    await delay(Math.max(0, next + 1_000 - performance.now()));
  }
  await delay(settleMs);
}

/** Different keys from a random one on, used just now: etcd takes each only once in a transaction. */
function* changed(keys: number, count: number): Generator<ReturnType<typeof storedKey>> {
  const now = Date.now();
  const first = Math.floor(Math.random() * keys);
  for (let index = 0; index < Math.min(count, keys); index++)
    yield storedKey((first + index) % keys, { now, lastActivity: now });
}
