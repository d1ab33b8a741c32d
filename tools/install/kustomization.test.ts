import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { renderKustomization } from './kustomization.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-kustomization-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, content: object): void =>
  writeFileSync(path.join(folder, name), JSON.stringify(content));

it('refuses a field that it cannot render, so that no form of the installation lacks it', () => {
  write('kustomization.yaml', { resources: [], namePrefix: 'a-' });
  expect(() => renderKustomization(folder)).toThrow(/kustomization.yaml: cannot render "namePrefix"/);
});

it('refuses a transformer that it does not know', () => {
  write('transformer.yaml', { kind: 'PrefixTransformer' });
  write('kustomization.yaml', { resources: [], transformers: ['transformer.yaml'] });
  expect(() => renderKustomization(folder)).toThrow(/transformer.yaml: cannot render "PrefixTransformer"/);
});
