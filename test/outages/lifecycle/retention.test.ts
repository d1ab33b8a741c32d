import { describe, expect, it } from 'vitest';
import { type Stored, secretAt } from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { labels } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { createAsSelfService } from '../../e2e/lifecycle/self-service.ts';

/** Long enough to be seen expired, and to be given life again, before it is over. */
const retentionMs = 10_000;
const patiently = { timeoutMs: 90_000 };
const world = await operatorWorld({ env: { LATCHKEY_EXPIRED_RETENTION: `${retentionMs}ms` } });
const { admin } = world;
const verifier = new Verifier(admin);

describe.concurrent('after the end of its life', () => {
  it('a key of type Login is deleted when the retention is over', async () => {
    const key = await admin.createKey({ user: 'alice', ttl: 3, type: 'Login' });
    const { metadata } = await admin.untilRefused(key, reasons.expired, patiently);
    expect(metadata.deletionTimestamp).toBeUndefined();
    await admin.untilGone(key, patiently);
    expect(late(key, 3)).toBeGreaterThanOrEqual(0);
  });

  it('a key that the self-service group made is deleted too', async () => {
    const key = await createAsSelfService(world, 'OwnedAccessKey', { user: 'alice', ttl: 3 });
    expect(key.metadata.labels?.[labels.ephemeral]).toBe('true');
    await admin.untilRefused(key, reasons.expired, patiently);
    await admin.untilGone(key, patiently);
    expect(late(key, 3)).toBeGreaterThanOrEqual(0);
  });

  it('a token that the self-service group made goes with its Secret', async () => {
    const parent = await admin.createKey({ user: 'alice', ttl: 8 });
    const place = { namespace: 'default', name: world.name('token') };
    const spec = { accessKey: parent.metadata.name, secretRef: place };
    const token = await admin.untilReady(
      await createAsSelfService(world, 'DirectClusterEndpointToken', spec),
    );
    await admin.untilRefused(token, reasons.expired, patiently);
    await admin.untilGone(secretAt(place.namespace, place.name), patiently);
    await admin.untilGone(token, patiently);
    expect(late(parent, 8)).toBeGreaterThanOrEqual(0);
  });

  it('a declared key stays, expired, and so does a declared token', async () => {
    const key = await admin.createKey({ user: 'alice', ttl: 6, type: 'User' });
    const token = await admin.createToken({ accessKey: key.metadata.name });
    await admin.untilRefused(key, reasons.expired, patiently);
    await admin.untilRefused(token, reasons.expired, patiently);
    await admin.until(key, 'twice the retention', () => late(key, 6) > retentionMs, patiently);
    for (const object of [key, token]) {
      const { metadata, status } = await admin.get(object);
      expect(metadata).not.toHaveProperty('deletionTimestamp');
      expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Stalled', status: 'True' }));
      expect(await verifier.of(object)).not.toBe('live');
    }
  });

  it('a key of type Login that got life again in time stays', async () => {
    const key = await admin.createKey({ user: 'alice', ttl: 3, type: 'Login' });
    await admin.untilRefused(key, reasons.expired, patiently);
    await admin.patch(key, { spec: { ttl: 3600 } });
    await admin.untilReady(key);
    await admin.until(key, 'twice the retention', () => late(key, 3) > retentionMs, patiently);
    await admin.untilReady(key);
  });
});

/** Milliseconds since the retention was over. */
function late({ metadata }: Stored, ttl: number): number {
  return Date.now() - new Date(metadata.creationTimestamp).getTime() - ttl * 1000 - retentionMs;
}
