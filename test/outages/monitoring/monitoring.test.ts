import { mkdtemp, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { configFolder } from '../../../lab/operator/kustomization.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf, metricsOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { systemNamespace } from '../../../src/api/names.ts';
import { readDocument, sectionOf } from '../../../tools/reference/document.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { untilKnown } from '../../e2e/gateway/known-holder.ts';
import { type Rendered, render } from '../../integration/config/render.ts';
import {
  type Firing,
  Prometheus,
  type Scenario,
  type Target,
  type Verdict,
} from '../../prometheus/prometheus.ts';
import { everyday, type TargetName, troubles } from './scenarios.ts';

// Its own, so that no object of other tests is in the figures.
const plane = await startInstalled({ name: 'monitoring' });
afterAll(async () => await plane.stop());
const world = await gatewayWorld({}, {}, plane);
const { admin, gateway } = world;
const prometheus = await Prometheus.build(world.guard.folder);

/** An overlay as the documents have it, with more in its kustomization. */
async function overlay(more: object = {}): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(world.guard.folder, 'overlay-')));
  const inFolder = (name: string) => path.relative(folder, path.join(configFolder, name));
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    sortOptions: { order: 'fifo' },
    resources: [inFolder('default')],
    components: [inFolder('monitoring')],
    ...more,
  };
  await writeFile(path.join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
  return folder;
}

const isOfMonitoring = ({ apiVersion }: Rendered): boolean => apiVersion.startsWith('monitoring.coreos.com/');
const rendered = await render(plane, await overlay());
const rule = rendered.find(({ kind }) => kind === 'PrometheusRule')!;

describe('config/monitoring', () => {
  const monitors = rendered.filter(({ kind }) => kind === 'PodMonitor');
  const deployments = rendered.filter(({ kind }) => kind === 'Deployment');
  const policies = rendered.filter(({ kind }) => kind === 'NetworkPolicy');

  it('adds to config/default two monitors, the alerts and a dashboard, and changes nothing', async () => {
    const plain = await render(plane, 'default');
    expect(rendered.slice(0, plain.length)).toEqual(plain);
    const added = rendered.slice(plain.length).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(added.toSorted()).toEqual([
      'ConfigMap latchkey-dashboard',
      'PodMonitor latchkey-gateway',
      'PodMonitor latchkey-operator',
      'PrometheusRule latchkey',
    ]);
  });

  it('scrapes the pods of each Deployment at the port that serves the metrics', () => {
    expect(monitors.map(({ metadata }) => metadata.name)).toEqual(
      deployments
        .map(({ metadata }) => metadata.name)
        .toSorted()
        .toReversed(),
    );
    for (const { metadata, spec } of monitors) {
      const { template } = deployments.find((each) => each.metadata.name === metadata.name)!['spec'];
      expect(template.metadata.labels).toMatchObject(spec.selector.matchLabels);
      const others = deployments.filter((each) => each.metadata.name !== metadata.name);
      for (const other of others)
        expect(other['spec'].template.metadata.labels).not.toMatchObject(spec.selector.matchLabels);
      const ports = template.spec.containers[0].ports.map(({ name }: { name: string }) => name);
      for (const { port } of spec.podMetricsEndpoints) expect(ports).toContain(port);
    }
  });

  it('is let through by every NetworkPolicy that is about these pods', () => {
    for (const { metadata, spec } of monitors) {
      const { labels } = deployments.find((each) => each.metadata.name === metadata.name)!['spec'].template
        .metadata;
      const about = policies.filter(({ spec: { podSelector } }) =>
        Object.entries(podSelector.matchLabels).every(([name, value]) => labels[name] === value),
      );
      for (const { spec: policy } of about) {
        const open = policy.ingress.filter(({ from }: { from?: unknown }) => from === undefined);
        const ports = open.flatMap((entry: { ports: { port: string }[] }) =>
          entry.ports.map(({ port }) => port),
        );
        expect(ports).toEqual(
          expect.arrayContaining(spec.podMetricsEndpoints.map(({ port }: { port: string }) => port)),
        );
      }
    }
  });

  describe('applied where the Prometheus operator is installed', () => {
    beforeAll(async () => {
      const needed = ['podmonitors.monitoring.coreos.com', 'prometheusrules.monitoring.coreos.com'];
      const definitions = parseAllDocuments(await prometheus.definitions())
        .map((document) => document.toJS() as Rendered | null)
        .filter((definition) => needed.includes(definition?.metadata.name ?? ''));
      expect(definitions).toHaveLength(needed.length);
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitions });
      const created = await plane.kubectl(['create', '-f', '-'], { input });
      expect(created).toMatchObject({ exitCode: 0 });
      const names = needed.map((name) => `crd/${name}`);
      await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', ...names]);
    });

    it('is accepted, with no field that its definitions do not know', async () => {
      const input = JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: rendered.filter(isOfMonitoring),
      });
      const applied = async () => await plane.kubectl(['apply', '--validate=strict', '-f', '-'], { input });
      const accepted = async () => ((await applied()).exitCode === 0 ? true : undefined);
      await until('the new kinds are served', accepted);
      expect(await applied()).toMatchObject({ exitCode: 0, stderr: '' });
      expect((await applied()).stdout.match(/ unchanged$/gm)).toHaveLength(3);
    });
  });

  it('takes the changes that docs/guide/monitoring.md shows', async () => {
    const page = readDocument('docs/guide/monitoring.md');
    const blocks = ['In 60 seconds', 'Connect your Prometheus', 'Leave out an alert'].flatMap((title) =>
      [...sectionOf(page, title).matchAll(/^```yaml\n(.*?)^```/gms)].map(([, block = '']) =>
        parseAllDocuments(block)[0]!.toJS(),
      ),
    );
    const patches = blocks.flatMap((block) => block.patches ?? []);
    expect(blocks.flatMap(({ components = [] }) => components)).toEqual(['latchkey/config/monitoring']);
    const changed = await render(plane, await overlay({ patches }));
    const ours = changed.filter(isOfMonitoring);
    expect(ours.map(({ metadata }) => metadata.labels?.['release'])).toEqual(
      Array(3).fill('kube-prometheus-stack'),
    );
    const names = ours.flatMap(({ spec }) => spec.groups ?? []).map(({ name }: { name: string }) => name);
    expect(names).toEqual(['latchkey-operator', 'latchkey-credentials']);
  });
});

