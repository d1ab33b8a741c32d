import { isDeepStrictEqual } from 'node:util';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { Issuer, signingKeyOf } from '../lifecycle/issuer.ts';
import { gatewayWorld } from './gateway-world.ts';

const world = await gatewayWorld();
const { admin, gateway } = world;
const issuer = new Issuer(admin);
const [discoveryPath, keysPath] = ['/.well-known/openid-configuration', '/openid/v1/jwks'];

async function read(path: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await gateway.send(path, { headers });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

async function servedKeyIDs(): Promise<readonly string[]> {
  const { keys } = (await read(keysPath)).body as { keys: readonly { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

describe('the discovery document', () => {
  it('is served to anyone, as the operator has published it', async () => {
    const { headers, body, status } = await until('the gateway serves the latest', async () => {
      const answer = await read(discoveryPath);
      return isDeepStrictEqual(answer.body, await issuer.discovery()) && answer;
    });
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'application/json',
      'max-age=30',
    ]);
    expect(body).toMatchObject({ issuer: baseURL, jwks_uri: baseURL + keysPath });
  });
});

describe('the key set', () => {
  it('verifies tokens with nothing else', async () => {
    const { status } = await admin.untilReady(await admin.createToken({ ttl: 600 }));
    await until('the key is served', async () => (await servedKeyIDs()).includes(signingKeyOf(status.token)));
    const keys = createLocalJWKSet((await read(keysPath)).body);
    const { payload } = await jwtVerify(status.token, keys, { issuer: baseURL });
    expect(payload.iss).toBe(baseURL);
  });

  it('is not sent again to someone who has it', async () => {
    const { headers } = await read(keysPath);
    expect(headers['content-type']).toBe('application/jwk-set+json');
    const again = await read(keysPath, { 'if-none-match': String(headers['etag']) });
    expect([again.status, again.body, again.headers['etag']]).toEqual([304, undefined, headers['etag']]);
  });

  it('is without a key that was revoked within a second after the operator took it out', async () => {
    const { status } = await admin.untilReady(await admin.createToken({ ttl: 600 }));
    const revoked = signingKeyOf(status.token);
    await until('the key is served', async () => (await servedKeyIDs()).includes(revoked));
    const often = { everyMs: 20 };
    const began = performance.now();
    const isOut = async () => !(await issuer.keyIDs()).includes(revoked);
    const published = until('it is taken out', isOut, often).then(() => performance.now() - began);
    const isGone = async () => !(await servedKeyIDs()).includes(revoked);
    const served = timeUntil('it is not served', isGone, often);
    await issuer.revoke(revoked);
    expect((await served) - (await published)).toBeLessThan(1_000);
    const isSame = async () => isDeepStrictEqual(await servedKeyIDs(), await issuer.keyIDs());
    await until('the key set is served as it was published last', isSame);
  });
});
