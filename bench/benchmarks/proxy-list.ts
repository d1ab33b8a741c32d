import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type GatewayContenders, startContenders, warmUp } from '../gateway/contenders.ts';
import type { Endpoint } from '../gateway/endpoints.ts';
import { withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { loadMeasures, measureLoad } from '../gateway/measured-load.ts';
import { namespaces } from '../gateway/stored-keys.ts';
import { ratioOf } from '../measure/ratios.ts';
import { interleave, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const pathOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

const lists = [
  { name: '100 kB', path: pathOf(namespaces.shortList), connections: 16 },
  { name: '5 MB', path: pathOf(namespaces.longList), connections: 4 },
] as const;

type List = (typeof lists)[number];

const measures = [
  ...loadMeasures,
  { key: 'megabytes', title: 'MB a second' },
  { key: 'resident', title: 'most memory, MiB' },
];

/** The cost of large answers on their way through the gateway. */
export const proxyList: Benchmark = { name: 'proxy-list', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  const { seconds, rounds } = options;
  return await withGatewayPlatform(context, async (platform) => {
    const contenders = await startContenders(context, platform);
    for (const list of lists)
      await warmUp(contenders, { ...list, seconds: Math.ceil(options.warmUp / lists.length) }, progress);
    const { all, load } = contenders;
    const turns = lists.flatMap((list) =>
      all.map((endpoint) => ({
        name: rowOf(endpoint, list),
        measure: () =>
          measureLoad(endpoint, platform.pids.apiServer, () => load.run(endpoint, { ...list, seconds })),
      })),
    );
    return section(await interleave(turns, rounds, progress), contenders, options);
  });
}

const rowOf = ({ name }: Endpoint, list: List): string => `${name}, ${list.name}`;

function section(
  samples: Samples,
  contenders: GatewayContenders,
  { keys, rounds, seconds }: BenchmarkContext['options'],
): Section {
  return {
    title: 'proxy-list',
    about: `Lists of 50 ConfigMaps, 100 kB with 16 connections and 5 MB with 4; ${figure(keys)} keys loaded, TLS on both sides. ${rounds} rounds of ${seconds} s.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: throughput at least 0.9 of nginx; memory that does not grow.',
      ...lists.map((list) => comparison(samples, contenders, list)),
      'The memory is the most that the process held while it was measured; the spread over the rounds says whether it grows.',
      ...contenders.notes,
    ],
  };
}

function comparison(samples: Samples, { gateway, nginx }: GatewayContenders, list: List): string {
  const value =
    nginx && ratioOf(samples, { key: 'megabytes', of: rowOf(gateway, list), to: rowOf(nginx, list) });
  return `Throughput with lists of ${list.name}: ${value === undefined ? 'unknown' : figure(value)} of nginx.`;
}
