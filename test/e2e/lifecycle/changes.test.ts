import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../../lab/operator/api.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { accessKeyBytes, generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { Issuer } from './issuer.ts';

const world = await operatorWorld();
const { admin } = world;
const issuer = new Issuer(admin);
const verifier = new Verifier(admin);
const supplied = (): string => `supplied-${world.name('key')}`;

describe('an access key whose source changes', () => {
  it('from generated to supplied ends the generated one', async () => {
    const key = await admin.untilReady(await admin.createKey());
    const second = supplied();
    await admin.patch(key, { spec: { key: second } });
    expect(await verifier.presented(key.spec.key)).not.toBe('live');
    const { status } = await admin.untilReady(key);
    expect(status).toMatchObject({ keySource: 'Plain', serial: 2 });
    expect(await verifier.presented(key.spec.key)).toBe('Unknown');
    expect(await verifier.presented(second)).toBe('live');
  });

  it('is refused with a mistyped key until that is put right', async () => {
    const right = generateAccessKey(crypto.getRandomValues(new Uint8Array(accessKeyBytes)));
    const wrong = right.slice(0, -1) + (right.endsWith('0') ? '1' : '0');
    const key = await admin.createKey({ user: 'alice', key: wrong });
    const { status } = await admin.untilRefused(key, reasons.malformedKey);
    expect(status).not.toHaveProperty('credentialHash');
    const { type, note } = await admin.untilEvent(key, reasons.malformedKey);
    expect([type, conditionOf(await admin.get(key))?.message]).toEqual(['Warning', note]);
    expect(note).toMatch(
      /^spec\.key is not usable: .* A key that begins with lk_ must be whole, .*: copy it again, or leave spec\.key out/,
    );
    expect(note).not.toContain(wrong);
    expect(await verifier.presented(wrong)).toBe('Unknown');
    await admin.patch(key, { spec: { key: right } });
    await admin.untilReady(key);
    expect(await verifier.presented(right)).toBe('live');
  });
});

describe('a changed spec', () => {
  const clusters = (...names: string[]) => ({ clusters: names.map((cluster) => ({ cluster })) });

  it('of an access key is confirmed, and the key stays', async () => {
    const key = await admin.untilReady(await admin.createKey());
    await admin.patch(key, { spec: { scope: clusters('one') } });
    const { status } = await admin.untilReady(key);
    expect(status).toMatchObject({ serial: 1, credentialHash: key.status.credentialHash });
    expect(status.fingerprint).not.toBe(key.status.fingerprint);
    await admin.untilEvent(key, reasons.confirmed);
    expect(await verifier.presented(key.spec.key)).toBe('live');
  });

  it('of a token gives a new one, and ends the one before', async () => {
    const token = await admin.untilReady(await admin.createToken());
    await admin.patch(token, { spec: { scope: clusters('one') } });
    expect(await verifier.presented(token.status.token)).not.toBe('live');
    const { status } = await admin.until(token, 'a successor', (now) => now.status.serial === 2);
    expect((await issuer.verify(status.token, `${baseURL}/cluster/one`)).jti).toMatch(/\.2\.[\w-]{22}$/);
    expect(await verifier.presented(token.status.token)).toBe('Unknown');
    expect(status).not.toHaveProperty('previous');
    await admin.untilEvent(token, reasons.confirmed);
  });

  it('that only describes an access key is seen, and changes nothing', async () => {
    const before = await admin.untilReady(await admin.createKey());
    await admin.patch(before, { spec: { displayName: 'Another', description: 'For people' } });
    const { status } = await admin.untilReady(before);
    const { conditions: _now, observedGeneration, ...present } = status;
    const { conditions: _then, observedGeneration: former, ...past } = before.status;
    expect(present).toEqual(past);
    expect(observedGeneration).toBe(former + 1);
  });

  it('that shortens the life of a token acts at once, and lengthening it gives a successor', async () => {
    const { metadata } = await admin.untilReady(await admin.createKey());
    const token = await admin.untilReady(await admin.createToken({ ttl: 3600, accessKey: metadata.name }));
    await admin.patch(token, { spec: { ttl: 600 } });
    const shorter = await admin.until(token, 'a successor', ({ status }) => status.serial === 2);
    const claims = await issuer.verify(shorter.status.token);
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600);
    expect(await verifier.presented(token.status.token)).toBe('Unknown');

    await admin.patch(token, { spec: { ttl: 7200 } });
    const longer = await admin.until(token, 'another successor', ({ status }) => status.serial === 3);
    expect((await issuer.verify(longer.status.token)).exp).toBe((claims.iat ?? 0) + 7200);
    expect(await verifier.presented(shorter.status.token)).toBe('live');
  });

  it('that is taken back gives the former token no life', async () => {
    const token = await admin.untilReady(await admin.createToken());
    await admin.patch(token, { spec: { scope: clusters('one') } });
    await admin.until(token, 'a successor', ({ status }) => status.serial === 2);
    await admin.patch(token, { spec: { scope: null } });
    await admin.until(token, 'another successor', ({ status }) => status.serial === 3);
    const back = await admin.untilReady(token);
    expect(back.status.fingerprint).toBe(token.status.fingerprint);
    expect(await verifier.presented(token.status.token)).toBe('Unknown');
    expect(await verifier.presented(back.status.token)).toBe('live');
  });
});
