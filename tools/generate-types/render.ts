import { compile } from 'json-schema-to-typescript';
import { kindSchema, objectSchema, type Schema } from './schema.ts';

/** The part of a CustomResourceDefinition that generation needs. */
export interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

const command = 'npm run generate';
const sources: Readonly<Record<string, string>> = {
  Condition: '../conditions.ts',
  ObjectMeta: '../object-meta.ts',
  Scope: './scope.ts',
  ScopeRule: './scope.ts',
};

/** The file of one kind: its name, and its text. */
export async function renderKind(definition: Definition): Promise<[file: string, text: string]> {
  const { kind } = definition.spec.names;
  const body = await interfaces(kindSchema(kind, rootOf(definition)));
  return [fileOf(kind), `${header(`crds/${pluralOf(kind)}.yaml`)}${imports(body)}${body}`];
}

/** The file of the types of a scope, which stands with the same fields in several kinds. */
export async function renderScope(definition: Definition): Promise<[file: string, text: string]> {
  const scope = descend(rootOf(definition), 'spec', 'scope');
  const rule = descend(scope, 'rules')['items'] as Schema;
  const body = [objectSchema('Scope', scope), objectSchema('ScopeRule', rule)].map(interfaces);
  const source = `crds/${pluralOf(definition.spec.names.kind)}.yaml`;
  return ['scope.ts', `${header(source)}${(await Promise.all(body)).join('\n')}`];
}

function interfaces(schema: Schema): Promise<string> {
  return compile(schema, String(schema['title']), {
    bannerComment: '',
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true, printWidth: 110, bracketSpacing: true, trailingComma: 'all' },
  });
}

function imports(body: string): string {
  const lines = Object.entries(groupByFile(body)).map(
    ([file, names]) => `import type { ${names.join(', ')} } from '${file}';\n`,
  );
  return lines.length === 0 ? '' : `${lines.join('')}\n`;
}

function groupByFile(body: string): Record<string, string[]> {
  const files: Record<string, string[]> = {};
  for (const [name, file] of Object.entries(sources)) {
    if (new RegExp(`: ${name}\\b`).test(body)) files[file] = [...(files[file] ?? []), name];
  }
  return files;
}

function rootOf(definition: Definition): Schema {
  const version = definition.spec.versions[0];
  if (version === undefined) throw new Error(`${definition.spec.names.kind} has no version`);
  return version.schema.openAPIV3Schema;
}

function descend(schema: Schema, ...path: readonly string[]): Schema {
  return path.reduce((at, name) => (at['properties'] as Record<string, Schema>)[name] as Schema, schema);
}

const header = (source: string): string => `// Generated from ${source} by \`${command}\`. Do not edit.\n\n`;
const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`;
const fileOf = (kind: string): string =>
  `${kind.replace(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`).toLowerCase()}.ts`;
