import { decodeJwt, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import {
  criticalScopes,
  group,
  serviceAccounts,
  systemNamespace,
  systemObjects,
} from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { directClusterEndpointTokens } from '../../../src/api/resources.ts';
import { Issuer, signingKeyOf } from './issuer.ts';

const world = await operatorWorld();
const { admin } = world;
const issuer = new Issuer(admin);
const verifier = new Verifier(admin);

describe('a token and the published key set', () => {
  it('verifies for its issuer and audience, and carries who, what and how long', async () => {
    const scope = { clusters: [{ cluster: '*' }] };
    const key = await admin.createKey({ user: 'alice', groups: ['dev'], scope });
    const token = await admin.createToken({ accessKey: key.metadata.name, ttl: 600 });
    const { metadata, status } = await admin.untilReady(token);

    const claims = await issuer.verify(status.token);

    expect(claims).toEqual({
      iss: baseURL,
      aud: [`${baseURL}/clusters`],
      sub: 'alice',
      groups: ['dev'],
      iat: expect.any(Number),
      nbf: claims.iat,
      exp: (claims.iat ?? 0) + 600,
      jti: expect.stringMatching(new RegExp(`^${metadata.uid}\\.1\\.[\\w-]{22}$`)),
      [group]: {
        object: { kind: 'DirectClusterEndpointToken', name: metadata.name, uid: metadata.uid },
        parent: { name: key.metadata.name, uid: key.metadata.uid },
        scopes: [scope],
      },
    });
    expect(status).toMatchObject({ serial: 1, signingKeyID: signingKeyOf(status.token) });
    expect(new Date(status.notAfter).getTime()).toBe((claims.exp ?? 0) * 1000);
    expect(await verifier.presented(status.token)).toBe('live');
  });

  it('is described by a discovery document that points at the key set', async () => {
    expect(await issuer.discovery()).toMatchObject({
      issuer: baseURL,
      jwks_uri: `${baseURL}/openid/v1/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
    });
  });

  it('speaks for the user who asked, when it names no access key', async () => {
    const { api } = await world.user('carol', ['team-a', 'team-b']);
    const token = await admin.untilReady(await api.createToken({ ttl: 60 }));
    const claims = await issuer.verify(token.status.token);
    expect(claims).toMatchObject({ sub: 'carol', groups: ['team-a', 'team-b'] });
    expect(claims.exp).toBe((claims.iat ?? 0) + 60);
  });

  it('is good for the clusters that its scope and those above name, and for no other audience', async () => {
    const clusters = (...names: string[]) => ({ clusters: names.map((cluster) => ({ cluster })) });
    const key = await admin.createKey({ user: 'alice', scope: clusters('one', 'two') });
    const scope = clusters('two', 'three');
    const token = await admin.createToken({ accessKey: key.metadata.name, scope });
    const { status } = await admin.untilReady(token);

    const claims = await issuer.verify(status.token, `${baseURL}/cluster/two`);

    expect(claims.aud).toEqual([`${baseURL}/cluster/two`]);
    expect(claims[group].scopes).toEqual([scope, clusters('one', 'two')]);
    for (const audience of [`${baseURL}/cluster/one`, `${baseURL}/clusters`, baseURL]) {
      await expect(issuer.verify(status.token, audience)).rejects.toMatchObject({ claim: 'aud' });
    }
  });

  it('does not verify when a character of it has changed', async () => {
    const { status } = await admin.untilReady(await admin.createToken());
    const [header, payload, signature] = status.token.split('.');
    const claims = { ...decodeJwt(status.token), sub: 'root' };
    const forged = Buffer.from(JSON.stringify(claims)).toString('base64url');
    await expect(issuer.verify([header, forged, signature].join('.'))).rejects.toThrow('signature');
    expect(payload).not.toBe(forged);
    expect(await verifier.presented([header, forged, signature].join('.'))).toBe('Unknown');
  });
});

describe('the rotation of the signing key', () => {
  it('leaves tokens alone that the key before has signed, and signs new ones with the next', async () => {
    const before = await admin.untilReady(await admin.createToken());
    const former = signingKeyOf(before.status.token);

    await issuer.rotate();

    const after = await until('a token that another key has signed', async () => {
      const made = await admin.untilReady(await admin.createToken());
      return signingKeyOf(made.status.token) === former ? undefined : made;
    });
    expect(await issuer.keyIDs()).toEqual(expect.arrayContaining([former, signingKeyOf(after.status.token)]));
    await issuer.verify(after.status.token);
    await issuer.verify(before.status.token);
    const { status } = await admin.get(before);
    expect(status).toEqual(before.status);
    expect(await verifier.presented(before.status.token)).toBe('live');
  });
});

describe('the revocation of a signing key', () => {
  it('ends what it has signed at once, and a successor signed by another key follows', async () => {
    const before = await admin.untilReady(await admin.createToken());
    const place = { namespace: 'default', name: world.name('token') };
    const kept = await admin.untilReady(await admin.createToken({ secretRef: place }));
    const inSecret = entryOf(await admin.get(secretAt(place.namespace, place.name)), 'token');
    const revoked = signingKeyOf(before.status.token);
    expect(signingKeyOf(inSecret)).toBe(revoked);

    await issuer.revoke(revoked);

    for (const token of [before, kept]) {
      await admin.until(token, 'a successor', ({ status }) => status.serial === 2);
      await admin.untilReady(token);
      await admin.untilEvent(token, reasons.signingKeyRevoked);
    }
    expect(await issuer.keyIDs()).not.toContain(revoked);
    const { status } = await admin.get(before);
    const successorInSecret = entryOf(await admin.get(secretAt(place.namespace, place.name)), 'token');
    for (const successor of [status.token, successorInSecret]) {
      expect(signingKeyOf(successor)).not.toBe(revoked);
      expect((await issuer.verify(successor)).jti).toMatch(/\.2\.[\w-]{22}$/);
      expect(await verifier.presented(successor)).toBe('live');
    }
    for (const predecessor of [before.status.token, inSecret]) {
      await expect(issuer.verify(predecessor)).rejects.toThrow('no applicable key');
      expect(await verifier.presented(predecessor)).toBe('Unknown');
    }
    expect(status.previous).toBeUndefined();
  });

  it('by an entry that cannot be read keeps the entry under another name, and says so', async () => {
    const before = await admin.untilReady(await admin.createToken());
    const entry = `${signingKeyOf(before.status.token)}.pem`;
    const secret = await admin.get(secretAt(systemNamespace, systemObjects.signingKeys));
    const spoilt = Buffer.from('spoilt').toString('base64');

    await admin.patch(secret, { data: { [entry]: spoilt } });

    await admin.until(before, 'a successor', ({ status }) => status.serial === 2);
    await issuer.verify((await admin.untilReady(before)).status.token);
    const { data } = await admin.get(secret);
    expect(data).toMatchObject({ [`${entry}.unreadable`]: spoilt });
    expect(data).not.toHaveProperty([entry]);
    await admin.untilEvent(secret, reasons.signingKeyUnreadable);
  });

  it('of all of them, by deleting their Secret, replaces every token', async () => {
    const before = await Promise.all([admin.createToken(), admin.createToken(), admin.createToken()]);
    const old = await Promise.all(before.map((token) => admin.untilReady(token)));
    const keyIDs = await issuer.keyIDs();

    await issuer.revokeAll();

    for (const { metadata, status, kind = '' } of old) {
      const replaced = await admin.until({ kind, metadata }, 'a successor', (now) => now.status.serial === 2);
      const after = await admin.untilReady(replaced);
      await issuer.verify(after.status.token);
      await expect(issuer.verify(status.token)).rejects.toThrow('no applicable key');
      expect(await verifier.presented(status.token)).toBe('Unknown');
    }
    expect((await issuer.keyIDs()).filter((kid) => keyIDs.includes(kid))).toEqual([]);
  });
});

describe('a token of an earlier release', () => {
  const serviceAccount = { namespace: systemNamespace, name: serviceAccounts.operator };
  const operator = admin.client.as({ serviceAccount });
  /** Writes what that release wrote. */
  const age = async ({ metadata: { name } }: Stored, status: object): Promise<Stored> =>
    await operator.mergePatch<Stored>(
      directClusterEndpointTokens,
      { name },
      { status },
      { subresource: 'status' },
    );
  const clusters = [{ cluster: 'a' }];
  const headerOf = ({ status }: Stored) => decodeProtectedHeader(status.token);

  it('is described in the new fields, and is the same token as before', async () => {
    const before = await admin.untilReady(await admin.createToken());
    const { signingKeyID } = before.status;
    const earlier = { keyID: signingKeyID, signingKeyID: null, subject: null, audiences: null };

    const written = await age(before, earlier);

    expect(written.status).not.toHaveProperty('subject');
    const after = await admin.until(before, 'a description', ({ status }) => status.subject !== undefined);
    expect(after.status).toEqual(before.status);
    await issuer.verify(after.status.token);
  });

  it('that is narrow and does not say that its scopes are critical is issued again, and ends at once', async () => {
    const scope = { clusters, rules: [{ verbs: ['get'] }] };
    const first = await admin.untilReady(await admin.createToken({ ttl: 600, scope }));
    expect(headerOf(first)).toMatchObject({ crit: [criticalScopes] });
    await age(first, { criticalScopes: null });
    const second = await admin.until(first, 'a successor', ({ status }) => status.serial === 2);
    expect(headerOf(second)).toMatchObject({ crit: [criticalScopes] });
    expect(second.status.notAfter).toBe(first.status.notAfter);
    expect(await verifier.presented(first.status.token)).toBe('Unknown');
  });

  it('that is good for all of a cluster says no such thing, and stays', async () => {
    const wide = await admin.untilReady(await admin.createToken({ ttl: 600, scope: { clusters } }));
    expect(headerOf(wide)).not.toHaveProperty('crit');
    expect(wide.status).not.toHaveProperty('criticalScopes');
    await admin.patch(wide, { metadata: { labels: { touched: 'true' } } });
    // The operator has worked on all that came before.
    await admin.untilReady(await admin.createToken({ ttl: 600 }));
    expect((await admin.get(wide)).status).toEqual(wide.status);
  });
});
