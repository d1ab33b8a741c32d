import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { buildTimeoutMs, Helm } from '../../clients/helm.ts';
import type { Rendered } from '../../integration/config/render.ts';
import { chartFolder, endpointChartFolder, inOrder, templateOf } from './chart.ts';

type Values = Record<string, unknown>;

const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-reused-values-'));
afterAll(() => rmSync(folder, { recursive: true }));
const baseURL = '--set=baseURL=https://latchkey.example.com';
const charts = [
  ['latchkey', chartFolder, [baseURL]],
  ['latchkey-direct-endpoint', endpointChartFolder, [baseURL, '--set=cluster=edge']],
] as const;
const valuesOf = (chart: string): Values => parse(readFileSync(path.join(chart, 'values.yaml'), 'utf8'));

let made = 0;
/** The chart of today with the values of an earlier one, as `--reuse-values` has it. */
function withValues(chart: string, values: Values): string {
  made += 1;
  const copy = path.join(folder, String(made));
  cpSync(chart, copy, { recursive: true });
  writeFileSync(path.join(copy, 'values.yaml'), stringify(values));
  return copy;
}

/** Limits that were taken away with `null` stay away, so maps of them do not come back. */
function withoutLimits(objects: readonly Rendered[]): readonly Rendered[] {
  return inOrder(objects).map((object) => {
    const copy = structuredClone(object);
    for (const container of copy['spec']?.template?.spec?.containers ?? []) delete container.resources;
    return copy;
  });
}

describe.each(['v3', 'v4'] as const)('Helm %s', (major) => {
  let helm: Helm;
  beforeAll(async () => {
    helm = await Helm.build(major, folder);
  }, buildTimeoutMs);

  describe.each(charts)('renders %s as ever', (_, chart, required) => {
    let whole: readonly Rendered[];
    beforeAll(async () => {
      whole = withoutLimits(await templateOf(helm, chart, required));
      expect(whole.length).toBeGreaterThan(8);
    });

    it.each(Object.keys(valuesOf(chart)))('with values that know nothing of %s', async (name) => {
      const { [name]: _missing, ...values } = valuesOf(chart);
      const found = await templateOf(helm, withValues(chart, values), required);
      expect(withoutLimits(found)).toEqual(whole);
    });

    it('with no value in any group of values', async () => {
      const isGroup = (value: unknown) => typeof value === 'object' && !Array.isArray(value);
      const emptied = Object.entries(valuesOf(chart)).map(([name, value]) => [
        name,
        isGroup(value) ? {} : value,
      ]);
      const found = await templateOf(helm, withValues(chart, Object.fromEntries(emptied)), required);
      // The recommended site policy is a map that people take entries out of.
      const isPolicy = ({ metadata }: Rendered) => metadata.name === 'latchkey-site-policy';
      expect(withoutLimits(found).filter((one) => !isPolicy(one))).toEqual(
        whole.filter((one) => !isPolicy(one)),
      );
    });

    it('and leaves out limits that were taken away with null', async () => {
      const place = 'resources' in valuesOf(chart) ? 'resources' : 'gateway.resources';
      const found = await templateOf(helm, chart, [...required, `--set=${place}.limits=null`]);
      const containers = found.flatMap((one) => one['spec']?.template?.spec?.containers ?? []);
      expect(containers.some(({ resources }) => resources.limits === undefined)).toBe(true);
    });
  });
});
