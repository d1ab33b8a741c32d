import { describe, expect, it } from 'vitest';
import { tokenIDBytes, tokenIDHash } from '../token-id.ts';
import { type TokenRequest, tokenClaims } from './claims.ts';

const request: TokenRequest = {
  issuer: 'https://platform.example.com',
  audience: ['https://platform.example.com/cluster/a'],
  identity: { kind: 'team', user: 'team:red', groups: ['team:red', 'dev'] },
  object: { kind: 'DirectClusterEndpointToken', name: 'deploy', uid: 'uid-1' },
  parent: { name: 'ci', uid: 'uid-2' },
  serial: 4,
  scopes: [{ clusters: [{ cluster: 'a' }] }],
  issuedAt: 1_795_255_200_999,
  notAfter: 1_795_258_800_999,
};

describe('tokenClaims', () => {
  it('says who, where, how long, and for which object', () => {
    expect(tokenClaims(request)).toEqual({
      iss: 'https://platform.example.com',
      aud: ['https://platform.example.com/cluster/a'],
      sub: 'team:red',
      groups: ['team:red', 'dev'],
      iat: 1_795_255_200,
      nbf: 1_795_255_200,
      exp: 1_795_258_800,
      jti: 'uid-1.4',
      'management.platform.sh': {
        object: { kind: 'DirectClusterEndpointToken', name: 'deploy', uid: 'uid-1' },
        parent: { name: 'ci', uid: 'uid-2' },
        scopes: [{ clusters: [{ cluster: 'a' }] }],
      },
    });
  });

  it.each([
    ['no scope', [undefined], []],
    ['a scope of an ancestor only', [undefined, { projects: [] }], [{ projects: [] }]],
    ['an empty scope', [{}], [{}]],
    ['a null scope', [null, undefined], [{}]],
  ])('writes %s so that JSON cannot change its meaning', (_, scopes, written) => {
    const text = JSON.stringify(tokenClaims({ ...request, scopes }));
    expect(JSON.parse(text)['management.platform.sh'].scopes).toEqual(written);
  });

  it('has an ID that no one can guess, and a hash of it that stands for no other', () => {
    const random = Uint8Array.from({ length: tokenIDBytes }, (_, index) => index);
    const { jti } = tokenClaims({ ...request, random });
    expect(tokenIDBytes).toBeGreaterThanOrEqual(16);
    expect(jti).toBe('uid-1.4.AAECAwQFBgcICQoLDA0ODw');
    const next = tokenClaims({ ...request, random: random.toReversed() });
    expect(tokenIDHash(jti)).toMatch(/^[\w-]{43}$/);
    expect(new Set([jti, 'uid-1.4', next.jti].map(tokenIDHash)).size).toBe(3);
  });

  it('names the one instance that a kubeconfig is good for', () => {
    const instance = { namespace: 'p-red', name: 'shop', uid: 'uid-3' };
    expect(tokenClaims(request)['management.platform.sh']).not.toHaveProperty('instance');
    expect(tokenClaims({ ...request, instance })['management.platform.sh']).toMatchObject({ instance });
  });

  it('names no parent where there is none', () => {
    const { parent: _, ...orphan } = request;
    expect(tokenClaims(orphan)['management.platform.sh']).not.toHaveProperty('parent');
  });
});
