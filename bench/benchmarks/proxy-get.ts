import path from 'node:path';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type GatewayContenders, startContenders, warmUp } from '../gateway/contenders.ts';
import { type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { type GatewayPlatform, smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { loadMeasures, measureLoad } from '../gateway/measured-load.ts';
import { namespaces } from '../gateway/stored-keys.ts';
import { ratioOf } from '../measure/ratios.ts';
import { type Contender, interleave, type Samples } from '../measure/rounds.ts';
import { median } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';

const connections = [1, 16, 64] as const;
const asked = `/api/v1/namespaces/${namespaces.small}/configmaps/${smallObject}`;

/** The cost of a small request on its way through the gateway. */
export const proxyGet: Benchmark = { name: 'proxy-get', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    const contenders = withAudit(await startContenders(context, platform), await startAudited(platform));
    await warmUp(contenders, { path: asked, connections: 16, seconds: options.warmUp }, progress);
    const turns = turnsOf(contenders, platform, options.seconds);
    const samples = await interleave(turns, options.rounds, progress);
    return section(samples, contenders, options);
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

const withAudit = ({ all: [first, ...others], ...contenders }: GatewayContenders, endpoint: Endpoint) => ({
  ...contenders,
  all: first === undefined ? [endpoint] : [first, endpoint, ...others],
});

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
          load.run(endpoint, { path: asked, connections: count, seconds }),
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
      'To reach: CPU at most 2.7 times nginx and 1.0 times the Go proxy; throughput at least 0.75 of nginx and 0.65 of direct with 16 connections; p50 at most 1.55 times direct with one; audit at most 6 µs a request.',
      comparison(samples, contenders),
      ...contenders.notes,
    ],
  };
}

/** To reach: 6. */
function costOfAudit(samples: Samples, without: string): string {
  const [plain, other] = [without, without.replace(/^[^,]*/, audited)].map((row) =>
    (samples.get(row) ?? []).map(({ cpu }) => cpu ?? Number.NaN),
  );
  const differences = (plain ?? []).map((cpu, round) => (other?.[round] ?? Number.NaN) - cpu);
  return differences.length === 0 ? 'unknown' : figure(median(differences));
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
    `p50 with one connection ${ratio('p50', direct, 1)} times direct`,
    `CPU with 16 connections ${costOfAudit(samples, rowOf(gateway, 16))} µs a request more with audit.`,
  ].join('; ');
}
