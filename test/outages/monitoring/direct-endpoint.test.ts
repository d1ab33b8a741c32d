import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { until } from '../../../lab/operator/until.ts';
import { directWorld } from '../../e2e/gateway/direct-world.ts';
import { servedDirectly } from '../../e2e/gateway/served-directly.ts';
import { type Rendered, render } from '../../integration/config/render.ts';
import { Prometheus, type Scenario, type Verdict } from '../../prometheus/prometheus.ts';

const direct = await directWorld();
const { guard, plane } = direct.world;
const served = await servedDirectly(direct);
const endpoint = await served.start();
const prometheus = await Prometheus.build(guard.folder);

const files = await Promise.all(
  ['direct-endpoint', 'direct-endpoint-monitoring'].map(async (folder) => await render(plane, folder)),
);
const find = (kind: string): Rendered => files.flat().find((object) => object.kind === kind)!;
const job = 'latchkey-direct-endpoint/latchkey-direct-endpoint';

const on = (...series: readonly string[]): Scenario => ({ series: { endpoint: series } });
const outage = (values: string): Scenario =>
  on(`latchkey_direct_endpoint_outage_seconds{of="platform"} ${values}`);
const troubles: readonly (readonly [string, string, Scenario])[] = [
  ['LatchkeyDirectEndpointDown', 'there is none', { gone: ['endpoint'] }],
  ['LatchkeyDirectEndpointDown', 'it does not answer', on('up 1 0')],
  ['LatchkeyDirectEndpointOutage', 'the platform is away', outage('0x5 15+30x230')],
  ['LatchkeyDirectEndpointUnconnected', 'its agent was never let in', outage('-1')],
  [
    'LatchkeyDirectEndpointUnkept',
    'there are too many tokens',
    on('latchkey_direct_endpoint_unkept_credentials 0x5 200'),
  ],
];
const everyday: readonly (readonly [string, Scenario])[] = [
  ['as it was recorded', {}],
  ['a gateway that is replaced', outage('0x5 7 0')],
  ['its start', outage('-1x3 0')],
];

it('scrapes the pods of the Deployment at the port that serves the metrics, which the NetworkPolicy opens', () => {
  const { selector, podMetricsEndpoints } = find('PodMonitor')['spec'];
  const { template } = find('Deployment')['spec'];
  expect(template.metadata.labels).toMatchObject(selector.matchLabels);
  const ports = template.spec.containers[0].ports.map(({ name }: { name: string }) => name);
  const open = find('NetworkPolicy')['spec'].ingress[0].ports.map(({ port }: { port: string }) => port);
  for (const { port } of podMetricsEndpoints) {
    expect(ports).toContain(port);
    expect(open).toContain(port);
  }
});

describe('the alerts of a direct endpoint', () => {
  let verdict: Verdict;

  beforeAll(async () => {
    const metrics = async () => {
      const port = await endpoint.listeningPort('metrics');
      return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    };
    await until('it follows the platform', async () =>
      /^latchkey_direct_endpoint_outage_seconds\{of="platform"\} 0$/m.test(await metrics()),
    );
    const [namespace = '', name = ''] = job.split('/');
    const labels = {
      job,
      namespace,
      pod: `${name}-a`,
      container: 'direct-endpoint',
      instance: '10.0.0.1:8080',
    };
    verdict = await prometheus.judge({
      rules: stringify(find('PrometheusRule')['spec']),
      start: Math.floor(Date.now() / 1_000),
      targets: { endpoint: { labels, scrapes: [await metrics()] } },
      scenarios: [...troubles.map(([, , scenario]) => scenario), ...everyday.map(([, scenario]) => scenario)],
    });
  });

  it('are rules as Prometheus reads them', () => {
    expect(verdict.problems).toEqual([]);
  });

  it.each(troubles.map(([alert, what], index) => ({ alert, what, index })))(
    '$alert fires alone when $what',
    ({ alert, index }) => {
      const fired = verdict.firing[index] ?? [];
      expect([...new Set(fired.map((each) => each.alert))]).toEqual([alert]);
      for (const { annotations } of fired) {
        expect(Object.keys(annotations).toSorted()).toEqual(['description', 'runbook', 'summary']);
        for (const text of Object.values(annotations)) expect(text).not.toMatch(/[<>]|\bNaN\b|\bInf\b| {2}/);
      }
    },
  );

  it.each(everyday.map(([what], index) => ({ what, index })))('none fires on $what', ({ index }) => {
    expect(verdict.firing[troubles.length + index]).toEqual([]);
  });

  it('have a scenario each', () => {
    const alerts = find('PrometheusRule')['spec'].groups.flatMap(
      ({ rules }: { rules: { alert: string }[] }) => rules.map(({ alert }) => alert),
    );
    expect([...new Set(troubles.map(([alert]) => alert))]).toEqual(alerts);
  });
});
