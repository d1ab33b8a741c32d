import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { makePod, startKubelet } from '../../lab/kubelet/kubelet.ts';
import { Api } from '../../lab/operator/api.ts';
import { until } from '../../lab/operator/until.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { direct, type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { storeAll } from '../gateway/etcd.ts';
import { type GatewayPlatform, smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { Generator } from '../gateway/load.ts';
import { startNginx } from '../gateway/nginx.ts';
import { startNodeRelay } from '../gateway/node-relay.ts';
import { namespaces, ownKey, ownSecret } from '../gateway/stored-keys.ts';
import { type Asked, Tunnels } from '../gateway/tunnels.ts';
import { usageOf } from '../measure/process-usage.ts';
import { ratioOf } from '../measure/ratios.ts';
import { interleave, type Sample, type Samples } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';
import { kubectl } from '../world/kubectl.ts';

const measures = [
  { key: 'opened', title: 'opened a second' },
  { key: 'exec', title: '`exec`, MB/s' },
  { key: 'execCPU', title: 'CPU, ms a MB' },
  { key: 'forward', title: '`port-forward`, MB/s' },
  { key: 'memory', title: 'memory, kB an idle one' },
  { key: 'cut', title: 'cut, p99 ms' },
  { key: 'alone', title: 'GET alone, p99 ms' },
  { key: 'beside', title: 'GET beside 4 at full speed, p99 ms' },
  { key: 'besideSpeed', title: 'those 4, MB/s' },
];

/** A user and a key may have no more than so many; see the limits of the gateway. */
const idle = { owners: 4, keys: 5, ofKey: 100 } as const;
const ofOneKey = 480;
const get = {
  path: `/api/v1/namespaces/${namespaces.small}/configmaps/${smallObject}`,
  connections: 4,
  rate: 200,
} as const;
/** Others were there before: four streams that have both cores leave none to who comes next, whatever stands between them. */
const company = { rate: 10, seconds: 2 } as const;
/** The API server answers it by itself, without a node. */
const watch = `/api/v1/namespaces/${namespaces.small}/configmaps?watch=true`;
const knownMs = 30_000;

/** Websockets through the gateway: how soon they open, how fast they are, what they cost, and how soon they end. */
export const upgrade: Benchmark = { name: 'upgrade', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    progress('starting a kubelet, the gateway and its peers');
    const source = await endlessSource();
    try {
      const pod = await preparePod(platform);
      const generator = await Generator.build(platform.guard.folder);
      const gateway = withOwnKeys(await startGateway(platform, { profile: options.profile }));
      const nginx = await startNginx(platform);
      const relay = await startNodeRelay(platform);
      const limit = direct(platform);
      const shared = { platform, generator, pod, port: (source.address() as AddressInfo).port };
      const all = [gateway, nginx, relay, limit].filter((endpoint) => endpoint !== undefined);
      const subjects = all.map((endpoint) => new Subject({ ...shared, endpoint }));
      for (const subject of subjects) if (options.warmUp > 0) await subject.measure(1);
      const turns = subjects.map((subject) => ({
        name: subject.name,
        measure: async () => await subject.measure(options.seconds),
      }));
      return section(
        await interleave(turns, options.rounds, progress),
        { gateway, nginx, relay, limit },
        options,
      );
    } finally {
      source.close();
    }
  });
}

