import { describe, expect, it } from 'vitest';
import { group } from '../../src/api/names.ts';
import { auditAnnotations } from '../../src/audit/annotations.ts';
import { maxLineBytes } from '../../src/audit/line.ts';
import { auditLimits } from '../../src/audit/sink.ts';
import { elasticsearchFields, loki } from './audit-collectors.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const page = readDocument('docs/reference/audit.md');
const schema: Schema = JSON.parse(readDocument('docs/reference/audit-event.schema.json'));

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
    const { fields, labels, metadata } = loki;
    for (const path of Object.values(fields)) expect([path, isField(path)]).toEqual([path, true]);
    expect(Object.keys(fields)).toEqual(expect.arrayContaining([...labels, ...metadata]));
    expect(labels).toEqual(['stage', 'decision']);
  });

  it('maps fields for Elasticsearch that the schema has', () => {
    for (const { path } of elasticsearchFields) expect([path, isField(path)]).toEqual([path, true]);
    expect(elasticsearchFields.length).toBeGreaterThan(5);
  });
});
