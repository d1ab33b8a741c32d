import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { allOperatorSettings } from '../../src/settings/operator.ts';
import { allChartValues } from './chart.ts';
import { valuesSchema, valuesYaml } from './render-values.ts';

const values = allChartValues();
const at = (tree: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((branch, name) => (branch as Record<string, unknown>)[name], tree);

describe('values.yaml', () => {
  const text = valuesYaml(values, 'tools/chart/values.ts');

  it.each(values)('holds $path with its default', ({ path, default: preset }) => {
    expect(at(parse(text), path)).toEqual(preset);
  });

  it('has a comment above each value, and no long line', () => {
    const lines = text.split('\n');
    const comments = lines.filter((line, index) => /^ *#/.test(line) && !/^ *#/.test(lines[index + 1] ?? ''));
    expect(comments).toHaveLength(values.length);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
    expect(text).not.toContain('](');
  });

  it('opens each group once', () => {
    const groups = text.split('\n').filter((line) => /^[a-zA-Z]+:$/.test(line));
    expect(groups).toHaveLength(new Set(groups).size);
  });
});

describe('values.schema.json', () => {
  const schema = JSON.parse(valuesSchema(values));

  it('describes every value and no other', () => {
    const documented = ({ properties = {} }: { properties?: object }, path: string): readonly string[] =>
      Object.entries(properties).flatMap(([name, child]) =>
        child.description === undefined ? documented(child, `${path}${name}.`) : [`${path}${name}`],
      );
    expect(documented(schema, '').toSorted()).toEqual(values.map(({ path }) => path).toSorted());
    expect(schema.additionalProperties).toBe(false);
    expect(schema.properties.gateway.additionalProperties).toBe(false);
  });

  it('knows the settings of this release, all but the base URL, which has a value of its own', () => {
    const { properties, additionalProperties } = schema.properties.settings;
    expect(additionalProperties).toBe(false);
    const { name } = allOperatorSettings.logLevel;
    expect(properties[name]).toEqual({ type: 'string' });
    expect(properties.LATCHKEY_BASE_URL).toBeUndefined();
  });
});
