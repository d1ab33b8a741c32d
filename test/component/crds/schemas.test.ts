import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  clusters,
  credentialLocks,
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { additions, contract } from './contract.ts';

const folder = path.join(import.meta.dirname, '../../../crds');
const kinds: readonly Resource[] = [
  clusters,
  credentialLocks,
  directClusterEndpointTokens,
  ownedAccessKeys,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
];

/** Of conditions, of history, of rules, and of what stands in the line above in kubectl explain. */
const notFirst = new Set([
  ...['If', 'When', 'Whenever', 'While', 'Unless', 'Absent', 'Empty', 'Set', 'With', 'Without', 'Where'],
  ...['Deprecated', 'Addition', 'Older', 'Former', 'Legacy', 'Since', 'Formerly'],
  ...['Must', 'May', 'Should', 'Optional', 'Required'],
  ...['This', 'That', 'It', 'Its', 'These', 'There', 'What', 'How', 'Who', 'Which', 'Whether'],
]);

// biome-ignore lint/suspicious/noExplicitAny: documents of a form that this file checks.
type Json = any;

interface Node {
  readonly path: string;
  readonly schema: Json;
}

const definitions = new Map<Resource, Json>();
for (const resource of kinds) {
  definitions.set(resource, parse(await readFile(path.join(folder, `${resource.plural}.yaml`), 'utf8')));
}
const versionOf = (resource: Resource): Json => definitions.get(resource).spec.versions[0];
const rootOf = (resource: Resource): Json => versionOf(resource).schema.openAPIV3Schema;
const nodes = kinds.flatMap((resource) => nodesOf({ path: resource.kind, schema: rootOf(resource) }));

