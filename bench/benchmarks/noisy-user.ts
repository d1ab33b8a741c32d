import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import { collectionPath, objectPath } from '../../src/kube/resource-path.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { storeAll } from '../gateway/etcd.ts';
import { smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { Generator } from '../gateway/load.ts';
import { Noise } from '../gateway/noise.ts';
import { namespaces, ownKey, ownSecret } from '../gateway/stored-keys.ts';
import { usageOf } from '../measure/process-usage.ts';
import { ratioOf } from '../measure/ratios.ts';
import { interleave, type Sample, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const path = `/api/v1/namespaces/${namespaces.small}/configmaps/${smallObject}`;
/** Far below what the gateway can do alone. */
const others = { path, connections: 8, rate: 200 } as const;
/** A credential may have a hundred requests under way. */
const atOnce = 95;
/** The noise is at its height when the others are measured, seconds. */
const lead = 2;
/** Others were there before: on a platform no one has a replica to themselves. */
const company = { path, connections: 2, rate: 10 } as const;
const probeEveryMs = 100;
/** The noisy user has as many keys. */
const owned = 5;

interface NoisyRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

const keys = collectionPath(ownedAccessKeys);
const manyKeys = Object.fromEntries(Array.from({ length: 80_000 }, (_, key) => [`k${key}`, 0]));
const note = { op: 'add', path: '/metadata/annotations/note', value: 'x'.repeat(999_000) };

/** The requests beside the others, 95 at once. */
const noises = (): ReadonlyMap<string, NoisyRequest | undefined> =>
  new Map([
    [alone, undefined],
    [
      'beside access reviews in YAML',
      {
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        type: 'application/yaml',
        body: `spec: [${','.repeat(8_000)}]`,
      },
    ],
    [
      'beside JSON of 1 MB with 80,000 keys',
      { method: 'POST', path: keys, type: 'application/json', body: JSON.stringify({ spec: manyKeys }) },
    ],
    [
      'beside JSON patches of 1 MB',
      {
        method: 'PATCH',
        path: objectPath(ownedAccessKeys, { name: ownKey(owned, 0, { now: 0 }).metadata.name }),
        type: 'application/json-patch+json',
        body: JSON.stringify([note]),
      },
    ],
  ]);
const alone = 'the others alone';

const measures = [
  { key: 'rate', title: 'requests a second' },
  { key: 'p50', title: 'p50 ms' },
  { key: 'p99', title: 'p99 ms' },
  { key: 'failed', title: 'requests that failed' },
  { key: 'noise', title: 'noisy requests a second' },
  { key: 'probe', title: 'slowest `/readyz`, ms' },
  { key: 'cores', title: 'CPU of the gateway, cores' },
];

/** The cost to all others of one user who sends what takes long to read. */
export const noisyUser: Benchmark = { name: 'noisy-user', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    const times = { now: Date.now() };
    const own = Array.from({ length: owned }, (_, index) => ownKey(owned, index, times));
    await storeAll(platform.plane, ownedAccessKeys, own.values());
    progress('starting the gateway');
    const generator = await Generator.build(platform.guard.folder);
    const gateway = await startGateway(platform, { profile: options.profile });
    const { seconds, warmUp } = options;
    if (warmUp > 0) await generator.pace(gateway, { ...others, seconds: warmUp });
    const subject = { gateway, generator, seconds };
    const turns = [...noises()].map(([name, noise]) => ({ name, measure: () => measure(subject, noise) }));
    // A process that has never met a kind of request compiles the code for it while the others wait.
    if (warmUp > 0) for (const turn of turns) await turn.measure();
    return section(await interleave(turns, options.rounds, progress), options);
  });
}

interface Subject {
  readonly gateway: Awaited<ReturnType<typeof startGateway>>;
  readonly generator: Generator;
  readonly seconds: number;
}

async function measure(subject: Subject, noise: NoisyRequest | undefined): Promise<Sample> {
  const { gateway, generator, seconds } = subject;
  const ended = new AbortController();
  const accompanied = generator.pace(gateway, { ...company, seconds: lead + seconds + lead });
  await delay((lead * 1_000) / 2);
  const noisy = noise && startNoise(gateway, noise);
  try {
    await delay(lead * 1_000);
    const probing = probe(gateway, ended.signal);
    const before = await usageOf(gateway.pid);
    const found = await generator.pace(gateway, { ...others, seconds }).finally(() => ended.abort());
    const after = await usageOf(gateway.pid);
    const sent = await noisy?.end();
    await accompanied;
    const served = found.statuses['200'] ?? 0;
    return {
      rate: served / found.seconds,
      p50: found.p50,
      p99: found.p99,
      failed: found.requests - served + found.errors,
      ...(sent !== undefined && { noise: sent / (found.seconds + lead) }),
      probe: await probing,
      cores: (after.cpuSeconds - before.cpuSeconds) / found.seconds,
    };
  } finally {
    noisy?.kill();
  }
}

function startNoise({ url, gateway }: Endpoint & Subject['gateway'], noise: NoisyRequest): Noise {
  const { method, path, type, body } = noise;
  const headers = { authorization: `Bearer ${ownSecret(owned, 0)}`, 'content-type': type };
  return Noise.start({ url: url + path, ca: gateway.ca, method, headers, body, atOnce });
}

/** How long the slowest answer to the readiness probe took, milliseconds. @throws Error when it was not ready. */
async function probe({ gateway }: Subject['gateway'], signal: AbortSignal): Promise<number> {
  let slowest = 0;
  while (!signal.aborted) {
    const start = performance.now();
    const { status } = await gateway.health('/readyz');
    slowest = Math.max(slowest, performance.now() - start);
    if (status !== 200) throw new Error(`the probe got ${status}`);
    await delay(probeEveryMs);
  }
  return slowest;
}

function section(samples: Samples, { keys, rounds, seconds }: BenchmarkContext['options']): Section {
  const slower = [...noises().keys()]
    .filter((name) => name !== alone)
    .map((name) => `${name}: ${figure(ratioOf(samples, { key: 'p99', of: name, to: alone }) ?? 0)}`);
  return {
    title: 'noisy-user',
    about: `${others.rate} GETs a second over ${others.connections} connections, beside one user with ${atOnce} requests at once. ${figure(keys)} keys loaded. ${rounds} rounds of ${seconds} s.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: p99 of the others at most twice that alone, and no probe that fails.',
      `Measured, as the median of the ratios within a round: ${slower.join('; ')}.`,
      'The noise is made on the same cores, by a process that leaves them to all others.',
    ],
  };
}
