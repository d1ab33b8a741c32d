import path from 'node:path';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type GatewayContenders, startContenders, warmUp } from '../gateway/contenders.ts';
import { type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { type GatewayPlatform, smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { loadMeasures, measureLoad } from '../gateway/measured-load.ts';
import { namespaces } from '../gateway/stored-keys.ts';
import { ratioOf } from '../measure/ratios.ts';
import { type Contender, interleave, type Samples } from '../measure/rounds.ts';
import { median, percentile } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';

const connections = [1, 16, 64] as const;
const asked = `/api/v1/namespaces/${namespaces.small}/configmaps/${smallObject}`;

/** The cost of a small request on its way through the gateway. */
export const proxyGet: Benchmark = { name: 'proxy-get', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    const withLog = await startAudited(platform);
    const contenders = withAudit(await startContenders(context, platform), withLog);
    await warmUp(contenders, { path: asked, connections: 16, seconds: options.warmUp }, progress);
    const turns = turnsOf(contenders, platform, { connections, seconds: options.seconds });
    const samples = await interleave(turns, options.rounds, progress);
    const both = { ...contenders, all: [contenders.gateway, withLog] };
    const paired = await interleave(turnsOf(both, platform, pairs), options.rounds * pairs.inRound, progress);
    return section({ samples, paired }, contenders, options);
  });
}

/** The same gateway, with a line about each request in a file. */
async function startAudited(platform: GatewayPlatform): Promise<Endpoint> {
  const file = path.join(platform.guard.folder, 'audit.log');
  const env = { LATCHKEY_AUDIT: 'best-effort', LATCHKEY_AUDIT_LOG: file };
  const started = await startGateway(platform, { name: 'gateway-audited', env });
  return { ...started, name: audited };
}

const audited = 'Latchkey with audit';
/** A line costs some microseconds, and two measurements differ by more: only the middle of many short pairs shows it. */
const pairs = { inRound: 10, seconds: 2, connections: [16] } as const;

const withAudit = ({ all: [first, ...others], ...contenders }: GatewayContenders, endpoint: Endpoint) => ({
  ...contenders,
  all: first === undefined ? [endpoint] : [first, endpoint, ...others],
});

function turnsOf(
  { all, load }: GatewayContenders,
  { pids }: GatewayPlatform,
  { connections: counts, seconds }: { readonly connections: readonly number[]; readonly seconds: number },
): readonly Contender[] {
  return counts.flatMap((count) =>
    all.map((endpoint) => ({
      name: rowOf(endpoint, count),
      measure: () =>
        measureLoad(endpoint, pids.apiServer, () =>
          load.run(endpoint, { path: asked, connections: count, seconds }),
        ),
    })),
  );
}

const rowOf = ({ name }: Pick<Endpoint, 'name'>, count: number): string =>
  `${name}, ${count} ${count === 1 ? 'connection' : 'connections'}`;

interface Measured {
  readonly samples: Samples;
  /** Of the gateway without and with audit alone, in short turns. */
  readonly paired: Samples;
}

function section(
  measured: Measured,
  contenders: GatewayContenders,
  { keys, rounds, seconds, warmUp: warm }: BenchmarkContext['options'],
): Section {
  return {
    title: 'proxy-get',
    about: `GET of a ConfigMap (an answer of about 700 bytes) with a key whose scope has ten entries, ${figure(keys)} keys loaded, TLS on both sides. ${rounds} rounds of ${seconds} s, after ${warm} s of warm-up.`,
    table: tableOf(measured.samples, loadMeasures),
    notes: [
      'To reach: CPU at most 2.7 times nginx and 1.0 times the Go proxy; throughput at least 0.75 of nginx and 0.65 of direct with 16 connections; p50 at most 1.55 times direct with one; audit at most 6 µs a request.',
      comparison(measured, contenders),
      ...contenders.notes,
    ],
  };
}

/** The differences within a pair, µs a request. To reach: 6. */
function costOfAudit(paired: Samples, gateway: Endpoint): string {
  const [plain = [], other = []] = [gateway.name, audited].map((name) =>
    (paired.get(rowOf({ name }, 16)) ?? []).map(({ cpu }) => cpu ?? Number.NaN),
  );
  const differences = plain.map((cpu, pair) => (other[pair] ?? Number.NaN) - cpu);
  if (differences.length === 0) return 'unknown';
  const [from, to] = [25, 75].map((percent) => figure(percentile(differences, percent)));
  return `${figure(median(differences))} (half of ${differences.length} pairs: ${from} to ${to})`;
}

function comparison(
  { samples, paired }: Measured,
  { gateway, nginx, goProxy, direct }: GatewayContenders,
): string {
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
    `p50 with one connection ${ratio('p50', direct, 1)} times direct`,
    `CPU with 16 connections ${costOfAudit(paired, gateway)} µs a request more with audit, in pairs of ${pairs.seconds} s.`,
  ].join('; ');
}
