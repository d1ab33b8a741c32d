import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { base64, writeKubeconfig } from '../../lab/controlplane/kubeconfig.ts';
import { copyAtOnce } from '../../lab/kubelet/copies.ts';
import { makePod, startKubelet } from '../../lab/kubelet/kubelet.ts';
import { sessionProtocols } from '../../lab/kubelet/session-protocols.ts';
import { Api } from '../../lab/operator/api.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { direct, type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { storeAll } from '../gateway/etcd.ts';
import { type GatewayPlatform, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { startNginx } from '../gateway/nginx.ts';
import { ownKey, ownSecret } from '../gateway/stored-keys.ts';
import { usageOf } from '../measure/process-usage.ts';
import { ratioOf } from '../measure/ratios.ts';
import { interleave, type Sample, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';
import { kubectl } from '../world/kubectl.ts';

/** Besides the one that reads slowly. */
const count = 50;
const megabytes = 30;

const measures = [
  { key: 'seconds', title: 'until all are over, s' },
  { key: 'speed', title: 'MB/s' },
  { key: 'cpu', title: 'CPU, ms a MB' },
  { key: 'memory', title: 'memory that came with them, MiB' },
];

/** Many large files at once, into a pod by `kubectl cp` and out of it by `kubectl exec`, beside one whose reader stands still. */
export const copies: Benchmark = { name: 'copies', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async (platform) => {
    progress('starting a kubelet, the gateway and nginx');
    const copier = await Copier.start(platform);
    const started = await startGateway(platform, { profile: options.profile });
    const gateway = { ...started, headers: () => ({ Authorization: `Bearer ${ownSecret(1, 0)}` }) };
    const nginx = await startNginx(platform);
    const limit = direct(platform);
    const parts = [
      { endpoint: gateway, ca: gateway.gateway.ca },
      ...(nginx === undefined ? [] : [{ endpoint: nginx, ca: platform.certificate.ca }]),
      { endpoint: limit, ca: Buffer.from(platform.plane.caData, 'base64').toString() },
    ];
    const turns = sessionProtocols.flatMap(([protocol, env]) =>
      parts.map(({ endpoint, ca }) => {
        const name = turnOf(endpoint, protocol);
        return {
          name,
          measure: async (round: number) => await copier.measure(endpoint, { name, ca, round, env }),
        };
      }),
    );
    const samples = await interleave(turns, options.rounds, progress);
    return section(samples, options, { of: gateway, to: limit });
  });
}

type Protocol = (typeof sessionProtocols)[number][0];

const turnOf = ({ name }: Endpoint, protocol: Protocol): string => `${name}, ${protocol}`;

interface Turn {
  readonly name: string;
  readonly ca: string;
  readonly round: number;
  /** Sets the protocol. */
  readonly env: Readonly<Record<string, string>>;
}

/** A pod with a large file. */
class Copier {
  readonly #platform: GatewayPlatform;
  readonly #pod: string;
  readonly #file: string;
  readonly #checksum: string;

  static async start(platform: GatewayPlatform): Promise<Copier> {
    const { plane, admin, guard } = platform;
    // The other keys have a scope without sessions.
    await storeAll(plane, ownedAccessKeys, [ownKey(1, 0, { now: Date.now() })].values());
    const role = ['create', 'clusterrole', 'bench-copies', '--verb=get,create', '--resource=pods,pods/exec'];
    await kubectl(plane, role);
    const binding = ['create', 'clusterrolebinding', 'bench-copies', '--clusterrole=bench-copies'];
    await kubectl(plane, [...binding, '--group=system:authenticated']);
    const pod = await makePod(new Api(admin, () => undefined), await startKubelet(guard, plane));
    const content = randomBytes(megabytes * 1e6);
    const file = path.join(guard.folder, 'file-of-the-pod');
    await writeFile(file, content);
    return new Copier(platform, { pod, file, checksum: createHash('sha256').update(content).digest('hex') });
  }

  private constructor(
    platform: GatewayPlatform,
    { pod, file, checksum }: { readonly pod: string; readonly file: string; readonly checksum: string },
  ) {
    this.#platform = platform;
    this.#pod = pod;
    this.#file = file;
    this.#checksum = checksum;
  }

  /** @throws Error when a copy differs. */
  async measure({ url, pid, headers }: Endpoint, { name, ca, round, env }: Turn): Promise<Sample> {
    const { guard, plane } = this.#platform;
    const place = { name: 'server', server: url, caData: base64(ca), folder: guard.folder };
    const token = headers(0)['Authorization']?.replace('Bearer ', '') ?? 'none';
    const order = {
      name: `copies-${name.replaceAll(/\W+/g, '-')}-${round}`,
      kubectl: plane.binaries.kubectl,
      kubeconfig: await writeKubeconfig(place, 'holder', { token }),
      ...{ pod: this.#pod, file: this.#file, count, env },
    };
    const before = await usageOf(pid);
    const start = performance.now();
    const found = await copyAtOnce(guard, order);
    const seconds = (performance.now() - start) / 1_000;
    const after = await usageOf(pid);
    if (found.some((checksum) => checksum !== this.#checksum)) throw new Error(`${name}: a copy differs`);
    const all = megabytes * found.length;
    return {
      seconds,
      speed: all / seconds,
      cpu: ((after.cpuSeconds - before.cpuSeconds) * 1_000) / all,
      memory: after.peakMebibytes - before.residentMebibytes,
    };
  }
}

function section(
  samples: Samples,
  { rounds, keys }: BenchmarkContext['options'],
  { of, to }: { readonly of: Endpoint; readonly to: Endpoint },
): Section {
  const ratios = sessionProtocols.map(([protocol]) => {
    const names = { of: turnOf(of, protocol), to: turnOf(to, protocol) };
    return `${figure(ratioOf(samples, { key: 'speed', ...names }) ?? 0)} over ${protocol}`;
  });
  return {
    title: 'copies',
    about: `${count} copies of a file of ${megabytes} MB at once, half of them into a pod by \`kubectl cp\` and half out of it by \`kubectl exec\`, and one more whose reader stands still until these are over. Every checksum is right, in both protocols. ${figure(keys)} keys loaded. ${rounds} rounds.`,
    table: tableOf(samples, measures),
    notes: [
      `To reach: 0.6 of direct; memory that does not grow with the size of the files. Measured, as parts of direct: ${ratios.join(', ')}; each the median of the ratios within a round.`,
      'Each copy is a kubectl of its own, on the same cores. They take most of the time.',
    ],
  };
}