/** A port of loopback that sends without end. */
async function endlessSource(): Promise<Server> {
  const block = Buffer.alloc(2 ** 18);
  const server = createServer((socket: Socket) => {
    const send = () => {
      while (socket.writable && socket.write(block));
    };
    socket.on('error', () => undefined).on('drain', send);
    send();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** The name of a running pod, in which everyone may open sessions. The keys that the gateway is asked with have no scope. */
async function preparePod({ plane, admin, guard }: GatewayPlatform): Promise<string> {
  const times = { now: Date.now() };
  const keys = owners.flatMap((owner) =>
    Array.from({ length: owner }, (_, key) => ownKey(owner, key, times)),
  );
  await storeAll(plane, ownedAccessKeys, keys.values());
  const role = ['create', 'clusterrole', 'bench-sessions', '--verb=get,create'];
  await kubectl(plane, [...role, '--resource=pods/exec,pods/portforward']);
  const binding = ['create', 'clusterrolebinding', 'bench-sessions', '--clusterrole=bench-sessions'];
  await kubectl(plane, [...binding, '--group=system:authenticated']);
  return await makePod(new Api(admin, () => undefined), await startKubelet(guard, plane));
}

/** Each of them has as many keys as its number says. */
const owners = Array.from({ length: idle.owners }, (_, index) => idle.keys + index);
const bearers = owners.flatMap((owner) =>
  Array.from({ length: idle.keys }, (_, key) => ownSecret(owner, key)),
);
const [owner = 0] = owners;

type Gateway = Awaited<ReturnType<typeof startGateway>>;

const withOwnKeys = (gateway: Gateway): Gateway => ({
  ...gateway,
  headers: () => ({ Authorization: `Bearer ${ownSecret(owner, 1)}` }),
});

interface SubjectParts {
  readonly platform: GatewayPlatform;
  readonly generator: Generator;
  readonly endpoint: Endpoint | Gateway;
  readonly pod: string;
  /** Of the endless source. */
  readonly port: number;
}

/** One contender. */
class Subject {
  readonly #parts: SubjectParts;
  /** Memory before there was an idle one, MiB. A process rarely gives back what it has once taken. */
  #atRest: number | undefined;

  constructor(parts: SubjectParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.endpoint.name;
  }

  async measure(seconds: number): Promise<Sample> {
    const { endpoint } = this.#parts;
    const exec = await this.#speed(this.#exec, seconds);
    const sample = {
      opened: await this.#opened(seconds),
      exec: exec.speed,
      execCPU: exec.cpu,
      forward: (await this.#speed(this.#forward, seconds)).speed,
      ...(await this.#latencies(seconds)),
      memory: await this.#memory(),
    };
    return 'gateway' in endpoint ? { ...sample, cut: await this.#cut(endpoint) } : sample;
  }

  get #exec(): Asked {
    const query = 'container=main&stdout=true&command=cat&command=/dev/zero';
    return { path: `${this.#place}/exec?${query}`, protocol: 'v5.channel.k8s.io' };
  }

  get #forward(): Asked {
    const { port } = this.#parts;
    return { path: `${this.#place}/portforward?ports=${port}`, protocol: 'v4.channel.k8s.io' };
  }

  get #place(): string {
    return `/api/v1/namespaces/default/pods/${this.#parts.pod}`;
  }

  async #opened(seconds: number): Promise<number> {
    return await this.#with(async (tunnels) => {
      const found = await tunnels.churn({ path: watch, atOnce: 16 }, seconds);
      return found.opened / found.seconds;
    });
  }

  async #speed(asked: Asked, seconds: number) {
    const { pid } = this.#parts.endpoint;
    return await this.#with(async (tunnels) => {
      await tunnels.open(asked, 1);
      const before = await usageOf(pid);
      const { bytes, seconds: taken } = await tunnels.count(seconds);
      const after = await usageOf(pid);
      const megabytes = bytes / 1e6;
      const cpu = ((after.cpuSeconds - before.cpuSeconds) * 1_000) / megabytes;
      return { speed: megabytes / taken, cpu };
    });
  }

  async #memory(): Promise<number> {
    const { endpoint } = this.#parts;
    const many = idle.owners * idle.keys * idle.ofKey;
    const from = 'gateway' in endpoint ? { bearers } : {};
    return await this.#with(async (tunnels) => {
      this.#atRest ??= (await usageOf(endpoint.pid)).residentMebibytes;
      await tunnels.open({ path: watch, atOnce: 16, ...from }, many);
      const { residentMebibytes } = await usageOf(endpoint.pid);
      return ((residentMebibytes - this.#atRest) * 2 ** 20) / 1_000 / many;
    });
  }

  /** Of ordinary requests. */
  async #latencies(seconds: number) {
    const { generator, endpoint } = this.#parts;
    const asked = { ...get, seconds: 3 * seconds };
    const { p99: alone } = await generator.pace(endpoint, asked);
    return await this.#with(async (tunnels) => {
      const from = 'gateway' in endpoint ? { bearers: [ownSecret(owner + 1, 0)] } : {};
      const accompanied = generator.pace(endpoint, { ...asked, ...company });
      await tunnels.open({ ...this.#exec, ...from }, 4);
      await accompanied;
      const [{ p99: beside }, { bytes, seconds: taken }] = await Promise.all([
        generator.pace(endpoint, asked),
        tunnels.count(asked.seconds),
      ]);
      return { alone, beside, besideSpeed: bytes / 1e6 / taken };
    });
  }

  /** From the start of the write that disables the key of all, p99 in milliseconds. */
  async #cut({ gateway }: Gateway): Promise<number> {
    const { platform } = this.#parts;
    const { plane, admin } = platform;
    const [key, times] = [ownSecret(owner, 0), { now: Date.now() }];
    const object = ownKey(owner, 0, times);
    return await this.#with(async (tunnels) => {
      await tunnels.open({ path: watch, atOnce: 16, bearers: [key] }, ofOneKey);
      const start = performance.timeOrigin + performance.now();
      const { name } = object.metadata;
      await admin.mergePatch(ownedAccessKeys, { name }, { spec: { disabled: true } });
      const { closed } = await tunnels.closed();
      await storeAll(plane, ownedAccessKeys, [ownKey(owner, 0, { now: Date.now() })].values());
      const isKnown = async () => {
        const { statusCode, body } = await gateway.send('/kubernetes/management/version', { key });
        await body.dump();
        return statusCode === 200;
      };
      await until('the key is good again', isKnown, { timeoutMs: knownMs });
      return percentile(
        closed.map((at) => at - start),
        99,
      );
    });
  }

  async #with<Result>(work: (tunnels: Tunnels) => Promise<Result>): Promise<Result> {
    const tunnels = Tunnels.start(this.#parts.endpoint);
    try {
      return await work(tunnels);
    } finally {
      tunnels.end();
      // The other side hears of their end.
      await delay(500);
    }
  }
}

