import { describe, expect, it } from 'vitest';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { hashForm } from './hash-form.ts';
import { Issuer } from './issuer.ts';

/** Longer than an operator on a busy machine takes from the key to the successor, or there would be no predecessor to see. */
const overlapMs = 20_000;
const patiently = { timeoutMs: 120_000 };
const world = await operatorWorld({ env: { LATCHKEY_ROTATION_OVERLAP: `${overlapMs / 1000}s` } });
const { admin } = world;
const issuer = new Issuer(admin);
const verifier = new Verifier(admin);

describe.concurrent('a renewal that becomes due because the life of the access key was extended', () => {
  it('leaves the predecessor valid for the overlap, in status and in the Secret the successor', async () => {
    const parent = await admin.createKey({ user: 'alice', ttl: 30 });
    const place = { namespace: 'default', name: world.name('token') };
    const spec = { accessKey: parent.metadata.name, ttl: 120, renewBefore: 40, secretRef: place };
    const first = await admin.untilReady(await admin.createToken(spec));
    const read = async () => entryOf(await admin.get(secretAt(place.namespace, place.name)), 'token');
    const predecessor = await read();
    expect(await verifier.presented(predecessor)).toBe('live');

    const asked = Date.now();
    await admin.patch(parent, { spec: { ttl: 3600 } });

    const second = await admin.until(first, 'a successor', ({ status }) => status.serial === 2);
    const successor = await read();
    expect(successor).not.toBe(predecessor);
    expect((await issuer.verify(successor)).jti).toMatch(new RegExp(`^${first.metadata.uid}\\.2\\.`));
    const { previous } = second.status;
    expect(previous).toMatchObject({ serial: 1, credentialHash: first.status.credentialHash });
    const goodUntil = new Date(previous.expirationTimestamp).getTime();
    expect(goodUntil).toBeLessThanOrEqual(Date.now() + overlapMs);
    expect(goodUntil).toBeGreaterThanOrEqual(asked + overlapMs);
    expect(await verifier.presented(predecessor)).toBe('live');
    expect(await verifier.presented(successor)).toBe('live');
    const { note } = await admin.untilEvent(first, reasons.renewed);
    const secret = secretAt(place.namespace, place.name);
    const aboutSecret = await admin.untilEvent({ ...secret, ...(await admin.get(secret)) }, reasons.renewed);
    expect(aboutSecret.note).toBe(note);
    expect(note).toBe('The credential with serial 2 was issued, because the one before was due for renewal.');

    await admin.until(first, 'no predecessor', ({ status }) => status.previous === undefined, patiently);
    expect(Date.now()).toBeGreaterThanOrEqual(goodUntil);
    expect(await verifier.presented(predecessor)).toBe('Unknown');
    expect(await verifier.presented(successor)).toBe('live');
    expect((await admin.get(first)).status.serial).toBe(2);
  });

  it('never lets the predecessor live longer than to its own end', async () => {
    // No more than the overlap, so that its own end comes first.
    const parent = await admin.createKey({ user: 'alice', ttl: overlapMs / 1_000 });
    const accessKey = parent.metadata.name;
    const token = await admin.untilReady(await admin.createToken({ accessKey, ttl: 120, renewBefore: 40 }));
    await admin.patch(parent, { spec: { ttl: 3600 } });
    const { status } = await admin.until(token, 'a successor', (now) => now.status.serial === 2);
    expect(status.previous.expirationTimestamp).toBe(token.status.notAfter);
    await admin.until(token, 'no predecessor', (now) => now.status.previous === undefined, patiently);
    expect(await verifier.presented(token.status.token)).toBe('Unknown');
  });

  it('ends the predecessor at once when the access key is deleted', async () => {
    const parent = await admin.createKey({ user: 'alice', ttl: 30 });
    const accessKey = parent.metadata.name;
    const token = await admin.untilReady(await admin.createToken({ accessKey, ttl: 120, renewBefore: 40 }));
    await admin.patch(parent, { spec: { ttl: 3600 } });
    await admin.until(token, 'a predecessor', ({ status }) => status.previous !== undefined);

    await admin.delete(parent);

    expect(await verifier.presented(token.status.token)).not.toBe('live');
    const { status } = await admin.untilRefused(token, reasons.accessKeyGone);
    expect(status).not.toHaveProperty('previous');
    expect(status).not.toHaveProperty('token');
  });
});

