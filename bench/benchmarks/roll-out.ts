import { base64, writeKubeconfig } from '../../lab/controlplane/kubeconfig.ts';
import { BalancedReplicas } from '../../lab/gateway/balanced-replicas.ts';
import { configMaps } from '../../src/api/resources.ts';
import { objectPath } from '../../src/kube/resource-path.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { withKey } from '../gateway/endpoints.ts';
import { smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { startReads } from '../gateway/library-reads.ts';
import { Generator, type PacedFindings } from '../gateway/load.ts';
import { namespaces, secretOf } from '../gateway/stored-keys.ts';
import { interleave, type Sample, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const path = objectPath(configMaps, { namespace: namespaces.small, name: smallObject });
/** With those of the other clients 100,000 requests in each turn, also on two slow cores that give 600 a second. */
const load = { path, connections: 32, rate: 800, seconds: 140 } as const;
const env = { LATCHKEY_SHUTDOWN_DELAY: '5s', LATCHKEY_SHUTDOWN_GRACE: '10s' };

const measures = [
  { key: 'requests', title: 'requests answered with 200' },
  { key: 'failed', title: 'requests that failed' },
  { key: 'p50', title: 'p50 ms' },
  { key: 'p99', title: 'p99 ms' },
  { key: 'max', title: 'slowest, ms' },
];

/** The requests that clients lose while both replicas behind a balancer are replaced. */
export const rollOut: Benchmark = { name: 'roll-out', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withGatewayPlatform(context, async ({ plane, guard }) => {
    const { folder } = guard;
    const generator = await Generator.build(guard.folder);
    const balanced = await BalancedReplicas.start({ plane, guard, env });
    try {
      const endpoint = {
        name: 'both',
        url: `${balanced.url}/kubernetes/management`,
        pid: 0,
        headers: withKey,
      };
      const send = async () => sampleOf(await generator.pace(endpoint, load));
      const place = { name: 'both', server: endpoint.url, caData: base64(balanced.ca), folder };
      const kubeconfig = await writeKubeconfig(place, 'holder', { token: secretOf(1) });
      const object = { namespace: namespaces.small, name: smallObject };
      const order = { kubectl: plane.binaries.kubectl, kubeconfig, ...object, folder };
      const ofOthers = new Map<string, Sample[]>();
      const besideOthers = (turn: string, work: () => Promise<unknown>) => async () => {
        const others = await startReads(order);
        const [sample] = await Promise.all([send(), work()]);
        for (const [name, { error, requests, failed }] of await others.stop()) {
          if (error !== undefined) progress(`${name}: ${error}`);
          ofOthers.set(`${turn}: ${name}`, [{ requests: requests - failed, failed }]);
        }
        return sample;
      };
      const [still, replaced] = ['two replicas', 'while both are replaced'] as const;
      const turns = [
        { name: still, measure: besideOthers(still, async () => undefined) },
        { name: replaced, measure: besideOthers(replaced, async () => await balanced.rollOut()) },
      ];
      const samples = new Map([...(await interleave(turns, 1, progress)), ...ofOthers]);
      requireNoLoss(samples);
      return section(samples, options);
    } finally {
      await balanced.end();
    }
  });
}

const sampleOf = ({ requests, statuses, errors, p50, p99, max }: PacedFindings) => {
  const served = statuses['200'] ?? 0;
  return { requests: served, failed: requests - served + errors, p50, p99, max };
};

/** @throws Error that says whose requests were lost. */
function requireNoLoss(samples: Samples): void {
  const lost = [...samples].filter(([, rounds]) => rounds.some(({ failed }) => failed !== 0));
  if (lost.length > 0) throw new Error(`requests were lost: ${lost.map(([name]) => name).join('; ')}`);
}

function section(samples: Samples, { keys }: BenchmarkContext['options']): Section {
  return {
    title: 'roll-out',
    about: `${load.rate} GETs a second over ${load.connections} connections for ${load.seconds} s, through haproxy to two replicas with ${figure(keys)} keys. The generator sends no request again. client-go, client-node and kubectl read the same object beside it, as fast as they can.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: no request that fails, of any client.',
      'wrk is none of them: it counts errors of sockets, and connects again by itself, so it does not say which requests had no answer.',
    ],
  };
}
