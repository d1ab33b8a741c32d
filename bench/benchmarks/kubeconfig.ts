import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { usageOf } from '../measure/process-usage.ts';
import { type Contender, interleave, type Sample } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';
import { withOperator } from '../world/operator.ts';
import { startVirtualCluster } from '../world/virtual-cluster.ts';
import { byHand, byObject, type Flow } from './kubeconfig-flows.ts';

const measures = [
  { key: 'issuedMedian', title: 'create to kubeconfig, p50 ms' },
  { key: 'issuedLate', title: 'p99 ms' },
  { key: 'usableMedian', title: 'create to first allowed request, p50 ms' },
  { key: 'usableLate', title: 'p99 ms' },
  { key: 'cpu', title: 'CPU of the operator, µs an object' },
];

/** How long a person waits for a kubeconfig. */
export const kubeconfig: Benchmark = { name: 'kubeconfig', run };

async function run(context: BenchmarkContext): Promise<Section> {
  return await withOperator(context, async (platform, { pid }) => {
    context.progress('starting a control plane for the virtual cluster');
    const cluster = await startVirtualCluster(platform.plane);
    const subjects = [
      new Subject('with a token', pid, await byObject(platform, cluster, false)),
      new Subject('with a certificate', pid, await byObject(platform, cluster, true)),
      new Subject('beside: a certificate by hand', pid, await byHand(cluster)),
    ];
    try {
      return await measured(subjects, context);
    } finally {
      for (const subject of subjects) subject.close();
      await cluster.stop();
    }
  });
}

async function measured(subjects: readonly Subject[], context: BenchmarkContext): Promise<Section> {
  const { rounds, runs, warmUp } = context.options;
  for (const subject of subjects) await subject.warmUp(warmUp / subjects.length);
  const contenders = subjects.map((subject) => subject.contender(Math.ceil(runs / rounds)));
  const samples = await interleave(contenders, rounds, context.progress);
  return section(tableOf(samples, measures), subjects, context);
}

function section(table: string, subjects: readonly Subject[], { options }: BenchmarkContext): Section {
  const { rounds, runs, warmUp } = options;
  return {
    title: 'kubeconfig',
    about: `One after the other, from the start of the create request until a watch of the same client brings \`status.kubeConfig\`, and on until a new client with this kubeconfig has been allowed to get a namespace of the virtual cluster. Platform and virtual cluster are two control planes on the same cores; etcd waits for the disk. ${runs} of each in ${rounds} rounds, after ${warmUp} s of warm-up.`,
    table,
    notes: [
      'To reach: p50 at most 40 ms with a certificate, 25 ms with a token.',
      'By hand, as an administrator of the virtual cluster with the same client: key and request, CertificateSigningRequest, approval, the certificate by a watch, ClusterRoleBinding, kubeconfig. No platform is involved, so no one checks who asks, and nothing is written down.',
      'A token is for the gateway, which is no part of this benchmark: it is not put to use. The CPU in the row by hand is what an idle operator uses meanwhile.',
      ...subjects.map((subject) => subject.outline()),
    ],
  };
}

/** One way to a kubeconfig, gone again and again. */
class Subject {
  readonly #name: string;
  readonly #pid: number;
  readonly #flow: Flow;
  readonly #issuedTimes: number[] = [];
  #gone = 0;

  constructor(name: string, pid: number, flow: Flow) {
    this.#name = name;
    this.#pid = pid;
    this.#flow = flow;
  }

  async warmUp(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) await this.#flow.once(this.#gone++);
  }

  contender(runs: number): Contender {
    return { name: this.#name, measure: () => this.#measure(runs) };
  }

  /** Over all runs of all rounds. */
  outline(): string {
    const of = (percent: number): string => figure(percentile(this.#issuedTimes, percent));
    return `${this.#name}: all ${this.#issuedTimes.length} runs, create to kubeconfig: p50 ${of(50)}, p90 ${of(90)}, p99 ${of(99)}, longest ${of(100)} ms`;
  }

  close(): void {
    this.#flow.close();
  }

  async #measure(runs: number): Promise<Sample> {
    const before = await usageOf(this.#pid);
    const issued: number[] = [];
    const usable: number[] = [];
    for (let run = 0; run < runs; run++) {
      const times = await this.#flow.once(this.#gone++);
      issued.push(times.issued);
      if (times.usable !== undefined) usable.push(times.usable);
    }
    const { cpuSeconds } = await usageOf(this.#pid);
    this.#issuedTimes.push(...issued);
    return {
      issuedMedian: percentile(issued, 50),
      issuedLate: percentile(issued, 99),
      ...(usable.length > 0 && { usableMedian: percentile(usable, 50), usableLate: percentile(usable, 99) }),
      cpu: ((cpuSeconds - before.cpuSeconds) * 1e6) / runs,
    };
  }
}