describe.concurrent('a rotation on demand', () => {
  it('of a token ends the predecessor at once, and happens once for each value', async () => {
    const token = await admin.untilReady(await admin.createToken());
    await rotate(token, 'one');
    const second = await admin.until(token, 'a successor', ({ status }) => status.serial === 2);
    await admin.untilEvent(token, reasons.rotated);
    expect(second.status.previous).toBeUndefined();
    expect(await verifier.presented(token.status.token)).toBe('Unknown');
    expect(await verifier.presented(second.status.token)).toBe('live');

    await admin.patch(token, {
      metadata: { labels: { touched: 'true' }, annotations: { [rotateAnnotation]: 'one' } },
    });
    await rotate(token, null);
    await rotate(token, 'two');
    const third = await admin.until(token, 'the last one', ({ status }) => status.observedRotation === 'two');
    expect(third.status.serial).toBe(3);
    expect(await verifier.presented(second.status.token)).toBe('Unknown');
  });

  it('of a generated key replaces spec.key, once for each value', async () => {
    const key = await admin.untilReady(await admin.createKey());
    expect(key.status.keySource).toBe('Generated');
    await rotate(key, 'now');
    const second = await admin.until(key, 'a successor', ({ status }) => status.serial === 2);
    await admin.untilEvent(key, reasons.rotated);
    expect(second.spec.key).toMatch(/^lk_[0-9A-Za-z]{49}$/);
    expect(second.spec.key).not.toBe(key.spec.key);
    expect(second.status.keySource).toBe('Generated');
    expect(await verifier.presented(key.spec.key)).toBe('Unknown');
    expect(await verifier.presented(second.spec.key)).toBe('live');

    await rotate(key, 'now');
    await rotate(key, 'later');
    const isLast = ({ status }: Stored) => status.observedRotation === 'later';
    expect((await admin.until(key, 'the last one', isLast)).status.serial).toBe(3);
  });

  it('of a key in a Secret replaces the content of the Secret', async () => {
    const place = { namespace: 'default', name: world.name('key') };
    const key = await admin.untilReady(await admin.createKey({ user: 'alice', secretRef: place }));
    const read = async () => entryOf(await admin.get(secretAt(place.namespace, place.name)), 'key');
    const predecessor = await read();
    expect(await verifier.presented(predecessor)).toBe('live');
    await rotate(key, 'now');
    await admin.until(key, 'a successor', ({ status }) => status.serial === 2);
    expect(await verifier.presented(predecessor)).toBe('Unknown');
    expect(await verifier.presented(await read())).toBe('live');
    expect((await admin.get(key)).spec.key).toBeUndefined();
  });

  it.each([
    ['plain', (key: string) => key],
    ['as a hash', hashForm],
  ])('of a key that was supplied %s is not possible and changes nothing', async (_form, stored) => {
    const supplied = `supplied-${world.name('key')}`;
    const key = await admin.untilReady(await admin.createKey({ user: 'alice', key: stored(supplied) }));

    await rotate(key, 'now');

    const wanted = { type: 'RotationNotPossible', status: 'True' } as const;
    const { spec, status } = await admin.untilCondition(key, wanted);
    await admin.untilEvent(key, reasons.rotationNotPossible);
    expect(spec).toEqual(key.spec);
    expect(status).toMatchObject({ serial: 1, credentialHash: key.status.credentialHash, active: true });
    await admin.untilReady(key);
    expect(await verifier.presented(supplied)).toBe('live');

    await rotate(key, null);
    await admin.until(key, 'no such condition', (object) => !hasCondition(object, 'RotationNotPossible'));
  });
});

const rotateAnnotation = 'management.platform.sh/rotate';

const rotate = async (object: Stored, value: string | null): Promise<Stored> =>
  await admin.annotate(object, { [rotateAnnotation]: value });

function hasCondition({ status }: Stored, type: string): boolean {
  return status.conditions.some((condition: { type: string }) => condition.type === type);
}
