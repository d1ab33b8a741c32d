import { readFile } from 'node:fs/promises';
import { answeredRequests } from '../../lab/controlplane/answered-requests.ts';
import { FaultProxy } from '../../lab/operator/fault-proxy.ts';
import { metricsOf } from '../../lab/operator/telemetry.ts';
import { until } from '../../lab/operator/until.ts';
import { type Condition, conditionTypes, findCondition } from '../../src/api/conditions.ts';
import {
  certificateSigningRequests,
  clusterRoleBindings,
  configMaps,
  type Resource,
  virtualClusterInstances,
} from '../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import { forEachConcurrently } from '../../src/kube/for-each-concurrently.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { targetObjectName } from '../../src/operator/certificates/target-object-names.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type Contender, interleave, type Sample } from '../measure/rounds.ts';
import { tableOf } from '../measure/table.ts';
import { withOperator } from '../world/operator.ts';
import type { Platform } from '../world/platform.ts';
import { type IsReady, ReadyWatch } from '../world/ready-watch.ts';
import { instance, startVirtualCluster, type VirtualCluster } from '../world/virtual-cluster.ts';
import { WaitingCertificates } from '../world/waiting-certificates.ts';

const measures = [
  { key: 'records', title: 'certificates' },
  { key: 'noticed', title: 'back to `Connected`, s' },
  { key: 'unbound', title: '`Connected` to the last binding gone, s' },
  { key: 'clean', title: 'to the last signing request gone, s' },
  { key: 'completed', title: 'to the last record gone, s' },
  { key: 'requests', title: 'requests to the virtual cluster, a certificate' },
];

/** As the operator, which has four connections to each target. */
const connections = 4;
const patienceMs = 180_000;
/** The resources that are searched in the virtual cluster. */
const searched = {
  resources: [
    ...['clusterrolebindings', 'rolebindings', 'certificatesigningrequests'],
    ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
  ],
};

/** How the virtual cluster is away. */
const absences = {
  'that refuses connections': async (network: FaultProxy) => await network.refuse(),
  'that is silent': async (network: FaultProxy) => network.blackhole(),
} as const;

/** How soon certificates are worth nothing that were to be withdrawn while their virtual cluster was away. */
export const withdrawal: Benchmark = { name: 'withdrawal', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withOperator(context, async (platform, { logPath }) => {
    progress('starting a control plane for the virtual cluster');
    let network: FaultProxy | undefined;
    const cluster = await startVirtualCluster(platform.plane, async (plane) => {
      network = await FaultProxy.start(plane);
      return network.access.server;
    });
    if (network === undefined) throw new Error('there is no network');
    const subject = await Subject.open({ platform, cluster, network, logPath });
    try {
      const sizes = [Math.ceil(options.runs / 10), options.runs];
      const contenders = sizes.flatMap((size) => subject.contenders(size));
      return section(tableOf(await interleave(contenders, options.rounds, progress), measures), context);
    } finally {
      await subject.close();
      await network.close();
      await cluster.stop();
    }
  });
}

function section(table: string, { options }: BenchmarkContext): Section {
  return {
    title: 'withdrawal',
    about: `Kubeconfigs are gone, and their virtual cluster is away: so many certificates wait on record. Then it answers again. ${options.rounds} rounds.`,
    table,
    notes: [
      'To reach: 5 s from `Connected` until the last binding of 100 is gone, 15 s for 1,000.',
      'By hand: the same deletions by the same client over the same network, first of all bindings and then of all signing requests, four at a time, from the first request on. No one searches for what else could be bound, and no records are kept.',
      'How soon the return is noticed depends on how long the virtual cluster was away: pauses between checks grow up to `LATCHKEY_TARGET_RECHECK`, here a minute.',
    ],
  };
}

interface Parts {
  readonly platform: Platform;
  readonly cluster: VirtualCluster;
  /** Between the operator and the virtual cluster. */
  readonly network: FaultProxy;
  /** Of the operator. */
  readonly logPath: string;
}

class Subject {
  readonly #parts: Parts;
  readonly #waiting: WaitingCertificates;
  /** Of the platform. */
  readonly #admin: KubeClient;

  static async open(parts: Parts): Promise<Subject> {
    const kubeConfig = kubeConfigSource({ file: parts.platform.plane.adminKubeconfig });
    const admin = createKubeClient({ kubeConfig, userAgent: 'latchkey-bench' });
    return new Subject(parts, await WaitingCertificates.open(parts.platform, parts.cluster), admin);
  }

