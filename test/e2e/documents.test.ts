import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { apiVersion } from '../../src/api/names.ts';
import { type Applied, kubectlOf, placeOf } from '../operator/kubectl.ts';
import { operatorWorld } from '../operator/world.ts';

const root = path.resolve(import.meta.dirname, '../..');

const yamlBlocks = (file: string): string[] =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/^```yaml\n(.*?)^```/gms)].map(
    ([, block = '']) => block,
  );

/** The credentials in the YAML blocks of a document; one list for each block. */
function manifestsIn(file: string): Applied[][] {
  return yamlBlocks(file)
    .map((block) => parseAllDocuments(block).map((document) => document.toJS() as Applied))
    .filter((manifests) => manifests.every((manifest) => manifest.apiVersion === apiVersion));
}

const documents = ['README.md', ...globSync('docs/**/*.md', { cwd: root })]
  .map((file) => ({ file, blocks: manifestsIn(file) }))
  .filter(({ blocks }) => blocks.length > 0);

const world = await operatorWorld();
const kubectl = await kubectlOf(world, 'docs-reader');

describe('the manifests in the documents', () => {
  it('are found', () => {
    expect(documents.map(({ file }) => file)).toEqual(
      expect.arrayContaining(['README.md', 'docs/guide/access-keys.md', 'docs/guide/tokens.md']),
    );
  });

  it.each(documents)('become ready one after the other as $file shows them', async ({ blocks }) => {
    for (const manifests of blocks) {
      await kubectl.send('apply', manifests);
      for (const manifest of manifests) {
        await kubectl.ok(['wait', '--for=condition=Ready', '--timeout=20s', ...placeOf(manifest)]);
      }
    }
    await kubectl.send('delete', blocks.flat(), '--ignore-not-found');
  });
});

it('the overlay in docs/guide/install.md renders, with its base URL and its image', async () => {
  const folder = path.join(world.guard.folder, 'overlay');
  mkdirSync(folder);
  symlinkSync(root, path.join(folder, 'latchkey'));
  writeFileSync(path.join(folder, 'kustomization.yaml'), yamlBlocks('docs/guide/install.md')[0] ?? '');
  const rendered = await kubectl.ok(['kustomize', folder]);
  expect(rendered).toContain('LATCHKEY_BASE_URL: https://latchkey.example.com\n');
  expect(rendered).toContain('image: registry.example.com/latchkey:0.1.0\n');
  const first = ['ValidatingAdmissionPolicyBinding', 'CustomResourceDefinition', 'Deployment'];
  const places = first.map((kind) => rendered.indexOf(`kind: ${kind}\n`));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
});
