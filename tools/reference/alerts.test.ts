import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { AuditMetrics } from '../../src/telemetry/metrics/audit.ts';
import { ClientMetrics } from '../../src/telemetry/metrics/client.ts';
import { DirectEndpointMetrics } from '../../src/telemetry/metrics/direct-endpoint.ts';
import { GatewayMetrics } from '../../src/telemetry/metrics/gateway.ts';
import { OperatorMetrics } from '../../src/telemetry/metrics/operator.ts';
import { watchProcess } from '../../src/telemetry/metrics/process.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly runbook: string };
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
}

const groups = ['monitoring', 'direct-endpoint-monitoring'].flatMap(
  (folder) => parse(readDocument(`config/${folder}/prometheus-rule.yaml`)).spec.groups,
);
const rules: readonly Rule[] = groups.flatMap((group: { rules: readonly Rule[] }) => group.rules);
const dashboard: {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
} = JSON.parse(readDocument('config/monitoring/dashboard.json'));
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map((target) => ({ name: `the panel "${title}"`, legend: '', ...target })),
);

/** Labels by the name of a metric, as the documents list them. */
const documented = new Map(
  rowsOf(readDocument('docs/reference/metrics.md')).map(([name, , labels]) => [
    codesIn(name)[0] ?? '',
    codesIn(labels),
  ]),
);
const types = typesOf();

function typesOf(): ReadonlyMap<string, string> {
  const [operator, gateway] = [new Registry(), new Registry()];
  new OperatorMetrics(operator);
  new ClientMetrics(operator);
  new AuditMetrics(operator);
  watchProcess(operator, '');
  new GatewayMetrics(gateway);
  new DirectEndpointMetrics(gateway);
  const all = [operator, gateway].flatMap(
    (registry) => registry.getMetricsAsArray() as unknown as readonly { name: string; type: string }[],
  );
  return new Map(all.map(({ name, type }) => [name, type]));
}

/** Labels that Prometheus adds to what a PodMonitor makes it scrape. */
const scraped = ['job', 'pod'];

interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
}

const withoutText = (expr: string): string => expr.replaceAll(/"[^"]*"/g, '""');

/** The series that an expression selects, and the labels that it selects them by. */
function selectorsIn(expr: string): readonly Selector[] {
  const found = withoutText(expr).matchAll(/\b((?:latchkey|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g);
  return [...found].map(([, series = '', matchers = '']) => ({
    metric: metricOf(series),
    labels: [...matchers.matchAll(/(\w+) *(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }));
}

/** A histogram has series with names of their own. */
function metricOf(series: string): string {
  const base = series.replace(/_(?:bucket|count|sum)$/, '');
  return types.get(base) === 'histogram' ? base : series;
}

/** The labels by which an expression groups. */
const groupingsIn = (expr: string): readonly string[] =>
  [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, labels = '']) =>
    labels
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== ''),
  );

function labelsOf(metric: string, others: readonly string[]): readonly string[] {
  const own = documented.get(metric) ?? [];
  return [...own, ...others, ...(types.get(metric) === 'histogram' ? ['le'] : [])];
}

/** By the label of the cluster only the dashboard selects, which leaves it out where no one chooses. */
const expressions = [
  ...rules.map(({ alert, expr }) => ({ name: alert, expr, others: scraped })),
  ...queries.map((query) => ({ ...query, others: [...scraped, 'cluster'] })),
];

describe.each(expressions)('the expression of $name', ({ expr, others }) => {
  const selectors = selectorsIn(expr);

  it('selects metrics that the documents list, by labels that they have', () => {
    expect(selectors).not.toEqual([]);
    for (const { metric, labels } of selectors) {
      const isListed = documented.has(metric) || metric === 'up' || /^(?:process|nodejs)_/.test(metric);
      expect([metric, isListed]).toEqual([metric, true]);
      expect(metric === 'up' || types.has(metric)).toBe(true);
      for (const label of labels) expect(labelsOf(metric, others)).toContain(label);
    }
  });

  it('groups by labels that its metrics have', () => {
    const known = selectors.flatMap(({ metric }) => labelsOf(metric, others));
    for (const label of groupingsIn(expr)) expect(known).toContain(label);
  });
});

describe('the alerts', () => {
  const page = readDocument('docs/reference/alerts.md');

  it('have a section each in docs/reference/alerts.md, in the same order, to which the rule points', () => {
    const titles = [...page.matchAll(/^## (Latchkey.*)$/gm)].map(([, title]) => title);
    expect(titles).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, annotations } of rules) {
      expect(sectionOf(page, alert).split(/\s+/).length).toBeGreaterThan(20);
      expect(annotations.runbook).toBe(`docs/reference/alerts.md#${alert.toLowerCase()}`);
    }
  });

  it.each(rules)('$alert has there the severity of the rule', ({ alert, labels }) => {
    const [, severity] = /^Severity: (\w+)\./m.exec(sectionOf(page, alert)) ?? [];
    expect(severity).toBe(labels.severity);
  });
});

describe('the dashboard', () => {
  it('has each panel in a place of its own', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)}/${y + Math.floor(index / w)}`),
    );
    expect(cells).toHaveLength(new Set(cells).size);
    for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });

  it.each(queries)('asks in $name for the chosen cluster', ({ expr }) => {
    expect(expr.match(/\bcluster=~"\$cluster"\}/g)).toHaveLength(selectorsIn(expr).length);
  });

  it('lets people choose a cluster by a label of the scrape, and shows all where no scrape has it', () => {
    const variable = dashboard.templating.list.find(({ name }) => name === 'cluster');
    expect(variable).toMatchObject({
      query: { query: 'label_values(latchkey_build_info, cluster)' },
      // Prometheus takes a missing label for an empty one.
      ...{ includeAll: true, allValue: '.*', current: { value: '$__all' } },
    });
  });

  it.each(queries)('names lines of $name by labels that the query leaves', ({ expr, legendFormat = '' }) => {
    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
    expect(groupingsIn(expr)).toEqual(expect.arrayContaining(named));
  });

  it('shows every metric of operator and gateway that an alert goes by', () => {
    const shown = new Set(queries.flatMap(({ expr }) => selectorsIn(expr).map(({ metric }) => metric)));
    const judged = rules.flatMap(({ expr }) => selectorsIn(expr).map(({ metric }) => metric));
    const ours = judged.filter((metric) => metric.startsWith('latchkey_'));
    expect(ours.filter((metric) => !shown.has(metric))).toEqual([
      'latchkey_admission_unknown',
      'latchkey_site_policy_unreadable',
      'latchkey_signing_key_created_timestamp_seconds',
    ]);
  });
});
