import type { Resource } from '../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type Contender, interleave, type Sample } from '../measure/rounds.ts';
import { percentileOf } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';
import { kubectl } from '../world/kubectl.ts';
import { type MeasuredUser, type Times, withMeasuredUser } from '../world/measured-user.ts';
import { createOne, makeMany, templates } from '../world/objects.ts';
import { withOperator } from '../world/operator.ts';
import { installPlainKind, isWritten, plainObjects, writeByHand } from '../world/plain-kind.ts';
import { benchUser, type Platform } from '../world/platform.ts';
import { hasReadyCondition, type IsReady, ReadyWatch } from '../world/ready-watch.ts';

const neighbour = 'bench-neighbour';
const stormSize = 3_000;
const keys = templates.generatedKey;

const measures = [
  { key: 'readyMedian', title: 'create to ready, p50 ms' },
  { key: 'readyLate', title: 'p99 ms' },
  { key: 'addedMedian', title: 'of it after the first event, p50 ms' },
  { key: 'addedLate', title: 'p99 ms' },
  { key: 'handMedian', title: 'the same writes by hand, p50 ms' },
  { key: 'handLate', title: 'p99 ms' },
];

/** The cost of one user's keys to another, who makes one key after the other meanwhile. */
export const fairness: Benchmark = { name: 'fairness', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  const runsOfRound = Math.ceil(options.runs / options.rounds);
  return await withOperator(context, async (platform) => {
    await installPlainKind(platform.plane, [benchUser, neighbour]);
    const client = await clientOfNeighbour(platform);
    const measure = async (user: MeasuredUser) => {
      const subjects = [
        new Subject('alone', (work) => work(() => false)),
        new Subject(`beside ${stormSize} objects without a controller`, beside(client, byHand(client))),
        new Subject(`beside ${stormSize} new keys of another user`, beside(client, newKeys(client))),
      ];
      const contenders = subjects.map((subject) => subject.contender(user, runsOfRound));
      const table = tableOf(await interleave(contenders, options.rounds, progress), measures);
      return section(table, subjects, context);
    };
    return await withMeasuredUser(platform, runsOfRound, measure).finally(() => client.close());
  });
}

function section(table: string, subjects: readonly Subject[], { options }: BenchmarkContext): Section {
  return {
    title: 'fairness',
    about: `One user makes one key after the other, and after each a plain object with as many writes by hand, at most ${options.runs} in ${options.rounds} rounds. Another makes ${stormSize} objects meanwhile, sixteen at a time. Measured only while those are not all ready.`,
    table,
    notes: [
      'To reach: p99 beside the keys at most twice the p99 alone, and at most twice the p99 of the writes by hand in the same row.',
      'Both users share the two cores with the API server, etcd and the program that measures. The writes by hand have no controller, so they show what the API server takes at that moment: a create, two changes, and the event of the last.',
      'The objects without a controller are changed twice too, by the one who makes them.',
      ...subjects.map((subject) => subject.outline()),
    ],
  };
}

/** Does the work beside something else, and tells it when that is over. */
type During = (work: (isOver: () => boolean) => Promise<Sample>) => Promise<Sample>;

/** A row: what the measured user meets. */
class Subject {
  readonly #name: string;
  readonly #during: During;
  readonly #times: Times[] = [];

  constructor(name: string, during: During) {
    this.#name = name;
    this.#during = during;
  }

  contender(user: MeasuredUser, runs: number): Contender {
    const measure = (isOver: () => boolean) => this.#measure(user, runs, isOver);
    return { name: this.#name, measure: () => this.#during(measure) };
  }

  /** Over all rounds: the 99th percentile of one round is its second or third longest. */
  outline(): string {
    const of = (key: keyof Times) =>
      [50, 90, 99, 100].map((percent) => figure(percentileOf(this.#times, key, percent))).join(', ');
    return `All ${this.#times.length} runs ${this.#name}, p50, p90, p99 and longest: create to ready ${of('ready')} ms; by hand ${of('hand')} ms.`;
  }

  async #measure(user: MeasuredUser, runs: number, isOver: () => boolean): Promise<Sample> {
    const times = await user.measure(runs, isOver);
    this.#times.push(...times);
    const of = (key: keyof Times, percent: number) => percentileOf(times, key, percent);
    return {
      readyMedian: of('ready', 50),
      readyLate: of('ready', 99),
      addedMedian: of('added', 50),
      addedLate: of('added', 99),
      handMedian: of('hand', 50),
      handLate: of('hand', 99),
    };
  }
}

/** Objects of the neighbour, as many as wanted at once. */
interface Storm {
  readonly resource: Resource;
  readonly make: (name: string) => Promise<void>;
  readonly isReady: IsReady;
}

const newKeys = (client: KubeClient): Storm => ({
  resource: keys.resource,
  make: (name) => createOne(client, keys, name),
  isReady: hasReadyCondition,
});

/** Its writes are those that the operator has with a key. */
const byHand = (client: KubeClient): Storm => ({
  resource: plainObjects,
  make: (name) => writeByHand(client, name),
  isReady: isWritten,
});

/** Makes a storm, and does `work` until all of it is ready. */
function beside(client: KubeClient, { resource, make, isReady }: Storm): During {
  let storms = 0;
  return async (work) => {
    const prefix = `storm-${storms++}`;
    const isOfStorm: IsReady = (object) => object.metadata.name.startsWith(prefix) && isReady(object);
    const watch = await ReadyWatch.open(client, resource, isOfStorm);
    try {
      const making = makeMany(prefix, stormSize, make);
      const [sample] = await Promise.all([watch.whileUnready(stormSize, work), making]);
      return sample;
    } finally {
      watch.close();
    }
  };
}

async function clientOfNeighbour({ plane }: Platform): Promise<KubeClient> {
  const role = ['--clusterrole=latchkey-admin', `--user=${neighbour}`];
  await kubectl(plane, ['create', 'clusterrolebinding', neighbour, ...role]);
  const file = await plane.kubeconfigFor(neighbour);
  const timeoutMs = 60_000;
  const kubeConfig = kubeConfigSource({ file });
  return createKubeClient({ kubeConfig, userAgent: 'latchkey-bench-neighbour', connections: 32, timeoutMs });
}
