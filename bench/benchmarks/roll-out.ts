import { BalancedReplicas } from '../../lab/gateway/balanced-replicas.ts';
import { configMaps } from '../../src/api/resources.ts';
import { objectPath } from '../../src/kube/resource-path.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { withKey } from '../gateway/endpoints.ts';
import { smallObject, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { Generator, type PacedFindings } from '../gateway/load.ts';
import { namespaces } from '../gateway/stored-keys.ts';
import { interleave, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';

const path = objectPath(configMaps, { namespace: namespaces.small, name: smallObject });
/** 100,000 requests in a round. */
const load = { path, connections: 32, rate: 1_000, seconds: 100 } as const;
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
      const whileReplaced = async () => (await Promise.all([send(), balanced.rollOut()]))[0];
      const turns = [
        { name: 'two replicas', measure: send },
        { name: 'while both are replaced', measure: whileReplaced },
      ];
      return section(await interleave(turns, 1, progress), options);
    } finally {
      await balanced.end();
    }
  });
}

const sampleOf = ({ requests, statuses, errors, p50, p99, max }: PacedFindings) => {
  const served = statuses['200'] ?? 0;
  return { requests: served, failed: requests - served + errors, p50, p99, max };
};

function section(samples: Samples, { keys }: BenchmarkContext['options']): Section {
  return {
    title: 'roll-out',
    about: `${load.rate} GETs a second over ${load.connections} connections for ${load.seconds} s, through haproxy to two replicas with ${figure(keys)} keys. No request is sent again.`,
    table: tableOf(samples, measures),
    notes: ['To reach: no request that fails.'],
  };
}