interface Contenders {
  readonly gateway: Endpoint;
  readonly nginx: Endpoint | undefined;
  readonly relay: Endpoint;
  readonly limit: Endpoint;
}

function section(
  samples: Samples,
  { gateway, nginx, relay, limit }: Contenders,
  { keys, rounds, seconds }: BenchmarkContext['options'],
): Section {
  const of = gateway.name;
  const ratio = (key: string, to = limit.name) => figure(ratioOf(samples, { key, of, to }) ?? 0);
  const ofNginx =
    nginx === undefined
      ? 'nginx is not installed here, so it has no row'
      : `of nginx: \`exec\` ${ratio('exec', nginx.name)}, \`port-forward\` ${ratio('forward', nginx.name)}`;
  const slower = (samples.get(of) ?? []).map(({ beside = 0, alone = 1 }) => figure(beside / alone));
  return {
    title: 'upgrade',
    about: `Websockets to the API server: watches that are opened and left, ${figure(idle.owners * idle.keys * idle.ofKey)} that are idle, ${ofOneKey} of one key that is disabled; \`exec\` and \`port-forward\` of a stream without end, one at a time. ${figure(keys)} keys loaded, TLS on both sides. ${rounds} rounds of ${seconds} s for each figure.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: 0.6 of direct and 0.8 of nginx; 32 kB an idle one; a cut within 250 ms; GETs beside four at most twice as slow at p99.',
      `Measured, as the median of the ratios within a round. Of direct: \`exec\` ${ratio('exec')}, \`port-forward\` ${ratio('forward')}; ${ofNginx}; of a relay in Node: \`exec\` ${ratio('exec', relay.name)}, \`port-forward\` ${ratio('forward', relay.name)}, memory ${ratio('memory', relay.name)}. GETs of the gateway beside four, times those alone: ${slower.join(', ')}.`,
      'A cut counts from the start of the write that disables the key. A user of the gateway may have so many only, so the idle ones are those of four users with five keys each.',
      'GETs beside four begin two seconds after these, beside which there were a few GETs from their beginning on.',
      'The API server, the node and the client work on the same cores. The memory counts from before there was an idle one.',
    ],
  };
}
