import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { interleave, type Sample } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { tableOf } from '../measure/table.ts';
import { kubectl } from '../world/kubectl.ts';
import { createMany, createOne, nameOf, templates } from '../world/objects.ts';
import { withOperator } from '../world/operator.ts';
import type { Platform } from '../world/platform.ts';
import { ReadyWatch } from '../world/ready-watch.ts';

const neighbour = 'bench-neighbour';
const floodSize = 3_000;
const template = templates.generatedKey;

const measures = [
  { key: 'readyMedian', title: 'create to ready, p50 ms' },
  { key: 'readyLate', title: 'p99 ms' },
  { key: 'readyLongest', title: 'longest ms' },
  { key: 'addedMedian', title: 'of it after the first event, p50 ms' },
  { key: 'addedLate', title: 'p99 ms' },
];

/** What the keys of one user cost another, who makes one key after the other meanwhile. */
export const fairness: Benchmark = { name: 'fairness', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  const runsOfRound = Math.ceil(options.runs / options.rounds);
  return await withOperator(context, async (platform) => {
    const client = await clientOfNeighbour(platform);
    const subject = new Subject(platform);
    const flood = new Flood(client);
    try {
      await subject.measure(Math.ceil(runsOfRound / 4));
      const alone = { name: 'alone', measure: async () => await subject.measure(runsOfRound) };
      const beside = {
        name: `beside ${floodSize} new keys of another user`,
        measure: async () => await flood.during(async (ended) => await subject.measure(runsOfRound, ended)),
      };
      const samples = await interleave([alone, beside], options.rounds, progress);
      return section(tableOf(samples, measures), context);
    } finally {
      subject.close();
      await client.close();
    }
  });
}

function section(table: string, { options }: BenchmarkContext): Section {
  return {
    title: 'fairness',
    about: `One user makes one key after the other, ${options.runs} in ${options.rounds} rounds; another makes ${floodSize} keys at once, sixteen at a time, in each second round. Measured only while that flood is not all ready.`,
    table,
    notes: [
      'To reach: p99 beside the flood at most twice the p99 alone.',
      'Both users share the two cores with the API server, etcd and the program that measures. What comes before the first event is the API server alone; what comes after it is the operator too.',
    ],
  };
}

/** Keys of the neighbour, as many as wanted at once. */
class Flood {
  readonly #client: KubeClient;
  #floods = 0;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Makes a flood, and does `work` until all of it is ready. */
  async during<Result>(work: (ended: () => boolean) => Promise<Result>): Promise<Result> {
    const watch = await ReadyWatch.open(this.#client, template.resource);
    let isOver = false;
    try {
      const making = createMany(this.#client, template, `flood-${this.#floods++}`, floodSize);
      const ready = watch.untilReady(floodSize, 600_000).finally(() => {
        isOver = true;
      });
      const result = await work(() => isOver);
      await Promise.all([making, ready]);
      return result;
    } finally {
      watch.close();
    }
  }
}

/** The keys of the user who is measured. */
class Subject {
  readonly #client: KubeClient;
  #watch: ReadyWatch | undefined;
  #created = 0;

  constructor({ client }: Platform) {
    this.#client = client;
  }

  /** Until that many keys are ready, or `ended` says that there is nothing to measure any more. */
  async measure(runs: number, ended: () => boolean = () => false): Promise<Sample> {
    const ready: number[] = [];
    const added: number[] = [];
    for (let index = 0; index < runs && !ended(); index++) {
      const times = await this.#once();
      ready.push(times.ready);
      added.push(times.ready - times.first);
    }
    return {
      readyMedian: percentile(ready, 50),
      readyLate: percentile(ready, 99),
      readyLongest: percentile(ready, 100),
      addedMedian: percentile(added, 50),
      addedLate: percentile(added, 99),
    };
  }

  close(): void {
    this.#watch?.close();
  }

  /** Milliseconds from the start of the create request. */
  async #once(): Promise<{ readonly first: number; readonly ready: number }> {
    this.#watch ??= await ReadyWatch.open(this.#client, template.resource);
    const name = nameOf('fair', this.#created++);
    const seen = this.#watch.expect(name);
    const start = performance.now();
    await createOne(this.#client, template, name);
    const { first, ready } = await seen;
    return { first: first - start, ready: ready - start };
  }
}

async function clientOfNeighbour({ plane }: Platform): Promise<KubeClient> {
  const role = ['--clusterrole=latchkey-admin', `--user=${neighbour}`];
  await kubectl(plane, ['create', 'clusterrolebinding', neighbour, ...role]);
  const file = await plane.kubeconfigFor(neighbour);
  const timeoutMs = 60_000;
  const kubeConfig = kubeConfigSource({ file });
  return createKubeClient({ kubeConfig, userAgent: 'latchkey-bench-neighbour', connections: 32, timeoutMs });
}