describe('crds/', () => {
  it('holds one file for each kind, all of them listed for kubectl apply -k', async () => {
    const files = kinds.map(({ plural }) => `${plural}.yaml`);
    expect((await readdir(folder)).sort()).toEqual([...files, 'kustomization.yaml'].sort());
    const { resources } = parse(await readFile(path.join(folder, 'kustomization.yaml'), 'utf8'));
    expect(resources).toEqual(files);
  });

  it.each(kinds)('defines $kind as the code knows it', (resource) => {
    const { metadata, spec } = definitions.get(resource);
    const { group, kind, plural, namespaced, version } = resource;
    expect(metadata.name).toBe(`${plural}.${group}`);
    expect(spec).toMatchObject({ group, scope: namespaced ? 'Namespaced' : 'Cluster' });
    expect(spec.names).toMatchObject({ kind, plural, categories: ['latchkey', 'platform'] });
    expect(versionOf(resource)).toMatchObject({ name: version, subresources: { status: {} } });
  });

  it.each(contract)('has the field $field of the contract as $type', ({ kind, field, type, format }) => {
    const schema = nodes.find((node) => node.path === `${kind}.${field}`)?.schema;
    expect(schema).toMatchObject({ type, ...(format === undefined ? {} : { format }) });
  });

  it('marks what is deprecated', () => {
    const deprecated = nodes.filter(({ schema }) => schema.description?.includes('Deprecated: '));
    expect(deprecated.map((node) => node.path).sort()).toEqual([
      'DirectClusterEndpointToken.spec.allowPlatformCli',
      'DirectClusterEndpointToken.spec.rules',
      'DirectClusterEndpointToken.spec.scope.allowLoftCli',
      'DirectClusterEndpointToken.spec.scope.rules',
      'OwnedAccessKey.spec.oidcLogin',
      'OwnedAccessKey.spec.parent',
      'OwnedAccessKey.spec.scope.allowLoftCli',
      'OwnedAccessKey.spec.scope.rules',
    ]);
  });

  it.each([ownedAccessKeys, directClusterEndpointTokens, virtualClusterInstanceKubeConfigs])(
    'has no field of $kind beyond the contract and the listed additions',
    (resource) => {
      const known = contract.filter(({ kind }) => kind === resource.kind).map(({ field }) => field);
      const aliases = ['spec.identityRefresh'];
      const { spec, status } = rootOf(resource).properties;
      const fields = [...namesOf('spec', spec), ...namesOf('status', status)];
      const others = fields.filter((field) => !known.includes(field) && !aliases.includes(field));
      expect(others.toSorted()).toEqual(additions[resource.kind]?.toSorted());
    },
  );

  it('describes every field in words, with a full stop', () => {
    const fields = nodes.filter(({ path: at }) => at.includes('.') && !/\[\]$|\.\*$|\.metadata$/.test(at));
    for (const { path: at, schema } of fields) expect(schema.description, at).toMatch(/^[A-Z`].*\.$/);
  });

  it('begins each description with what the field holds or does, and never with a condition or its history', () => {
    const first = nodes.map(({ schema }) => /^["`]?[\w-]+/.exec(schema.description ?? '')?.[0] ?? '');
    expect(first.filter((word) => notFirst.has(word))).toEqual([]);
  });

  it.each(kinds)('never says "contract" of $kind, for users know of none', (resource) => {
    expect(JSON.stringify(definitions.get(resource))).not.toMatch(/contract/i);
  });

  it('ends a description with what is deprecated, so that it does not stand in front of the meaning', () => {
    const texts = nodes.map(({ schema }) => schema.description ?? '');
    const notes = texts.filter((text) => text.includes('Deprecated:'));
    expect(notes.length).toBeGreaterThan(5);
    for (const text of notes) expect(text).toMatch(/\w\. Deprecated: [^.]+\.$/);
  });

  it('bounds every text and every list', () => {
    for (const { path: at, schema } of nodes) {
      if (/^\w+\.(apiVersion|kind)$/.test(at)) continue;
      if (schema.type === 'array') expect(schema.maxItems, at).toBeGreaterThan(0);
      if (schema.type === 'string' && !schema.enum && !schema.format)
        expect(schema.maxLength, at).toBeGreaterThan(0);
    }
  });

  it('has atomic lists, except conditions, which are a map by type', () => {
    for (const { path: at, schema } of nodes.filter((node) => node.schema.type === 'array')) {
      const expected = at.endsWith('.status.conditions') ? 'map' : 'atomic';
      expect(schema['x-kubernetes-list-type'], at).toBe(expected);
    }
  });

  it('has a default for spec and status only, and so none within a list, where Argo CD would see a difference', () => {
    const defaults = nodes.filter(({ schema }) => 'default' in schema).map((node) => node.path);
    const statuses = kinds.map(({ kind }) => `${kind}.status`);
    expect(defaults.sort()).toEqual([...kinds.map(({ kind }) => `${kind}.spec`), ...statuses].sort());
  });

  it('has one and the same scope for keys and tokens, and the same rules outside of it', () => {
    const scope = rootOf(ownedAccessKeys).properties.spec.properties.scope;
    const token = rootOf(directClusterEndpointTokens).properties.spec.properties;
    expect(token.scope).toEqual(scope);
    const { description: _, ...rules } = token.rules;
    const { description: __, ...scopeRules } = scope.properties.rules;
    expect(rules).toEqual(scopeRules);
  });

  it('has a message for every rule, of one line', () => {
    const rules = nodes.flatMap(({ schema }) => schema['x-kubernetes-validations'] ?? []);
    expect(rules.length).toBeGreaterThan(40);
    for (const { rule, message } of rules) expect(message, rule).toMatch(/^[^\n]{20,250}$/);
  });

  it('has no column, and nothing to select by, that holds a secret', () => {
    const secrets = /\.key\b|token|kubeConfig\b|oidcLogin|connectorData/;
    for (const resource of kinds) {
      const { additionalPrinterColumns, selectableFields = [] } = versionOf(resource);
      for (const { jsonPath } of [...additionalPrinterColumns, ...selectableFields])
        expect(jsonPath).not.toMatch(secrets);
    }
  });
});

function nodesOf(node: Node): Node[] {
  const { path: at, schema } = node;
  const properties = Object.entries(schema.properties ?? {}).map(([name, child]) => ({
    path: `${at}.${name}`,
    schema: child,
  }));
  const items = schema.items === undefined ? [] : [{ path: `${at}[]`, schema: schema.items }];
  const values = schema.additionalProperties;
  const members = typeof values === 'object' ? [{ path: `${at}.*`, schema: values }] : [];
  return [node, ...[...properties, ...items, ...members].flatMap(nodesOf)];
}

const namesOf = (parent: string, schema: Json): string[] =>
  Object.keys(schema.properties).map((name) => `${parent}.${name}`);
