import { globSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { apiVersion } from '../../src/api/names.ts';
import { readDocument } from './document.ts';

interface Example {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly ttl?: number; readonly certificateTTL?: number; readonly scope?: object };
}

const root = path.resolve(import.meta.dirname, '../..');
const pages = [
  'README.md',
  'docs/first-key.md',
  'docs/tutorial.md',
  ...globSync('docs/{guide,reference}/*.md', { cwd: root }),
];
const lifeFields = {
  OwnedAccessKey: 'ttl',
  DirectClusterEndpointToken: 'ttl',
  VirtualClusterInstanceKubeConfig: 'certificateTTL',
} as const;
/** A certificate cannot carry a scope, so nothing above one may have it. */
const withoutScope = ['alice-checkout'];

function examplesIn(file: string): Example[] {
  const blocks = readDocument(file).matchAll(/^```yaml\n(.*?)^```/gms);
  return [...blocks]
    .flatMap(([, block = '']) => parseAllDocuments(block).map((document) => document.toJS() as Example))
    .filter((example) => example.apiVersion === apiVersion);
}

const examples = pages
  .flatMap((file) => examplesIn(file).map((example) => ({ file, example })))
  .map(({ file, example }) => ({ file, example, kind: example.kind, name: example.metadata.name }));
const credentials = examples.filter(({ kind }) => kind in lifeFields);

describe('the examples of the documents', () => {
  it.each(credentials)('$kind $name in $file has an end', ({ kind, example }) => {
    expect(example.spec[lifeFields[kind as keyof typeof lifeFields]]).toBeGreaterThan(0);
  });

  it.each(credentials.filter(({ kind }) => kind !== 'VirtualClusterInstanceKubeConfig'))(
    '$kind $name in $file has a scope, unless certificates are below it',
    ({ name, example }) => {
      expect(example.spec.scope === undefined).toBe(withoutScope.includes(name));
    },
  );

  it('have names of their own', () => {
    const places = credentials.map(({ kind, name }) => `${kind}/${name}`);
    expect(places).toEqual([...new Set(places)]);
  });

  it.each(pages)('in the commands of %s have an end and a scope, too', (file) => {
    const blocks = [...readDocument(file).matchAll(/^```console\n(.*?)^```/gms)].map(
      ([, block = '']) => block,
    );
    const specs = blocks
      .flatMap((block) => block.split(/^(?=\$ )/m))
      .filter((command) =>
        /ownedaccesskeys|directclusterendpointtokens|OwnedAccessKey|\$(?:KEYS|TOKENS)/.test(command),
      )
      .filter((command) => /\$ .*(?:-d |--data-binary @- |echo )/.test(command));
    expect(specs.filter((command) => !/\bttl\b.*\bscope\b/s.test(command))).toEqual([]);
  });
});
