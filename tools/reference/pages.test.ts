import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { reasons } from '../../src/api/reasons.ts';
import { errorCatalogue } from '../../src/error-catalogue.ts';
import { allDirectEndpointSettings } from '../../src/settings/direct-endpoint.ts';
import { allOperatorSettings } from '../../src/settings/operator.ts';
import { removedSettings } from '../../src/settings/removed.ts';
import { AuditMetrics } from '../../src/telemetry/metrics/audit.ts';
import { ClientMetrics } from '../../src/telemetry/metrics/client.ts';
import { DirectEndpointMetrics } from '../../src/telemetry/metrics/direct-endpoint.ts';
import { GatewayMetrics } from '../../src/telemetry/metrics/gateway.ts';
import { OperatorMetrics } from '../../src/telemetry/metrics/operator.ts';
import { policyErrors } from '../policies/policy-errors.ts';
import { table } from './markdown.ts';
import { metricsPage } from './metrics-page.ts';
import { reasonsPage } from './reasons-page.ts';
import { settingsPage } from './settings-page.ts';

const registry = new Registry();
new ClientMetrics(registry);
new AuditMetrics(registry);
new OperatorMetrics(registry);
const gatewayRegistry = new Registry();
new GatewayMetrics(gatewayRegistry);
new DirectEndpointMetrics(gatewayRegistry);

const pages = [
  {
    file: 'docs/reference/settings.md',
    text: settingsPage(),
    names: [
      ...Object.values({ ...allOperatorSettings, ...allDirectEndpointSettings }).map(({ name }) => name),
      ...Object.keys(removedSettings),
    ],
  },
  {
    file: 'docs/reference/reasons.md',
    text: reasonsPage(),
    names: [...Object.values(reasons), ...Object.keys({ ...errorCatalogue, ...policyErrors })],
  },
  {
    file: 'docs/reference/metrics.md',
    text: metricsPage(),
    names: [
      ...new Set(
        [registry, gatewayRegistry].flatMap((each) => each.getMetricsAsArray().map(({ name }) => name)),
      ),
    ],
  },
];

describe('the reference pages', () => {
  it.each(pages)('$file says what the code says', ({ file, text }) => {
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it.each(pages)('$file has one line for each name and no other', ({ text, names }) => {
    const documented = [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(documented).toEqual(expect.arrayContaining(names));
    expect(documented.filter((name) => name !== 'latchkey_build_info')).toHaveLength(names.length);
  });

  it('keep bars and line breaks inside a cell', () => {
    expect(table(['a'], [['x|y\nz']])).toBe('| a |\n| --- |\n| x\\|y z |');
  });
});
