import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { group } from '../../src/api/names.ts';
import { auditAnnotations } from '../../src/audit/annotations.ts';
import { maxLineBytes } from '../../src/audit/line.ts';
import { auditLimits } from '../../src/audit/sink.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const page = readDocument('docs/reference/audit.md');
const schema: Schema = JSON.parse(readDocument('docs/reference/audit-event.schema.json'));
const mapping = sectionOf(page, 'Loki and Elasticsearch');
const blockOf = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(mapping)?.[1] ?? '';

const isField = (path: readonly string[]): boolean =>
  path.reduce<Schema | undefined>((part, name) => part?.properties?.[name], schema) !== undefined;

describe('docs/reference/audit.md', () => {
  it('lists every annotation once and no other', () => {
    const listed = rowsOf(sectionOf(page, 'Annotations')).flatMap(([names]) => codesIn(names));
    const names = Object.values(auditAnnotations).map((name) => name.slice(group.length + 1));
    expect(listed.toSorted()).toEqual(names.toSorted());
  });

  it('names the limits of the code', () => {
    const { maxBytes, maxHeld, maxHeldMs } = auditLimits;
    for (const limit of [
      `${maxBytes / 2 ** 20} MiB`,
      `${maxHeld.toLocaleString('en')} requests`,
      `${maxHeldMs / 1000} seconds`,
      `${maxLineBytes.toLocaleString('en')} bytes`,
    ])
      expect(page).toContain(limit);
  });

  it('takes fields for Loki that the schema has, and makes labels of those with few values', () => {
    const stages: readonly Record<string, never>[] = parse(blockOf('yaml')).pipeline_stages;
    const { json, labels, structured_metadata: metadata } = Object.assign({}, ...stages);
    const expressions: Readonly<Record<string, string>> = json.expressions;
    for (const expression of Object.values(expressions)) {
      const path = [...expression.matchAll(/"([^"]+)"|([^."]+)/g)].map(
        ([, quoted, plain]) => quoted ?? plain ?? '',
      );
      expect([expression, isField(path)]).toEqual([expression, true]);
    }
    const used = [...Object.keys(labels), ...Object.keys(metadata)];
    expect(Object.keys(expressions)).toEqual(expect.arrayContaining(used));
    expect(Object.keys(labels)).toEqual(['stage', 'decision']);
  });

  it('maps fields for Elasticsearch that the schema has', () => {
    const { mappings } = JSON.parse(blockOf('json')) as { mappings: { properties: Record<string, Schema> } };
    for (const [name, { properties = {} }] of Object.entries(mappings.properties)) {
      expect([name, isField([name])]).toEqual([name, true]);
      for (const member of Object.keys(properties)) expect(isField([name, member])).toBe(true);
    }
    expect(Object.keys(mappings.properties).length).toBeGreaterThan(5);
  });
});
