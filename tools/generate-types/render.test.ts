import { describe, expect, it } from 'vitest';
import { type Definition, renderKind, renderScope } from './render.ts';
import type { Schema } from './schema.ts';

const definitionOf = (kind: string, properties: Schema): Definition => ({
  spec: {
    names: { kind },
    versions: [{ schema: { openAPIV3Schema: { type: 'object', description: 'A thing.', properties } } }],
  },
});

const envelope = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' } };
const text = { type: 'string' };
const objectOf = (properties: Schema): Schema => ({ type: 'object', properties });

const render = async (spec: Schema, status?: Schema): Promise<string> => {
  const properties = { ...envelope, spec, ...(status === undefined ? {} : { status }) };
  return (await renderKind(definitionOf('SmallThing', properties)))[1];
};

describe('a generated file', () => {
  it('is named after the kind and says where it comes from', async () => {
    const [file, body] = await renderKind(
      definitionOf('SmallKubeThing', { ...envelope, spec: objectOf({}) }),
    );
    expect(file).toBe('small-kube-thing.ts');
    expect(body).toMatch(
      /^\/\/ Generated from crds\/smallkubethings\.yaml by `npm run generate`\. Do not edit\.\n/,
    );
  });

  it('has an object with metadata and spec always, and with status maybe', async () => {
    const body = await render(objectOf({}), objectOf({}));
    expect(body).toContain("import type { ObjectMeta } from '../object-meta.ts';");
    expect(body).toContain('metadata: ObjectMeta;\n  spec: SmallThingSpec;\n  status?: SmallThingStatus;');
  });

  it('has no index signature, defaults, rules or tuples', async () => {
    const names = { type: 'array', maxItems: 2, 'x-kubernetes-list-type': 'atomic', items: text };
    const rules = [{ rule: 'true', message: 'never' }];
    const body = await render({ ...objectOf({ names }), default: {}, 'x-kubernetes-validations': rules });
    expect(body).toContain('export interface SmallThingSpec {\n  names?: string[];\n}');
    expect(body).not.toMatch(/never|\[k: string\]/);
  });

  it('keeps open what is open', async () => {
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const port = { 'x-kubernetes-int-or-string': true };
    const body = await render(objectOf({ open, port }));
    expect(body).toContain('export interface SmallThingSpecOpen {\n  [k: string]: unknown;\n}');
    expect(body).toContain('port?: number | string;');
  });

  it('has maps of texts', async () => {
    const body = await render(objectOf({ claims: { type: 'object', additionalProperties: text } }));
    expect(body).toContain('export interface SmallThingSpecClaims {\n  [k: string]: string;\n}');
  });

  it('has unions for enums, and required fields', async () => {
    const nested = { ...objectOf({ mode: { type: 'string', enum: ['', 'On'] } }), required: ['mode'] };
    const body = await render(objectOf({ entries: { type: 'array', items: nested } }));
    expect(body).toContain('entries?: SmallThingSpecEntry[];');
    expect(body).toContain("mode: '' | 'On';");
  });

  it('marks deprecated fields for the compiler', async () => {
    const body = await render(objectOf({ old: { ...text, description: 'Old. Deprecated: use another.' } }));
    expect(body).toContain('   * @deprecated\n   * Old. Deprecated: use another.\n');
  });

  it('imports the types that kinds share, with their comments kept', async () => {
    const scope = { ...objectOf({}), nullable: true, description: 'What for.' };
    const rules = { type: 'array', items: objectOf({}) };
    const conditions = { type: 'array', items: objectOf({ type: text }) };
    const body = await render(objectOf({ scope, rules }), objectOf({ conditions }));
    expect(body).toContain("import type { Condition } from '../conditions.ts';");
    expect(body).toContain("import type { Scope, ScopeRule } from './scope.ts';");
    expect(body).toContain('   * What for.\n   */\n  scope?: Scope | null;\n  rules?: ScopeRule[];');
    expect(body).toContain('conditions?: Condition[];');
  });

  it('of a text that is called like a shared type says that it is a text', async () => {
    const body = await render(objectOf({ scope: { type: 'string' } }), objectOf({}));
    expect(body).toContain('scope?: string;');
  });

  it('of the scope has the interfaces that the kinds import', async () => {
    const rule = objectOf({ verbs: { type: 'array', items: text } });
    const scope = objectOf({
      roles: { type: 'array', items: objectOf({}) },
      rules: { type: 'array', items: rule },
    });
    const [file, body] = await renderScope(definitionOf('SmallThing', { spec: objectOf({ scope }) }));
    expect(file).toBe('scope.ts');
    expect(body.match(/^export interface \w+/gm)).toEqual([
      'export interface Scope',
      'export interface ScopeRole',
      'export interface ScopeRule',
    ]);
    expect(body).not.toContain('import');
  });

  it('cannot be made of a kind without version', async () => {
    const definition = { spec: { names: { kind: 'SmallThing' }, versions: [] } };
    await expect(renderKind(definition)).rejects.toThrow('SmallThing has no version');
  });
});
