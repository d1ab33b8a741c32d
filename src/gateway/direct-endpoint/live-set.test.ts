import { describe, expect, it } from 'vitest';
import { type LiveCredential, maxScopesBytes } from '../../api/live-credentials.ts';
import { type KnownCredential, LiveSet, scopesOf } from './live-set.ts';

const hashOf = (letter: string): string => letter.repeat(64);
const a = hashOf('a');
const b = hashOf('b');

/** A scope whose JSON is about so long. As if out of JSON: no two calls have anything in common. */
const scopeOf = (owner: string, length: number) => ({
  owner,
  scope: { clusters: [{ cluster: 'edge' }], rules: ['x'.repeat(length)] },
});
const add = (set: LiveSet, hash: string, scopes: LiveCredential['scopes']): string | undefined =>
  set.apply({
    type: 'ADD',
    number: 2,
    object: { hash, uid: 'uid', name: 'ci', user: 'ann', groups: ['dev'], scopes, end: 1 },
  });
const namedScopes = (set: LiveSet, hash: string) => scopesOf(set.credentials.get(hash) as KnownCredential);
const keptScopes = (set: LiveSet, hash: string) => set.credentials.get(hash)?.scopes ?? [];

describe('the scopes of credentials', () => {
  it('stand once in memory where tokens have large keys above them in common', () => {
    const set = new LiveSet();
    const next = new LiveSet();
    add(set, a, [scopeOf('token a', 10), scopeOf('key', 10_000), scopeOf('top', 20_000)]);
    add(set, b, [scopeOf('token b', 20), scopeOf('key', 10_000), scopeOf('top', 20_000)]);
    add(next, a, [scopeOf('token a', 10), scopeOf('key', 10_000), scopeOf('top', 20_000)]);
    const [own, key, top] = keptScopes(set, a);
    for (const [, sameKey, sameTop] of [keptScopes(set, b), keptScopes(next, a)]) {
      expect(sameKey?.scope).toBe(key?.scope);
      expect(sameTop?.scope).toBe(top?.scope);
    }
    expect(keptScopes(set, b)[0]?.scope).not.toEqual(own?.scope);
    expect(keptScopes(set, b).map(({ owner }) => owner)).toEqual(['token b', 'key', 'top']);
  });

  it('stand once where each token has a scope of its own that says the same, and keep the names of their owners', () => {
    const set = new LiveSet();
    for (const [hash, name] of [
      [a, 'one'],
      [b, 'two'],
    ] as const) {
      const own = scopeOf(`DirectClusterEndpointToken "${name}"`, 10);
      const scopes = [own, scopeOf('OwnedAccessKey "ci"', 10)];
      set.apply({
        ...{ type: 'ADD', number: 2 },
        object: { hash, uid: 'uid', name, user: 'ann', groups: [], scopes, end: 1 },
      });
    }
    expect(keptScopes(set, b)).toBe(keptScopes(set, a));
    const owners = [a, b].map((hash) => namedScopes(set, hash).map(({ owner }) => owner));
    const key = 'OwnedAccessKey "ci"';
    expect(owners).toEqual([
      ['DirectClusterEndpointToken "one"', key],
      ['DirectClusterEndpointToken "two"', key],
    ]);
  });

  it('of a small size stand once as a whole', () => {
    const set = new LiveSet();
    add(set, a, [scopeOf('key', 10)]);
    add(set, b, [scopeOf('key', 10)]);
    expect(keptScopes(set, b)).toBe(keptScopes(set, a));
  });

  it('may be as large as the limit, in bytes', () => {
    const set = new LiveSet();
    const free = maxScopesBytes - JSON.stringify([scopeOf('key', 0)]).length;
    add(set, a, [scopeOf('key', free)]);
    expect(set.credentials.has(a)).toBe(true);
    add(set, b, [scopeOf('kéy', free)]);
    expect(set.credentials.has(b)).toBe(false);
  });

  it('beyond the limit make the credential no good one, known or new, and leave the others alone', () => {
    const set = new LiveSet();
    const large = scopeOf('key', maxScopesBytes / 2);
    add(set, a, []);
    add(set, b, []);
    expect(add(set, a, [large, large])).toBe(a);
    add(set, hashOf('c'), [large, large]);
    expect([...set.credentials.keys()]).toEqual([b]);
  });

  it('nested too deep to be written make the credential no good one', () => {
    const set = new LiveSet();
    const scope = JSON.parse(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`);
    expect(add(set, a, [{ owner: 'key', scope }])).toBe(a);
    expect(set.credentials.size).toBe(0);
  });
});

describe('the token of an ID', () => {
  const [one, two] = [hashOf('1'), hashOf('2')];
  const apply = (set: LiveSet, hash: string, tokenID?: string): void =>
    void set.apply({
      ...{ type: 'ADD', number: 2 },
      object: {
        ...{ hash, uid: 'uid', name: 'ci', user: 'ann', groups: [], scopes: [], end: 1 },
        ...(tokenID !== undefined && { tokenID }),
      },
    });

  it('is found until it is dropped', () => {
    const set = new LiveSet({ withTokenIDs: true });
    apply(set, a, one);
    apply(set, b, two);
    set.drop(a);
    expect([...set.byTokenID]).toEqual([[two, b]]);
  });

  it('is not found by a former one, nor lost with another that claimed the same', () => {
    const set = new LiveSet({ withTokenIDs: true });
    apply(set, a, one);
    apply(set, a, two);
    expect([...set.byTokenID]).toEqual([[two, a]]);
    apply(set, b, two);
    set.drop(a);
    expect([...set.byTokenID]).toEqual([[two, b]]);
  });

  it('is not found where the platform names none: an earlier release issued it, with one that can be guessed', () => {
    const set = new LiveSet({ withTokenIDs: true });
    apply(set, a);
    expect([set.credentials.size, set.byTokenID.size]).toEqual([1, 0]);
  });

  it('is not kept where no API server asks', () => {
    const set = new LiveSet();
    apply(set, a, one);
    expect([set.credentials.get(a)?.tokenID, set.byTokenID.size]).toEqual([undefined, 0]);
  });
});
