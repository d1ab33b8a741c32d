import { configMaps } from '../../src/api/resources.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { findGoProxy } from '../gateway/contenders.ts';
import { direct, type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { type GatewayPlatform, smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { Generator } from '../gateway/load.ts';
import { namespaces } from '../gateway/stored-keys.ts';
import { usageOf } from '../measure/process-usage.ts';
import { interleave, type Sample, type Samples } from '../measure/rounds.ts';
import { median } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';

const measures = [
  { key: 'p50', title: 'change to event, p50 ms' },
  { key: 'p99', title: 'p99 ms' },
  { key: 'memory', title: 'memory, kB a watch' },
  { key: 'cpu', title: 'CPU, µs an event' },
];

const collection = `/api/v1/namespaces/${namespaces.small}/configmaps`;
const intervalMs = 1_000;

/** How late events come through the gateway, and what an open watch costs. */
export const proxyWatch: Benchmark = { name: 'proxy-watch', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    progress('starting the gateway and its peer');
    const generator = await Generator.build(platform.guard.folder);
    const gateway = await startGateway(platform, { profile: options.profile });
    const goProxy = await findGoProxy(platform);
    const limit = direct(platform);
    const contenders = [gateway, goProxy, limit].filter((endpoint) => endpoint !== undefined);
    const subjects: Subject[] = [];
    for (const endpoint of contenders) {
      // A process rarely gives back what it has once taken, so what a watch takes counts from before the first.
      const { residentMebibytes: atRest } = await usageOf(endpoint.pid);
      const subject = { endpoint, atRest, writer: limit, platform, generator, watches: options.watches };
      if (options.warmUp > 0) await measure(subject, 2);
      subjects.push(subject);
    }
    const turns = subjects.map((subject) => ({
      name: subject.endpoint.name,
      measure: () => measure(subject, options.seconds),
    }));
    const samples = await interleave(turns, options.rounds, progress);
    return section(samples, { gateway, limit }, options);
  });
}

interface Subject {
  readonly endpoint: Endpoint;
  /** Memory before there was any watch, MiB. */
  readonly atRest: number;
  readonly writer: Endpoint;
  readonly platform: GatewayPlatform;
  readonly generator: Generator;
  readonly watches: number;
}

/** Opens the watches, makes the changes, and ends the watches. */
async function measure(
  { endpoint, atRest, writer, platform, generator, watches }: Subject,
  changes: number,
): Promise<Sample> {
  const { metadata } = await platform.admin.list(configMaps, { namespace: namespaces.small, limit: 1 });
  const query = new URLSearchParams({ watch: 'true', resourceVersion: metadata.resourceVersion });
  const open = await generator.watch(endpoint, writer, {
    ...{ watches, changes, intervalMs },
    path: `${collection}?${query}`,
    changedPath: `${collection}/${smallObject}`,
  });
  const opened = await usageOf(endpoint.pid);
  const { events, p50, p99 } = await open.change();
  const after = await usageOf(endpoint.pid);
  return {
    ...{ p50, p99 },
    memory: ((opened.residentMebibytes - atRest) * 2 ** 20) / 1_000 / watches,
    cpu: ((after.cpuSeconds - opened.cpuSeconds) * 1e6) / events,
  };
}

function section(
  samples: Samples,
  { gateway, limit }: { readonly gateway: Endpoint; readonly limit: Endpoint },
  { keys, watches, rounds, seconds }: BenchmarkContext['options'],
): Section {
  const [own, least] = [gateway, limit].map(({ name }) => samples.get(name) ?? []);
  const added = own?.map(({ p99 = 0 }, round) => p99 - (least?.[round]?.['p99'] ?? 0)) ?? [];
  return {
    title: 'proxy-watch',
    about: `${figure(watches)} watches on one ConfigMap, a hundred with each key, and one change a second; from the start of the change until a watch brings it. ${figure(keys)} keys loaded, TLS on both sides, HTTP/1.1; etcd does not wait for the disk. ${rounds} rounds of ${seconds} changes.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: at most 5 ms more than direct at p99; at most 200 kB a watch.',
      `Added at p99, as the median over the rounds: ${figure(median(added))} ms.`,
      'The client and the API server work on the same cores, and all events are due at once: most of the time is theirs. The CPU time of the row "directly" is that of the API server.',
    ],
  };
}
