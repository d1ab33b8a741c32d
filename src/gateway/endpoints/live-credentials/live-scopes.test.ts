import { describe, expect, it } from 'vitest';
import { liveRecord } from '../../../../test/builders/credential-object.ts';
import { maxScopesBytes } from '../../../api/live-credentials.ts';
import { findLiveScopes } from './live-scopes.ts';

/** Scopes that are so many bytes as JSON, of a key and a token below it. `text`: what fills them. */
function scopesOf(bytes: number, text = 'x') {
  const make = (count: number) => {
    const scope = { clusters: [{ cluster: text.repeat(count) }] };
    const key = { ...liveRecord({ kind: 'OwnedAccessKey' }), scope: { roles: [] } };
    return { record: { ...liveRecord({ kind: 'DirectClusterEndpointToken' }), scope }, ancestors: [key] };
  };
  const empty = Buffer.byteLength(JSON.stringify(findLiveScopes(make(0))));
  return make((bytes - empty) / Buffer.byteLength(text));
}

describe('the scopes of a token in a stream', () => {
  it('are its own and those of the keys above it', () => {
    const found = findLiveScopes(scopesOf(1_000));
    expect(found?.map(({ owner }) => owner.replace(/ .*/, ''))).toEqual([
      'DirectClusterEndpointToken',
      'OwnedAccessKey',
    ]);
    expect(Buffer.byteLength(JSON.stringify(found))).toBe(1_000);
  });

  it('have 64 KiB together at most, in bytes and not in characters', () => {
    expect(findLiveScopes(scopesOf(maxScopesBytes))).toHaveLength(2);
    expect(findLiveScopes(scopesOf(maxScopesBytes + 1))).toBeUndefined();
    const { record, ancestors } = scopesOf(maxScopesBytes - 1_000);
    const scope = { clusters: [{ cluster: '\u00e9'.repeat(maxScopesBytes / 2) }] };
    expect(findLiveScopes({ record: { ...record, scope }, ancestors })).toBeUndefined();
  });

  it('are measured once for each record, not again for each token below a key', () => {
    let reads = 0;
    const { record, ancestors } = scopesOf(1_000);
    const key = {
      ...ancestors[0],
      get scope() {
        reads += 1;
        return { roles: [] };
      },
    };
    for (let token = 0; token < 10; token += 1)
      findLiveScopes({ record: { ...record }, ancestors: [key as never] });
    expect(reads).toBe(1);
  });

  it('are none where nothing narrows', () => {
    const { scope: _, ...record } = liveRecord({ kind: 'DirectClusterEndpointToken' });
    expect(findLiveScopes({ record, ancestors: [] })).toEqual([]);
  });
});
