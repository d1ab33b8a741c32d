import { beforeAll, describe, expect, it } from 'vitest';
import { type Stored, secondsAfter } from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { Issuer } from '../../e2e/lifecycle/issuer.ts';

const world = await operatorWorld({ env: { LATCHKEY_ROTATION_OVERLAP: '4s' } });
const { admin } = world;
const issuer = new Issuer(admin);
const verifier = new Verifier(admin);

let renewed: Stored;
let unrenewed: Stored;

beforeAll(async () => {
  const accessKey = (await admin.createKey()).metadata.name;
  [renewed, unrenewed] = await Promise.all([
    admin.createToken({ accessKey, ttl: 60, renewBefore: 59 }),
    admin.createToken({ accessKey, ttl: 60 }),
  ]);
});

describe.concurrent('a token of 60 seconds', () => {
  it('is renewed at half of its life at the earliest, with overlap', async () => {
    const first = await admin.untilReady(renewed);
    const issuedAt = new Date(first.status.issuedAt).getTime();
    const isSecond = ({ status }: Stored) => status.serial === 2;
    const second = await admin.until(renewed, 'a successor', isSecond, { timeoutMs: 120_000 });
    const renewedAt = new Date(second.status.issuedAt).getTime();
    expect(renewedAt - issuedAt).toBeGreaterThanOrEqual(29_000);
    expect(renewedAt - issuedAt).toBeLessThan(45_000);
    expect(await verifier.presented(first.status.token)).toBe('live');
    expect(await verifier.presented(second.status.token)).toBe('live');
    const { iat = 0, exp } = await issuer.verify(second.status.token);
    expect(exp).toBe(iat + 60);
    await admin.until(renewed, 'no predecessor', ({ status }) => status.previous === undefined);
    expect(await verifier.presented(first.status.token)).toBe('Unknown');
  });

  it('without renewal warns once and ends', async () => {
    const { token, notAfter } = (await admin.untilReady(unrenewed)).status;
    const end = new Date(notAfter).getTime();
    const soon = { type: 'ExpiringSoon', status: 'True' } as const;
    await admin.untilCondition(unrenewed, soon, { timeoutMs: 120_000 });
    expect(end - Date.now()).toBeLessThanOrEqual(12_000);
    const refused = await admin.untilRefused(unrenewed, reasons.expired, { timeoutMs: 90_000 });
    expect(Date.now()).toBeGreaterThanOrEqual(end);
    expect(secondsAfter(end, refused)).toBe(0);
    expect(await verifier.presented(token)).toBe('Unknown');
    expect((await admin.get(unrenewed)).status.token).toBeUndefined();
    await admin.untilEvent(unrenewed, reasons.expired);
    const warnings = (await admin.eventsOf(unrenewed)).filter(
      ({ reason }) => reason === reasons.expiringSoon,
    );
    expect(warnings.map(({ type, series }) => [type, series?.count])).toEqual([['Warning', undefined]]);
  });
});
