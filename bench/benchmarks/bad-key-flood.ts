import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { generateAccessKey } from '../../src/credentials/keys/access-key.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { Generator, type PacedFindings } from '../gateway/load.ts';
import { namespaces } from '../gateway/stored-keys.ts';
import { usageOf } from '../measure/process-usage.ts';
import { ratioOf } from '../measure/ratios.ts';
import { interleave, type Sample, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const path = `/api/v1/namespaces/${namespaces.small}/configmaps/${smallObject}`;
/** Far below what the gateway can do alone. */
const good = { path, connections: 8, rate: 400 } as const;
const floodConnections = 32;
/** So that the flood is at its height when the good traffic begins, and goes on until that has ended. */
const lead = 1;

const measures = [
  { key: 'rate', title: 'good requests a second' },
  { key: 'p50', title: 'p50 ms' },
  { key: 'p99', title: 'p99 ms' },
  { key: 'failed', title: 'good requests that failed' },
  { key: 'flood', title: 'wrong keys a second' },
  { key: 'handshakes', title: 'handshakes a second' },
  { key: 'cores', title: 'CPU of the gateway, cores' },
];

const whole = (): string => generateAccessKey(randomBytes(32));

/** The requests beside the good traffic. */
const floods: ReadonlyMap<string, (() => string) | undefined> = new Map([
  ['good traffic alone', undefined],
  ['beside whole keys that no one has', whole],
  ['beside keys with a typing error', () => `${whole().slice(0, -1)}-`],
]);

const alone = 'good traffic alone';

/** The effect of strangers who try wrong keys on holders of good ones. */
export const badKeyFlood: Benchmark = { name: 'bad-key-flood', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    progress('starting the gateway');
    const generator = await Generator.build(platform.guard.folder);
    const gateway = await startGateway(platform, { profile: options.profile });
    const { seconds, flood: rate, warmUp } = options;
    if (warmUp > 0) await generator.pace(gateway, { ...good, seconds: warmUp });
    const turns = [...floods].map(([name, wrongKey]) => ({
      name,
      measure: () => measure({ gateway, generator, seconds, rate }, wrongKey),
    }));
    return section(await interleave(turns, options.rounds, progress), options);
  });
}

interface Subject {
  readonly gateway: Endpoint;
  readonly generator: Generator;
  readonly seconds: number;
  readonly rate: number;
}

async function measure(
  { gateway, generator, seconds, rate }: Subject,
  wrongKey: (() => string) | undefined,
): Promise<Sample> {
  const bearers = wrongKey && Array.from({ length: 1_000 }, wrongKey);
  const flood =
    bearers &&
    generator.pace(gateway, {
      path,
      connections: floodConnections,
      rate,
      bearers,
      seconds: seconds + 2 * lead,
    });
  // It is waited for below; until then its failure must not end the process.
  flood?.catch(() => undefined);
  if (flood !== undefined) await delay(lead * 1_000);
  const before = await usageOf(gateway.pid);
  const found = await generator.pace(gateway, { ...good, seconds });
  const after = await usageOf(gateway.pid);
  const wrong = await flood;
  const served = found.statuses['200'] ?? 0;
  return {
    rate: served / found.seconds,
    p50: found.p50,
    p99: found.p99,
    failed: found.requests - served + found.errors,
    ...(wrong && { flood: refusedOf(wrong) / wrong.seconds, handshakes: wrong.opened / wrong.seconds }),
    cores: (after.cpuSeconds - before.cpuSeconds) / found.seconds,
  };
}

/** All count, whether or not their address has had too many before. @throws Error when one was answered in another way. */
function refusedOf({ requests, statuses }: PacedFindings): number {
  const refused = (statuses['401'] ?? 0) + (statuses['429'] ?? 0);
  if (refused === requests) return refused;
  throw new Error(`not every wrong key was refused: ${JSON.stringify(statuses)}`);
}

function section(samples: Samples, { keys, rounds, seconds, flood }: BenchmarkContext['options']): Section {
  const slower = [...floods.keys()]
    .filter((name) => name !== alone)
    .map((name) => `${name}: ${figure(ratioOf(samples, { key: 'p99', of: name, to: alone }) ?? 0)}`);
  return {
    title: 'bad-key-flood',
    about: `${good.rate} GETs a second with a good key over ${good.connections} connections, beside ${figure(flood)} requests a second with wrong keys over ${floodConnections} connections, as many of them as get through. ${figure(keys)} keys loaded. ${rounds} rounds of ${seconds} s.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: p99 of the good traffic at most 1.5 times that alone.',
      `Measured, as the median of the ratios within a round: ${slower.join('; ')}.`,
      'The flood comes from one address: most of it is beyond what an address may have refused in a minute, and gets 429 in place of 401. Both answers end the connection.',
      'A client sends no new request before it has an answer, so a gateway that answers late is flooded less. The flood is made on the same cores.',
    ],
  };
}