/** As Prometheus labels what a PodMonitor makes it scrape. */
const labelsOf = (component: string, pod: string) => ({
  job: `${systemNamespace}/latchkey-${component}`,
  namespace: systemNamespace,
  pod: `latchkey-${component}-${pod}`,
  container: component,
  endpoint: 'metrics',
  instance: `10.0.0.${pod.length}:8080`,
});

describe('the alerts', () => {
  const start = Math.floor(Date.now() / 1000);
  const [bad, good] = [troubles(start), everyday(start)];
  let targets: Record<TargetName, Target>;
  let verdict: Verdict;

  const names = (fired: readonly Firing[] | undefined) => [...new Set(fired?.map(({ alert }) => alert))];

  beforeAll(async () => {
    const scenarios: Scenario[] = [
      ...bad.map(([, , scenario]) => scenario),
      ...good.map(([, scenario]) => scenario),
    ];
    targets = await record();
    verdict = await prometheus.judge({ rules: stringify(rule['spec']), start, targets, scenarios });
  });

  it('are rules as Prometheus reads them', () => {
    expect(verdict.problems).toEqual([]);
  });

  it.each(bad.map(([alert, what], index) => ({ alert, what, index })))(
    '$alert fires alone when $what',
    ({ alert, index }) => {
      const fired = verdict.firing[index];
      expect(names(fired)).toEqual([alert]);
      for (const { labels, annotations } of fired ?? []) {
        expect(labels['severity']).toMatch(/^(critical|warning|info)$/);
        expect(Object.keys(annotations).toSorted()).toEqual(['description', 'runbook', 'summary']);
        for (const text of Object.values(annotations)) expect(text).not.toMatch(/[<>]|\bNaN\b|\bInf\b| {2}/);
      }
    },
  );

  it.each(good.map(([what], index) => ({ what, index })))('none fires on $what', ({ index }) => {
    expect(verdict.firing[bad.length + index]).toEqual([]);
  });

  it.each([
    ['leader', 'latchkey_finalizers_released_total{kind="VirtualClusterInstanceKubeConfig"} 0'],
    ['leader', 'latchkey_events_dropped_total 0'],
    ['gateway', 'latchkey_gateway_refusals_total{error="ERR_INTERNAL"} 0'],
    ['gateway', 'latchkey_audit_lines_total{outcome="dropped"} 0'],
  ] as const)('know of the first rise at the %s, for there is %s before it', (target, series) => {
    expect(targets[target].scrapes[0]?.split('\n')).toContain(series);
  });

  it('have a scenario each', () => {
    const alerts = rule['spec'].groups.flatMap(({ rules }: { rules: { alert: string }[] }) =>
      rules.map(({ alert }) => alert),
    );
    expect([...new Set(bad.map(([alert]) => alert))].toSorted()).toEqual(alerts.toSorted());
  });
});

/** Scrapes of a leader, a standby and a gateway while keys and tokens come, are used and end. */
async function record(): Promise<Record<TargetName, Target>> {
  const standby = await RunningOperator.start(plane, world.guard, { name: world.name('standby') });
  afterAll(async () => void (await standby.end()));
  await until('the standby is ready', async () => (await healthOf(standby, '/readyz')).status === 200, {
    timeoutMs: 90_000,
  });
  const scrapes: Record<TargetName, string[]> = { leader: [], standby: [], gateway: [] };
  const scrape = async () => {
    scrapes.leader.push(await metricsOf(world.operator));
    scrapes.standby.push(await metricsOf(standby));
    scrapes.gateway.push(await metricsOfGateway());
  };
  await scrape();
  const { object, key } = await world.holder({ user: 'alice', ttlAfterLastActivity: true, ttl: 3_600 });
  const [ending] = await Promise.all([
    admin.createKey({ user: 'alice', ttl: 1 }),
    admin.untilReady(await admin.createToken()),
    untilKnown(gateway, key),
  ]);
  await scrape();
  await Promise.all([
    admin.patch(object, { spec: { disabled: true } }),
    admin.untilRefused(ending, 'Expired'),
  ]);
  await admin.untilRefused(object, 'Disabled');
  await scrape();
  return {
    leader: { labels: labelsOf('operator', 'a'), scrapes: scrapes.leader },
    standby: { labels: labelsOf('operator', 'bb'), scrapes: scrapes.standby },
    gateway: { labels: labelsOf('gateway', 'ccc'), scrapes: scrapes.gateway },
  };
}

async function metricsOfGateway(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${await gateway.listeningPort('metrics')}/metrics`);
  expect(answer.status).toBe(200);
  return await answer.text();
}
