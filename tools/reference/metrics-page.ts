import { Metrics } from '../../src/telemetry/metrics.ts';
import { code, page, table } from './markdown.ts';

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

/** docs/reference/metrics.md */
export function metricsPage(): string {
  return page('Metrics', 'src/telemetry/metrics.ts', [
    '`/metrics` serves the Prometheus text format on the address of `LATCHKEY_METRICS_ADDRESS`. No label holds a secret or the name of an object, so the number of series stays small. Series of controllers and reflectors exist from the start, with 0.',
    table(['Metric', 'Type', 'Labels', 'Meaning'], ownMetrics().map(row)),
    'Besides these there are the usual figures of a Node process: `process_…` (CPU, memory, open files, start time) and `nodejs_…` (event loop lag, heap, garbage collection).',
  ]);
}

function ownMetrics(): readonly Described[] {
  const metrics = new Metrics();
  metrics.watchProcess('');
  const all = metrics.registry.getMetricsAsArray() as unknown as readonly Described[];
  return all
    .filter(({ name }) => name.startsWith('latchkey_'))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function row({ name, type, labelNames, help }: Described): readonly string[] {
  return [code(name), type, labelNames.map(code).join(', '), help];
}
