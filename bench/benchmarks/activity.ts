import { ownedAccessKeys } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import type { WatchEvent } from '../../src/kube/client/watch-stream.ts';
import { collectionPath } from '../../src/kube/resource-path.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { startGateway } from '../gateway/endpoints.ts';
import {
  type GatewayPlatform,
  smallObject,
  storeKeys,
  withGatewayPlatform,
} from '../gateway/gateway-platform.ts';
import { Generator } from '../gateway/load.ts';
import { loadMeasures, measureLoad } from '../gateway/measured-load.ts';
import { namespaces, secretOf, usedKeys } from '../gateway/stored-keys.ts';
import { ratioOf } from '../measure/ratios.ts';
import { interleave, type Sample, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const path = `/api/v1/namespaces/${namespaces.small}/configmaps/${smallObject}`;
const connections = 32;
const intervalSeconds = 10;

const measures = [
  ...loadMeasures,
  { key: 'writes', title: 'writes a second' },
  { key: 'most', title: 'most writes of one key' },
  { key: 'failures', title: 'lines about failed writes' },
];

/** Settings of a gateway by what it has to write. */
const settings = {
  'nothing to write': { LATCHKEY_ACTIVITY_INTERVAL: '1h' },
  'every key every 10 s, 20 writes a second': { LATCHKEY_ACTIVITY_INTERVAL: `${intervalSeconds}s` },
} as const satisfies Record<string, Readonly<Record<string, string>>>;

const names = Object.keys(settings) as (keyof typeof settings)[];

/** The cost of recording when keys were used. */
export const activity: Benchmark = { name: 'activity', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    // Used just now: then a gateway with a long interval has nothing to write.
    const now = Date.now();
    await storeKeys(platform, Math.min(usedKeys, options.keys), { now, lastActivity: now });
    const generator = await Generator.build(platform.guard.folder);
    const subject = { ...options, platform, generator };
    const turns = names.map((name, index) => ({
      name,
      measure: (round: number) => trial(subject, `gateway-${index}-${round}`, settings[name]),
    }));
    return section(await interleave(turns, options.rounds, progress), options);
  });
}

interface Subject extends Pick<BenchmarkContext['options'], 'rate' | 'seconds' | 'keys' | 'warmUp'> {
  readonly platform: GatewayPlatform;
  readonly generator: Generator;
}

type RunningGateway = Awaited<ReturnType<typeof startGateway>>;

/** A gateway alone: another one would go on writing what it still has to. */
async function trial(subject: Subject, name: string, env: Readonly<Record<string, string>>): Promise<Sample> {
  const gateway = await startGateway(subject.platform, { name, env });
  try {
    if (subject.warmUp > 0) await subject.generator.pace(gateway, orderOf(subject, subject.warmUp));
    return await measure(subject, gateway);
  } finally {
    await gateway.gateway.end();
  }
}

const orderOf = ({ rate, keys }: Pick<Subject, 'rate' | 'keys'>, seconds: number) => {
  const bearers = Array.from({ length: Math.min(usedKeys, keys) }, (_, key) => secretOf(key));
  return { path, connections, rate, seconds, bearers };
};

async function measure(
  { platform, generator, ...options }: Subject,
  gateway: RunningGateway,
): Promise<Sample> {
  const failuresBefore = await failuresOf(gateway);
  const writes = await KeyWrites.count(platform.admin);
  const order = orderOf(options, options.seconds);
  const sample = await measureLoad(gateway, platform.pids.apiServer, async () => {
    const found = await generator.pace(gateway, order);
    if (found.errors > 0 || found.statuses['200'] !== found.requests)
      throw new Error(`not every request succeeded: ${JSON.stringify(found)}`);
    return found;
  });
  const { total, most } = await writes.end();
  const failures = (await failuresOf(gateway)) - failuresBefore;
  return { ...sample, writes: total / options.seconds, most, failures };
}

async function failuresOf({ gateway }: RunningGateway): Promise<number> {
  return (await gateway.log()).split('the last activity of keys cannot be written').length - 1;
}

/** Counts the changes of each key, as a watch brings them. */
class KeyWrites {
  readonly #stop = new AbortController();
  readonly #counts = new Map<string, number>();
  #following: Promise<void> = Promise.resolve();

  static async count(client: KubeClient): Promise<KeyWrites> {
    const { metadata } = await client.list(ownedAccessKeys, { limit: 1 });
    const writes = new KeyWrites();
    const opened = Promise.withResolvers<void>();
    writes.#following = writes.#follow(client, metadata.resourceVersion, opened.resolve);
    await Promise.race([opened.promise, writes.#following]);
    return writes;
  }

  async end(): Promise<{ readonly total: number; readonly most: number }> {
    this.#stop.abort();
    await this.#following;
    const counts = [...this.#counts.values()];
    return { total: counts.reduce((sum, count) => sum + count, 0), most: Math.max(0, ...counts) };
  }

  async #follow(client: KubeClient, resourceVersion: string, onOpen: () => void): Promise<void> {
    const query = new URLSearchParams({ watch: 'true', resourceVersion });
    const { signal } = this.#stop;
    const options = { signal, onOpen, idleMs: 3_600_000, maxLineBytes: 2 ** 24 };
    try {
      const events: AsyncIterable<WatchEvent> = client.watch(collectionPath(ownedAccessKeys), query, options);
      for await (const event of events) {
        if (event.type === 'ERROR') throw new Error(`watch on keys: ${JSON.stringify(event.object)}`);
        const { name } = event.object.metadata;
        this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

function section(samples: Samples, { keys, rate, rounds, seconds }: BenchmarkContext['options']): Section {
  const [nothing = '', ...others] = names;
  const slower = others.map(
    (name) => `${name}: ${figure(ratioOf(samples, { key: 'p99', of: name, to: nothing }) ?? 0)}`,
  );
  return {
    title: 'activity',
    about: `${figure(rate)} GETs a second, or as many as the machine can, over ${connections} connections with ${figure(usedKeys)} keys in turn; ${figure(keys)} keys loaded. ${rounds} rounds of ${seconds} s, each with a gateway that was started for it.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: at most one write for each key and interval; no error; p99 as without writes.',
      `p99 in relation to that without writes, as the median of the ratios within a round: ${slower.join('; ')}.`,
      `The interval is 60 s by default. With ${intervalSeconds} s there is always something to write.`,
    ],
  };
}
