import path from 'node:path';
import { Guard } from '../../lab/controlplane/guard.ts';
import { runBundle } from '../../lab/operator/program.ts';
import { until } from '../../lab/operator/until.ts';
import { apiVersion } from '../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../src/api/resources.ts';
import { collectionPath } from '../../src/kube/resource-path.ts';
import { buildBundle } from '../../tools/bundle/build-bundle.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { startGateway } from '../gateway/endpoints.ts';
import { secretOf } from '../gateway/stored-keys.ts';
import { type Contender, interleave, type Sample } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { tableOf } from '../measure/table.ts';
import { makeMany, nameOf } from '../world/objects.ts';
import { withOperator } from '../world/operator.ts';
import type { Platform } from '../world/platform.ts';
import { ReadyWatch } from '../world/ready-watch.ts';
import { instance, startVirtualCluster } from '../world/virtual-cluster.ts';

const measures = [
  { key: 'median', title: 'one after the other, p50 ms' },
  { key: 'late', title: 'p99 ms' },
  { key: 'rate', title: 'sixteen at a time, a second' },
];

const ttl = 3_600;
const management = '/kubernetes/management';
/** Every run makes an object that stays. */
const env = {
  LATCHKEY_TOKENS_PER_USER: '1000000',
  LATCHKEY_KUBECONFIGS_PER_USER: '1000000',
};

/** How long somebody waits for a credential who asks the gateway for it. */
export const byPost: Benchmark = { name: 'by-post', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const guard = await Guard.start('bench-gateway');
  try {
    return await withOperator(context, async (platform) => {
      context.progress('starting the gateway, and a control plane for the virtual cluster');
      const bundle = path.join(guard.folder, 'latchkey.mjs');
      await buildBundle(bundle);
      runBundle(bundle);
      const post = await startPosting(platform, guard);
      const cluster = await startVirtualCluster(platform.plane);
      const watches = new Watches(platform);
      try {
        const { server } = cluster.plane;
        return await measured(await subjectsOf(platform, { post, watches, server }), context);
      } finally {
        watches.close();
        await cluster.stop();
      }
    });
  } finally {
    await guard.stop();
  }
}

async function measured(
  subjects: readonly Subject[],
  { options, progress }: BenchmarkContext,
): Promise<Section> {
  const { rounds, runs, warmUp } = options;
  for (const subject of subjects) await subject.warmUp(warmUp / subjects.length);
  const contenders = subjects.map((subject) => subject.contender(Math.ceil(runs / rounds)));
  const table = tableOf(await interleave(contenders, rounds, progress), measures);
  return {
    title: 'by-post',
    about: `From the start of the request until the client has the credential: by POST to the gateway, with an access key, and by an object that the same user creates at the API server and watches until it is ready. ${runs} of each in ${rounds} rounds one after the other, and as many sixteen at a time. Platform and virtual cluster are two control planes on the same cores; etcd waits for the disk.`,
    table,
    notes: [
      'To reach: by POST at most 8 ms more at p50, and at least 0.85 of the rate.',
      'The gateway holds each answer back until its own watch has brought the confirmed object, so that the next request with a new credential passes.',
    ],
  };
}

/** One way to a credential. */
interface Way {
  readonly name: string;
  readonly once: (name: string) => Promise<void>;
}

/** `server`: of the virtual cluster, where those who have a certificate go. */
interface World {
  readonly post: Post;
  readonly watches: Watches;
  readonly server: string;
}

