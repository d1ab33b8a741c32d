import { Registry } from 'prom-client';
import { AuditMetrics } from '../../src/telemetry/metrics/audit.ts';
import { ClientMetrics } from '../../src/telemetry/metrics/client.ts';
import { DirectEndpointMetrics } from '../../src/telemetry/metrics/direct-endpoint.ts';
import { GatewayMetrics } from '../../src/telemetry/metrics/gateway.ts';
import { OperatorMetrics } from '../../src/telemetry/metrics/operator.ts';
import { watchProcess } from '../../src/telemetry/metrics/process.ts';
import { code, page, table } from './markdown.ts';

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

/** docs/reference/metrics.md */
export function metricsPage(): string {
  return page('Metrics', 'src/telemetry/metrics', [
    'Here you look up every metric that Latchkey serves.',
    'In 60 seconds: [install](../guide/monitoring.md) scrapes, alerts and a dashboard.',
    '`/metrics` serves the Prometheus text format on the address of `LATCHKEY_METRICS_ADDRESS`. No label holds a secret or the name of an object, so the number of series stays small. Series of controllers and reflectors exist from the start, with 0.',
    '## Every process',
    tableOf((registry) => {
      watchProcess(registry, '');
      new ClientMetrics(registry);
      new AuditMetrics(registry);
    }),
    'Besides these there are the usual figures of a Node process: `process_…` (CPU, memory, open files, start time) and `nodejs_…` (event loop lag, heap, garbage collection).',
    '## Operator',
    tableOf((registry) => void new OperatorMetrics(registry)),
    '## Gateway',
    'The figures of reflectors are those of the operator, for what the gateway watches.',
    tableOf((registry) => void new GatewayMetrics(registry), 'latchkey_gateway_'),
    '## Direct endpoint',
    'It has the figures of the gateway about requests and connections too.',
    tableOf((registry) => void new DirectEndpointMetrics(registry)),
  ]);
}

function tableOf(register: (registry: Registry) => void, prefix = 'latchkey_'): string {
  const registry = new Registry();
  register(registry);
  return table(['Metric', 'Type', 'Labels', 'Meaning'], ownMetrics(registry, prefix).map(row));
}

function ownMetrics(registry: Registry, prefix: string): readonly Described[] {
  const all = registry.getMetricsAsArray() as unknown as readonly Described[];
  return all.filter(({ name }) => name.startsWith(prefix)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function row({ name, type, labelNames, help }: Described): readonly string[] {
  return [code(name), type, labelNames.map(code).join(', '), help];
}
