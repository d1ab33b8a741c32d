import { expect, it } from 'vitest';
import type { LiveCredential } from '../../api/live-credentials.ts';
import { toVerdict } from './endpoint-verdict.ts';

const top = { owner: 'top', scope: { clusters: [{ cluster: 'edge' }] } };
const credentialOf = (name: string, scopes: LiveCredential['scopes']): LiveCredential => ({
  ...{ hash: 'a'.repeat(64), uid: 'uid', name, user: 'ann', groups: [], scopes, end: 1 },
});

it('makes one gate of a scope that tokens have in common', () => {
  const own = { owner: 'own', scope: { clusters: [{ cluster: 'edge' }] } };
  const first = toVerdict(credentialOf('one', [own, top]));
  const second = toVerdict(credentialOf('two', [top]));
  expect(second.gates[0]).toBe(first.gates[1]);
  expect(first.gates[0]).not.toBe(first.gates[1]);
});

it('tells scopes apart without a copy of them', () => {
  const long = { owner: 'top', scope: { rules: ['x'.repeat(60_000)] } };
  const [one, same, other] = [[long], [long], [long, top]].map((scopes) =>
    toVerdict(credentialOf('ci', scopes)),
  );
  expect(one?.scopes).toBe(same?.scopes);
  expect(one?.scopes).not.toBe(other?.scopes);
  expect(one?.scopes.length).toBeLessThan(100);
});
