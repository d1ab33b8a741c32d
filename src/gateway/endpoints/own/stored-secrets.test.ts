import { describe, expect, it } from 'vitest';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import { kappOriginal, lastApplied, secretsIn, withoutCredentials, withStoredSecrets } from './secrets.ts';

const plain = 'a-key-that-the-operator-made';
const hash = `sha256:${credentialHash(plain)}`;
const stored = {
  metadata: {
    name: 'ci',
    annotations: {
      [lastApplied]: JSON.stringify({ spec: { key: plain } }),
      [kappOriginal]: JSON.stringify({ spec: { key: plain }, kind: 'OwnedAccessKey' }),
    },
  },
  spec: {
    key: plain,
    displayName: 'a',
    identity: { email: 'a@b', connectorData: 'connector' },
    oidcLogin: { idToken: 'id-token', refreshToken: 'refresh-token' },
  },
  status: { token: 'the-token' },
};

describe('an object that comes back', () => {
  it('as it was read is the stored one', () => {
    const { status, ...read } = withoutCredentials(stored);
    const { status: _, ...whole } = stored;
    expect(status).toEqual({});
    expect(withStoredSecrets(read, stored)).toEqual(whole);
  });

  it.each([
    ['its hash', { key: hash }, plain],
    ['the key itself', { key: plain }, plain],
    ['nothing', {}, plain],
    ['null', { key: null }, plain],
    ['another hash', { key: `sha256:${'0'.repeat(64)}` }, `sha256:${'0'.repeat(64)}`],
  ])('with %s in place of the key', (_, spec, expected) => {
    expect(withStoredSecrets({ spec }, stored)).toMatchObject({ spec: { key: expected } });
  });

  it('may move its key to a Secret', () => {
    const spec = { secretRef: { namespace: 'a', name: 'b' } };
    expect(withStoredSecrets({ spec }, stored)['spec']).toEqual(spec);
  });

  it('may leave the login data out, and set it', () => {
    expect(withStoredSecrets({ spec: {} }, stored)['spec']).toEqual({ key: plain });
    const spec = { identity: { connectorData: 'new' } };
    expect(withStoredSecrets({ spec }, stored)).toMatchObject({ spec });
  });
});

it('names every credential in an object', () => {
  expect([...secretsIn(stored)].sort()).toEqual(
    [plain, 'connector', 'id-token', 'refresh-token', 'the-token'].sort(),
  );
});
