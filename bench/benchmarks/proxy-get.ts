import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type GatewayContenders, startContenders, warmUp } from '../gateway/contenders.ts';
import type { Endpoint } from '../gateway/endpoints.ts';
import { type GatewayPlatform, smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { loadMeasures, measureLoad } from '../gateway/measured-load.ts';
import { namespaces } from '../gateway/stored-keys.ts';
import { ratioOf } from '../measure/ratios.ts';
import { type Contender, interleave, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const connections = [1, 16, 64] as const;
const path = `/api/v1/namespaces/${namespaces.small}/configmaps/${smallObject}`;

/** The cost of a small request on its way through the gateway. */
export const proxyGet: Benchmark = { name: 'proxy-get', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    const contenders = await startContenders(context, platform);
    await warmUp(contenders, { path, connections: 16, seconds: options.warmUp }, progress);
    const turns = turnsOf(contenders, platform, options.seconds);
    const samples = await interleave(turns, options.rounds, progress);
    return section(samples, contenders, options);
  });
}

function turnsOf(
  { all, load }: GatewayContenders,
  { pids }: GatewayPlatform,
  seconds: number,
): readonly Contender[] {
  return connections.flatMap((count) =>
    all.map((endpoint) => ({
      name: rowOf(endpoint, count),
      measure: () =>
        measureLoad(endpoint, pids.apiServer, () =>
          load.run(endpoint, { path, connections: count, seconds }),
        ),
    })),
  );
}

const rowOf = ({ name }: Endpoint, count: number): string =>
  `${name}, ${count} ${count === 1 ? 'connection' : 'connections'}`;

function section(
  samples: Samples,
  contenders: GatewayContenders,
  { keys, rounds, seconds, warmUp: warm }: BenchmarkContext['options'],
): Section {
  return {
    title: 'proxy-get',
    about: `GET of a ConfigMap (an answer of about 700 bytes) with a key whose scope has ten entries, ${figure(keys)} keys loaded, TLS on both sides. ${rounds} rounds of ${seconds} s, after ${warm} s of warm-up.`,
    table: tableOf(samples, loadMeasures),
    notes: [
      'To reach: CPU at most 2.7 times nginx and 1.0 times the Go proxy; throughput at least 0.75 of nginx and 0.65 of direct with 16 connections; p50 at most 1.55 times direct with one.',
      comparison(samples, contenders),
      ...contenders.notes,
    ],
  };
}

function comparison(samples: Samples, { gateway, nginx, goProxy, direct }: GatewayContenders): string {
  const ratio = (key: string, to: Endpoint | undefined, count: number): string => {
    if (to === undefined) return 'unknown';
    const names = { of: rowOf(gateway, count), to: rowOf(to, count) };
    const value = ratioOf(samples, { key, ...names });
    return value === undefined ? 'unknown' : figure(value);
  };
  return [
    `Measured, as medians of the ratios within a round: CPU with 16 connections ${ratio('cpu', nginx, 16)} times nginx`,
    `${ratio('cpu', goProxy, 16)} times the Go proxy`,
    `throughput with 16 connections ${ratio('rate', nginx, 16)} of nginx, ${ratio('rate', direct, 16)} of direct`,
    `p50 with one connection ${ratio('p50', direct, 1)} times direct.`,
  ].join('; ');
}
