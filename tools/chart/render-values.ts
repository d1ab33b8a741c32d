import { stringify } from 'yaml';
import type { ChartValue, Schema } from './values.ts';

const note = (source: string): string =>
  `Written by \`npm run generate\` from ${source}. Do not edit: give values of your own with \`--values\`.`;
const lineWidth = 116;

/** The values.yaml of a chart: every value with its default, and a comment that says what it is for. `source` defines them. */
export function valuesYaml(values: readonly ChartValue[], source: string): string {
  const lines: string[] = [...comment(note(source), '')];
  let open: readonly string[] = [];
  for (const { path, default: preset, about } of values) {
    const parents = path.split('.').slice(0, -1);
    const shared = parents.findIndex((name, index) => open[index] !== name);
    const known = shared === -1 ? parents.length : shared;
    parents.slice(known).forEach((name, index) => {
      lines.push(`${'  '.repeat(known + index)}${name}:`);
    });
    open = parents;
    const indent = '  '.repeat(parents.length);
    const entry = stringify(
      { [path.slice(path.lastIndexOf('.') + 1)]: preset },
      { version: '1.1', lineWidth: 0 },
    );
    lines.push(...comment(plain(about), indent));
    lines.push(
      ...entry
        .trimEnd()
        .split('\n')
        .map((line) => indent + line),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** A link leads nowhere from a file of values. */
const plain = (markdown: string): string => markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');

function comment(words: string, indent: string): readonly string[] {
  const lines: string[] = [];
  let line = `${indent}#`;
  for (const word of words.split(' ')) {
    if (line.length + word.length + 1 > lineWidth) {
      lines.push(line);
      line = `${indent}#`;
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

interface Branch {
  [name: string]: Branch | ChartValue;
}

/** The values.schema.json of a chart: Helm refuses a value that does not exist, and one of another type. */
export function valuesSchema(values: readonly ChartValue[]): string {
  const tree: Branch = {};
  for (const value of values) {
    const names = value.path.split('.');
    const parent = names.slice(0, -1).reduce<Branch>((branch, name) => {
      branch[name] ??= {};
      return branch[name] as Branch;
    }, tree);
    parent[names.at(-1) ?? ''] = value;
  }
  const { properties, ...rest } = schemaOf(tree) as { properties: object };
  // A chart that has this one as its part hands these down.
  const all = { ...properties, global: { type: 'object' } };
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...rest, properties: all };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function schemaOf(branch: Branch): Schema {
  const properties = Object.entries(branch).map(([name, child]) => [
    name,
    isValue(child) ? { description: plain(child.about), ...child.schema } : schemaOf(child),
  ]);
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
}

const isValue = (child: Branch | ChartValue): child is ChartValue => typeof child['path'] === 'string';
