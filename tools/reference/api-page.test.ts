import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { apiPage, definitionFiles } from './api-page.ts';
import { readDocument } from './document.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

const text = apiPage();
const definitions = definitionFiles().map((file) => parse(readDocument(`crds/${file}.yaml`)).spec);

/** Each field by its path. */
function fieldsOf(schema: Schema, path: string): readonly string[] {
  const { properties = {}, items, additionalProperties: values } = schema;
  if (items !== undefined) return fieldsOf(items, `${path}[]`);
  if (typeof values === 'object') return fieldsOf(values, `${path}.*`);
  return Object.entries(properties).flatMap(([name, field]) => [
    `${path}.${name}`,
    ...fieldsOf(field, `${path}.${name}`),
  ]);
}

const kinds = definitions.map(({ names, versions: [{ schema }] }) => {
  const { spec = {}, status = {} } = schema.openAPIV3Schema.properties;
  return { kind: names.kind as string, fields: [...fieldsOf(spec, 'spec'), ...fieldsOf(status, 'status')] };
});

it('docs/reference/api.md says what crds/ says', () => {
  expect(readFileSync('docs/reference/api.md', 'utf8')).toBe(text);
});

describe.each(kinds)('the section of $kind', ({ kind, fields }) => {
  it('has one line for each field and no other', () => {
    const [, section = ''] = text.split(`\n## ${kind}\n`);
    const [own = ''] = section.split('\n## ');
    const listed = [...own.matchAll(/^\| `([^`]+)` \|/gm)].map(([, path]) => path);
    expect(listed).toEqual(fields);
    expect(listed.length).toBeGreaterThan(5);
  });
});
