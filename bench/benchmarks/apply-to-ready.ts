import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { usageOf } from '../measure/process-usage.ts';
import { type Contender, interleave, type Sample } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';
import { createOne, nameOf, type Template, templates } from '../world/objects.ts';
import { withOperator } from '../world/operator.ts';
import { installPlainKind } from '../world/plain-kind.ts';
import type { Platform } from '../world/platform.ts';
import { ReadyWatch, type Seen } from '../world/ready-watch.ts';

const sorts: Readonly<Record<string, Template>> = {
  'OwnedAccessKey, key generated': templates.generatedKey,
  'OwnedAccessKey, key given as hash': templates.hashedKey,
  DirectClusterEndpointToken: templates.token,
  'limit: a custom resource without a controller': templates.plain,
};

const measures = [
  { key: 'readyMedian', title: 'create to ready, p50 ms' },
  { key: 'readyLate', title: 'p99 ms' },
  { key: 'firstMedian', title: 'create to first event, p50 ms' },
  { key: 'firstLate', title: 'p99 ms' },
  { key: 'cpu', title: 'CPU of the operator, µs an object' },
];

/** How long a person waits for one credential. */
export const applyToReady: Benchmark = { name: 'apply-to-ready', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  const runsOfRound = Math.ceil(options.runs / options.rounds);
  return await withOperator(context, async (platform, { pid }) => {
    await installPlainKind(platform.plane);
    const subjects = Object.entries(sorts).map(
      ([name, template], index) => new Subject(name, template, { platform, pid, prefix: `bench-${index}` }),
    );
    try {
      for (const subject of subjects) await subject.warmUp(options.warmUp / subjects.length);
      const contenders = subjects.map((subject) => subject.contender(runsOfRound));
      const samples = await interleave(contenders, options.rounds, progress);
      return section(tableOf(samples, measures), subjects, context);
    } finally {
      for (const subject of subjects) subject.close();
    }
  });
}

function section(table: string, subjects: readonly Subject[], { options }: BenchmarkContext): Section {
  const { rounds, runs, warmUp } = options;
  return {
    title: 'apply-to-ready',
    about: `One object after the other, from the start of the create request to \`Ready=True\` on a watch of the same client; etcd waits for the disk. ${runs} objects of each sort in ${rounds} rounds, after ${warmUp} s of warm-up.`,
    table,
    notes: [
      'To reach: p50 at most 15 ms, p99 at most 50 ms.',
      'The first event is the create itself, before the operator has done anything: the difference is what the operator adds. The median over rounds of a percentile is not the percentile of all runs, so those follow.',
      ...subjects.map((subject) => subject.outline()),
    ],
  };
}

/** One sort of object, created again and again. */
class Subject {
  readonly #name: string;
  readonly #template: Template;
  readonly #platform: Platform;
  readonly #pid: number;
  readonly #prefix: string;
  readonly #readyTimes: number[] = [];
  #watch: ReadyWatch | undefined;
  #created = 0;

  constructor(name: string, template: Template, at: { platform: Platform; pid: number; prefix: string }) {
    this.#name = name;
    this.#template = template;
    this.#platform = at.platform;
    this.#pid = at.pid;
    this.#prefix = at.prefix;
  }

  async warmUp(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) await this.#once();
  }

  contender(runs: number): Contender {
    return { name: this.#name, measure: () => this.#measure(runs) };
  }

  /** Over all runs of all rounds. */
  outline(): string {
    const of = (percent: number): string => figure(percentile(this.#readyTimes, percent));
    return `${this.#name}: all ${this.#readyTimes.length} runs: p50 ${of(50)}, p90 ${of(90)}, p99 ${of(99)}, longest ${of(100)} ms`;
  }

  close(): void {
    this.#watch?.close();
  }

  async #measure(runs: number): Promise<Sample> {
    const before = await usageOf(this.#pid);
    const times: Pick<Seen, 'first' | 'ready'>[] = [];
    for (let run = 0; run < runs; run++) times.push(await this.#once());
    const { cpuSeconds } = await usageOf(this.#pid);
    const ready = times.map((time) => time.ready);
    const first = times.map((time) => time.first);
    this.#readyTimes.push(...ready);
    return {
      readyMedian: percentile(ready, 50),
      readyLate: percentile(ready, 99),
      firstMedian: percentile(first, 50),
      firstLate: percentile(first, 99),
      cpu: ((cpuSeconds - before.cpuSeconds) * 1e6) / runs,
    };
  }

  /** Milliseconds from the start of the create request. */
  async #once(): Promise<Pick<Seen, 'first' | 'ready'>> {
    const { client } = this.#platform;
    this.#watch ??= await ReadyWatch.open(client, this.#template.resource);
    const name = nameOf(this.#prefix, this.#created++);
    const seen = this.#watch.expect(name);
    const start = performance.now();
    await createOne(client, this.#template, name);
    const { first, ready } = await seen;
    return { first: first - start, ready: ready - start };
  }
}
