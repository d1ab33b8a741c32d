import type { RunningGateway } from '../../lab/gateway/running-gateway.ts';
import { until } from '../../lab/operator/until.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { startGateway } from '../gateway/endpoints.ts';
import { storeAll } from '../gateway/etcd.ts';
import { type GatewayPlatform, smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { namespaces, secretOf, storedKey, usedKeys } from '../gateway/stored-keys.ts';
import { webhookCacheDelay } from '../gateway/webhook-cache.ts';
import { interleave, type Sample } from '../measure/rounds.ts';
import { percentileOf } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';
import { ReadyWatch } from '../world/ready-watch.ts';

const collection = `/kubernetes/management/api/v1/namespaces/${namespaces.small}/configmaps`;
const readyMs = 30_000;
/** So many refusals a minute come from our address that they would become 429. */
const env = { LATCHKEY_UNAUTHENTICATED_REQUESTS_PER_ADDRESS: '0' };

const measures = [
  { key: 'written', title: 'the write itself, p50 ms' },
  { key: 'event', title: 'a watch on the API server, p50 ms' },
  { key: 'eventLate', title: 'p99 ms' },
  { key: 'refused', title: 'first 401, p50 ms' },
  { key: 'refusedLate', title: 'p99 ms' },
  { key: 'closed', title: 'open watch closed, p50 ms' },
  { key: 'closedLate', title: 'p99 ms' },
];

/** How soon a key that was disabled is worth nothing, on every replica. */
export const revoke: Benchmark = { name: 'revoke', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  progress(`the cache of an API server that asks a webhook: ${options.webhookCache} s`);
  const cacheSeconds = await webhookCacheDelay(options.webhookCache);
  return await withGatewayPlatform(context, async (platform) => {
    progress('starting two gateways');
    const { profile } = options;
    const first = await startGateway(platform, { name: 'gateway-a', profile, env });
    const second = await startGateway(platform, { name: 'gateway-b', profile, env });
    const watch = await ReadyWatch.open(platform.admin, ownedAccessKeys, isDisabled);
    const keys = Math.min(usedKeys, options.keys);
    const gateways = [first.gateway, second.gateway];
    const subject = new Subject(platform, { watch, keys, gateways });
    try {
      const warmUpEnd = performance.now() + options.warmUp * 1_000;
      while (performance.now() < warmUpEnd) await subject.once();
      const runs = Math.ceil(options.runs / options.rounds);
      const contender = { name: 'Latchkey, the later of two replicas', measure: () => subject.measure(runs) };
      const samples = await interleave([contender], options.rounds, progress);
      return section(tableOf(samples, measures), cacheSeconds, options);
    } finally {
      watch.close();
    }
  });
}

/** Milliseconds from the start of the write. */
interface Times {
  readonly written: number;
  readonly event: number;
  readonly refused: number;
  readonly closed: number;
}

/** Keys that are disabled one after the other while they are in use. */
class Subject {
  readonly #platform: GatewayPlatform;
  readonly #watch: ReadyWatch;
  readonly #gateways: readonly RunningGateway[];
  readonly #keys: number;
  #turn = 0;

  constructor(
    platform: GatewayPlatform,
    parts: {
      readonly watch: ReadyWatch;
      readonly gateways: readonly RunningGateway[];
      readonly keys: number;
    },
  ) {
    this.#platform = platform;
    this.#watch = parts.watch;
    this.#gateways = parts.gateways;
    this.#keys = parts.keys;
  }

  async measure(runs: number): Promise<Sample> {
    const times: Times[] = [];
    for (let run = 0; run < runs; run++) times.push(await this.once());
    const at = (key: keyof Times, percent: number) => percentileOf(times, key, percent);
    return {
      written: at('written', 50),
      event: at('event', 50),
      eventLate: at('event', 99),
      refused: at('refused', 50),
      refusedLate: at('refused', 99),
      closed: at('closed', 50),
      closedLate: at('closed', 99),
    };
  }

  async once(): Promise<Times> {
    const index = this.#turn++ % this.#keys;
    const [key, { name }] = [secretOf(index), storedKey(index, { now: 0 }).metadata];
    const watches = await Promise.all(this.#gateways.map((gateway) => openWatch(gateway, key)));
    const uses = this.#gateways.map((gateway) => untilRefused(gateway, key));
    const seen = this.#watch.expect(name);
    const start = performance.now();
    await this.#platform.admin.mergePatch(ownedAccessKeys, { name }, { spec: { disabled: true } });
    const written = performance.now();
    const [{ ready }, refused, closed] = await Promise.all([
      seen,
      last(uses),
      last(watches.map(({ end }) => end)),
    ]);
    await this.#restore(index);
    return {
      written: written - start,
      event: ready - start,
      refused: refused - start,
      closed: closed - start,
    };
  }

  /** Straight in etcd, because only the user of a key may enable it. The next turn of this key begins with one that is good. */
  async #restore(index: number): Promise<void> {
    const key = storedKey(index, { now: Date.now() });
    await storeAll(this.#platform.plane, ownedAccessKeys, [key].values());
    const accepted = async (): Promise<boolean> => {
      const statuses = await Promise.all(this.#gateways.map((gateway) => statusOf(gateway, secretOf(index))));
      return statuses.every((status) => status === 200);
    };
    await until('the key is good again', accepted, { timeoutMs: readyMs, everyMs: 2 });
  }
}

const isDisabled = ({ spec }: KubeObject & { readonly spec?: { readonly disabled?: boolean } }): boolean =>
  spec?.disabled === true;

const last = async (times: readonly Promise<number>[]): Promise<number> =>
  Math.max(...(await Promise.all(times)));

async function statusOf(gateway: RunningGateway, key: string): Promise<number> {
  const { statusCode, body } = await gateway.send(`${collection}/${smallObject}`, { key });
  await body.dump();
  return statusCode;
}

/** Uses the key, one request after the other, until it is refused; when that was. */
async function untilRefused(gateway: RunningGateway, key: string): Promise<number> {
  const end = performance.now() + readyMs;
  // A request that is under way when its key ends is cut: the next one is refused.
  while ((await statusOf(gateway, key).catch(() => 'cut')) !== 401) {
    if (performance.now() > end) throw new Error('a disabled key is not refused');
  }
  return performance.now();
}

/** A watch that is open; `end`: when it was closed. */
async function openWatch(gateway: RunningGateway, key: string): Promise<{ readonly end: Promise<number> }> {
  const { statusCode, body } = await gateway.send(`${collection}?watch=true`, { key });
  if (statusCode !== 200) throw new Error(`the watch was answered with ${statusCode}`);
  const { promise: end, resolve, reject } = Promise.withResolvers<number>();
  const timer = setTimeout(() => reject(new Error('the watch of a disabled key stays open')), readyMs);
  // A watch that is cut ends with an error as well.
  body.on('error', () => undefined).resume();
  body.once('close', () => {
    clearTimeout(timer);
    resolve(performance.now());
  });
  return { end };
}

function section(
  table: string,
  cacheSeconds: number,
  { keys, rounds, runs, webhookCache }: BenchmarkContext['options'],
): Section {
  return {
    title: 'revoke',
    about: `A key in use on two replicas, one request after the other and a watch on each, is disabled at the API server: from the start of that write until the later replica refuses the key, and until the later watch is closed. ${figure(keys)} keys loaded; ${runs} runs in ${rounds} rounds; etcd does not wait for the disk.`,
    table,
    notes: [
      'To reach: p99 at most 50 ms to the first 401, and 250 ms until the watch is closed.',
      `Beside: an API server that asks a webhook about tokens took a revoked one for ${figure(cacheSeconds)} s more. It was used right before, and answers of the webhook are kept for ${webhookCache} s${webhookCache === 120 ? ', as by default' : ''}. Measured once, because it waits for a clock.`,
      'The requests that notice the refusal take time themselves: a request is under way when the key is disabled.',
    ],
  };
}