  private constructor(parts: Parts, waiting: WaitingCertificates, admin: KubeClient) {
    this.#parts = parts;
    this.#waiting = waiting;
    this.#admin = admin;
  }

  contenders(size: number): readonly Contender[] {
    const ways = Object.entries(absences).map(([which, leave]) => ({
      name: `${size} of a virtual cluster ${which}`,
      measure: async () => await this.#measure(size, leave),
    }));
    return [...ways, { name: `${size} by hand`, measure: async () => await this.#byHand(size) }];
  }

  async close(): Promise<void> {
    await this.#waiting.close();
    await this.#admin.close();
  }

  async #measure(size: number, leave: (network: FaultProxy) => Promise<void>): Promise<Sample> {
    const { network } = this.#parts;
    const uids = await this.#waiting.make(size);
    await leave(network);
    await this.#untilReady('False');
    await this.#waiting.record(uids);
    await until('all of them wait', async () => (await this.#pending()) >= size, { timeoutMs: patienceMs });
    const gone = await this.#watchDeletions(size);
    const before = await this.#answered();
    const back = performance.now();
    await network.heal();
    const [ready, unbound, clean, completed] = await Promise.all([this.#untilReady('True'), ...gone.times]);
    gone.close();
    const requests = ((await this.#answered()) - before) / size;
    const since = (at: number) => (at - ready) / 1_000;
    const times = { unbound: since(unbound), clean: since(clean), completed: since(completed) };
    return { records: size, noticed: (ready - back) / 1_000, ...times, requests };
  }

  async #byHand(size: number): Promise<Sample> {
    const { network } = this.#parts;
    const uids = await this.#waiting.make(size);
    const file = await network.access.kubeconfigFor('by-hand', ['system:masters']);
    const kubeConfig = kubeConfigSource({ file });
    const client = createKubeClient({ kubeConfig, userAgent: 'latchkey-bench', connections });
    const deleteAll = async (resource: Resource) =>
      await forEachConcurrently(uids, connections, async (uid) => {
        await client.delete(resource, { name: targetObjectName(uid, 1) });
      });
    const before = await this.#answered();
    const start = performance.now();
    await deleteAll(clusterRoleBindings);
    const unbound = (performance.now() - start) / 1_000;
    await deleteAll(certificateSigningRequests);
    const clean = (performance.now() - start) / 1_000;
    await client.close();
    return { records: size, unbound, clean, requests: ((await this.#answered()) - before) / size };
  }

  /** When so many bindings, signing requests and records are gone, on the clock of `performance.now()`. */
  async #watchDeletions(count: number) {
    const { client } = this.#parts.cluster;
    const isGone: IsReady = ({ metadata }, type) =>
      type === 'DELETED' && metadata.name.startsWith('latchkey-');
    const watches = [
      await ReadyWatch.open(client, clusterRoleBindings, isGone),
      await ReadyWatch.open(client, certificateSigningRequests, isGone),
      await ReadyWatch.open(this.#admin, configMaps, isGone),
    ] as const;
    const when = async (watch: ReadyWatch) => {
      await watch.untilReady(count, patienceMs);
      return performance.now();
    };
    const [bindings, requests, records] = watches;
    return {
      times: [when(bindings), when(requests), when(records)] as const,
      close: () => watches.forEach((watch) => void watch.close()),
    };
  }

  /** Resolves with when it was seen. */
  async #untilReady(status: 'True' | 'False'): Promise<number> {
    const look = async () => {
      const found = await this.#admin.get<Instance>(virtualClusterInstances, instance);
      return findCondition(found.status?.conditions ?? [], conditionTypes.ready)?.status === status;
    };
    // Else it may be a minute until the next check.
    if (status === 'False') await this.#touchInstance();
    await until(`the instance has Ready=${status}`, look, { timeoutMs: patienceMs, everyMs: 20 });
    return performance.now();
  }

  async #touchInstance(): Promise<void> {
    const annotations = { 'example.com/looked-at': new Date().toISOString() };
    await this.#admin.mergePatch(virtualClusterInstances, instance, { metadata: { annotations } });
  }

  /** Records that the operator has tried in vain. */
  async #pending(): Promise<number> {
    const { logPath } = this.#parts;
    const text = await metricsOf({ wholeLog: async () => await readFile(logPath, 'utf8') });
    const lines = text.split('\n').filter((line) => line.startsWith('latchkey_revocations_pending{'));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  async #answered(): Promise<number> {
    return await answeredRequests(this.#parts.cluster.plane, searched);
  }
}

type Instance = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };
