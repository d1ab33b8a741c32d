import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { crdWorld, kinds, verdict } from './world.ts';

const world = await crdWorld();

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly maxProperties?: number;
}

interface Limit {
  readonly title: string;
  readonly resource: Resource;
  readonly path: readonly string[];
  readonly schema: Schema;
}

/** Texts without a special form of their own may hold anything. */
const plain = [
  'displayName',
  'description',
  'parent',
  'project',
  'connectorData',
  'idToken',
  'verbs',
  'nonce',
];

const specs = await Promise.all(kinds.map(async (resource) => [resource, await specOf(resource)] as const));
const limits = specs.flatMap(([resource, schema]) => limitsOf(resource, [], schema));
/** It must stay empty, whatever its limit. */
const alwaysEmpty = 'extraAccessRules';
const lists = limits.filter(
  ({ path, schema }) => schema.maxItems !== undefined && !path.includes(alwaysEmpty),
);
const texts = limits.filter(
  ({ path, schema }) => schema.maxLength !== undefined && plain.includes(path.at(-1) ?? ''),
);

describe('the limits of the schemas', () => {
  const judge = (limit: Limit, size: number): Promise<string> =>
    verdict(world.admin, limit.resource, specWith(limit, size));

  it('are found for the lists that the design names', () => {
    const sizes = Object.fromEntries(lists.map(({ title, schema }) => [title, schema.maxItems]));
    expect(sizes).toMatchObject({
      'OwnedAccessKey groups': 16,
      'OwnedAccessKey scope.rules': 32,
      'OwnedAccessKey scope.rules.resources': 16,
      'OwnedAccessKey scope.rules.resources.resources': 32,
      'OwnedAccessKey scope.rules.resourceNames': 32,
      'DirectClusterEndpointToken rules': 32,
      'DirectClusterEndpointToken rules.resources.resourceNames': 32,
    });
  });

  it.each(lists)('let $title have $schema.maxItems items', async (limit) => {
    expect(await judge(limit, limit.schema.maxItems ?? 0)).toBe('accepted');
  });

  it.each(lists)('let $title have no more than $schema.maxItems items', async (limit) => {
    const { path, schema } = limit;
    const max = schema.maxItems ?? 0;
    const message = `: Too many: ${max + 1}: must have at most ${max} items`;
    expect(withoutIndexes(await judge(limit, max + 1))).toContain(`spec.${path.join('.')}${message}`);
  });

  it.each(texts)('let $title have $schema.maxLength characters and no more', async (limit) => {
    const max = limit.schema.maxLength ?? 0;
    expect(await judge(limit, max)).toBe('accepted');
    const message = `spec.${limit.path.join('.')}: Too long: may not be more than ${max} bytes`;
    expect(withoutIndexes(await judge(limit, max + 1))).toBe(message);
  });

  it('let extraClaims have 64 members and no more', async () => {
    const claims = (size: number): object =>
      Object.fromEntries([...Array(size).keys()].map((i) => [`c${i}`, 'text']));
    const judgeClaims = (size: number): Promise<string> =>
      verdict(world.admin, ownedAccessKeys, { user: 'a', identity: { extraClaims: claims(size) } });
    expect(await judgeClaims(64)).toBe('accepted');
    expect(await judgeClaims(65)).toBe('spec.identity.extraClaims: Too many: 65: must have at most 64 items');
  });

  it('bear as many of the largest rules as have room at once, wildcards included', async () => {
    const full = (value: (index: number) => unknown, size = 32): unknown[] =>
      [...Array(size).keys()].map(value);
    const names = full((i) => `n${i}`);
    const rule = {
      verbs: names,
      resourceNames: names,
      namespaces: names,
      nonResourceURLs: full((i) => `/apis/${i}/*`),
      resources: full(() => ({ group: 'g', resources: full((i) => `r${i}/*`), resourceNames: names }), 16),
    };
    const spec = { user: 'a', scope: { rules: full(() => rule, 3) } };
    expect(await verdict(world.admin, ownedAccessKeys, spec)).toBe('accepted');
  });
});

async function specOf({ plural }: Resource): Promise<Schema> {
  const definition = parse(await readFile(`crds/${plural}.yaml`, 'utf8'));
  return definition.spec.versions[0].schema.openAPIV3Schema.properties.spec;
}

function limitsOf(resource: Resource, path: readonly string[], schema: Schema): Limit[] {
  const here = { title: `${resource.kind} ${path.join('.')}`, resource, path, schema };
  const inner = Object.entries((schema.items ?? schema).properties ?? {});
  return [here, ...inner.flatMap(([name, child]) => limitsOf(resource, [...path, name], child))];
}

/** The smallest spec in which the list or text at the path has this size. */
function specWith({ resource, path, schema }: Limit, size: number): object {
  const value =
    schema.maxItems === undefined
      ? 'x'.repeat(size)
      : Array.from({ length: size }, () => sampleOf(path, schema));
  const spec = nest(specOfResource(resource), path, value);
  // A policy asks for a scope where there are groups.
  const scope = path[0] === 'groups' ? { scope: {} } : {};
  return resource === ownedAccessKeys ? { user: 'a', ...scope, ...spec } : spec;
}

function sampleOf(path: readonly string[], { items = {} }: Schema): unknown {
  if (items.type === 'object') return required[path.at(-1) ?? ''] ?? {};
  return items.enum?.[0] ?? (path.at(-1) === 'nonResourceURLs' ? '/a' : 'a');
}

/** Items with fields that they need. */
const required: Readonly<Record<string, object>> = {
  tokens: { issuer: 'https://login.example.com', claims: { sub: 'a' } },
  serviceAccounts: { namespace: 'a', name: 'a' },
};

function nest(schema: Schema, path: readonly string[], value: unknown): Record<string, unknown> {
  const [name = '', ...rest] = path;
  const child = schema.properties?.[name] ?? {};
  if (rest.length === 0) return { ...companionsOf(name, schema), [name]: value };
  const inner = nest(child.items ?? child, rest, value);
  return { [name]: child.items === undefined ? inner : [inner] };
}

/** `resourceNames` needs `resources` beside it. */
function companionsOf(name: string, { properties = {} }: Schema): object {
  if (name !== 'resourceNames') return {};
  return { resources: [sampleOf([], properties['resources'] ?? {})] };
}

const specOfResource = (resource: Resource): Schema => specs.find(([other]) => other === resource)?.[1] ?? {};

const withoutIndexes = (text: string): string => text.replaceAll(/\[\d+\]/g, '');