async function subjectsOf(platform: Platform, { post, watches, server }: World): Promise<readonly Subject[]> {
  const { namespace, name: virtualClusterInstance } = instance;
  const spec = { certificateTTL: ttl };
  const tokens = collectionPath(directClusterEndpointTokens);
  const instances = `/apis/${apiVersion}/namespaces/${namespace}/virtualclusterinstances`;
  const kubeconfigs = `${instances}/${virtualClusterInstance}/kubeconfig`;
  const created = async (resource: Resource, sent: object, place: { readonly namespace?: string } = {}) => {
    const watch = await watches.of(resource);
    return async (name: string) => {
      const seen = watch.expect(name);
      const metadata = { name, ...place };
      await platform.client.create(
        resource,
        { apiVersion, kind: resource.kind, metadata, spec: sent },
        place,
      );
      await seen;
    };
  };
  const token = { ttl };
  const kind = directClusterEndpointTokens.kind;
  const object = { ...spec, virtualClusterInstance };
  const createdKubeConfig = (clientCert: boolean) =>
    created(virtualClusterInstanceKubeConfigs, clientCert ? { ...object, clientCert, server } : object, {
      namespace,
    });
  const ways: readonly Way[] = [
    {
      name: 'token, by POST',
      once: (name) => post(tokens, { apiVersion, kind, metadata: { name }, spec: token }),
    },
    { name: 'token, created and watched', once: await created(directClusterEndpointTokens, token) },
    { name: 'kubeconfig with a token, by POST', once: () => post(kubeconfigs, { spec }) },
    { name: 'kubeconfig with a token, created and watched', once: await createdKubeConfig(false) },
    {
      name: 'kubeconfig with a certificate, by POST',
      once: () => post(kubeconfigs, { spec: { ...spec, clientCert: true, server } }),
    },
    { name: 'kubeconfig with a certificate, created and watched', once: await createdKubeConfig(true) },
  ];
  return ways.map((way) => new Subject(way));
}

/** Sends an object as the holder of a key. @throws Error when the answer is not one with a credential. */
type Post = (path: string, body: object) => Promise<void>;

async function startPosting({ plane, client }: Platform, guard: Guard): Promise<Post> {
  const key = secretOf(0);
  const { kind } = ownedAccessKeys;
  await client.create(ownedAccessKeys, {
    apiVersion,
    kind,
    metadata: { name: 'bench-poster' },
    spec: { key },
  });
  const { gateway } = await startGateway({ plane, guard }, { env });
  const isKnown = async () => {
    const { statusCode, body } = await gateway.send(`${management}/version`, { key });
    await body.dump();
    return statusCode === 200;
  };
  await until('the gateway knows the key', isKnown);
  return async (path, sent) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(sent);
    const answer = await gateway.send(management + path, { method: 'POST', key, headers, body });
    const text = await answer.body.text();
    const { status } = JSON.parse(text) as { status?: { token?: string; kubeConfig?: string } };
    if (answer.statusCode >= 300 || (status?.token ?? status?.kubeConfig) === undefined)
      throw new Error(`a POST was answered with ${answer.statusCode}: ${text.slice(0, 300)}`);
  };
}

/** A watch for each kind, opened once. */
class Watches {
  readonly #platform: Platform;
  readonly #open = new Map<Resource, ReadyWatch>();

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  async of(resource: Resource): Promise<ReadyWatch> {
    const watch = this.#open.get(resource) ?? (await ReadyWatch.open(this.#platform.client, resource));
    this.#open.set(resource, watch);
    return watch;
  }

  close(): void {
    for (const watch of this.#open.values()) watch.close();
  }
}

/** A way, gone again and again under names that no one else has. */
class Subject {
  readonly #way: Way;
  readonly #prefix: string;
  #gone = 0;

  constructor(way: Way) {
    this.#way = way;
    this.#prefix = way.name.replaceAll(/[^a-z]+/gi, '-').toLowerCase();
  }

  async warmUp(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1_000;
    while (performance.now() < end) await this.#once();
  }

  contender(runs: number): Contender {
    return { name: this.#way.name, measure: () => this.#measure(runs) };
  }

  async #measure(runs: number): Promise<Sample> {
    const times: number[] = [];
    for (let run = 0; run < runs; run++) {
      const start = performance.now();
      await this.#once();
      times.push(performance.now() - start);
    }
    const start = performance.now();
    await makeMany('', runs, () => this.#once());
    const rate = (runs * 1_000) / (performance.now() - start);
    return { median: percentile(times, 50), late: percentile(times, 99), rate };
  }

  #once(): Promise<void> {
    return this.#way.once(nameOf(this.#prefix, this.#gone++));
  }
}
