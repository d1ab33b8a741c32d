import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

/** Versions by module, as a go.mod requires them. */
function requiredBy(program: string): ReadonlyMap<string, string> {
  const file = path.resolve(import.meta.dirname, '../test', program, 'go.mod');
  const [required = ''] = readFileSync(file, 'utf8').split('\nreplace ');
  const lines = required.matchAll(/^(?:require )?\s+(\S+) (v\S+)/gm);
  return new Map([...lines].map(([, module = '', version = '']) => [module, version]));
}

it('the two largest Go programs stand on the same versions, so that a library is compiled once', () => {
  const [engine, clients] = ['argocd-sync', 'clients'].map(requiredBy) as [
    ReadonlyMap<string, string>,
    ReadonlyMap<string, string>,
  ];
  const shared = [...engine].filter(([module]) => clients.has(module));
  expect(shared.length).toBeGreaterThan(50);
  expect(shared.filter(([module, version]) => clients.get(module) !== version)).toEqual([]);
});
