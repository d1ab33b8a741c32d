import { beforeAll, describe, expect, it } from 'vitest';
import { conditionOf, entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { hashForm } from './hash-form.ts';

const world = await operatorWorld({ operator: false });
const { admin } = world;
const verifier = new Verifier(admin);
const supplied = (): string => `supplied-${world.name('key')}`;
const createWith = async (key: string): Promise<Stored> => await admin.createKey({ user: 'alice', key });

describe('keys that claim the same credential before any operator saw one of them', () => {
  const key = supplied();
  let claims: readonly Stored[];

  beforeAll(async () => {
    claims = [await createWith(key), await createWith(hashForm(key)), await createWith(key)];
    await world.startOperator();
  });

  it('are all refused', async () => {
    for (const claim of claims) {
      const { status } = await admin.untilRefused(claim, reasons.duplicateKey);
      expect(status).not.toHaveProperty('credentialHash');
      expect(conditionOf(await admin.get(claim))?.message).toContain('set another spec.key');
    }
    expect(await verifier.presented(key)).toBe('Unknown');
  });

  it('stay refused when one of them takes another key, and that one works', async () => {
    const [first, ...others] = claims;
    if (first === undefined) throw new TypeError('no claims');
    const another = supplied();
    await admin.patch(first, { spec: { key: another } });
    await admin.untilReady(first);
    expect(await verifier.presented(another)).toBe('live');
    for (const claim of others) await lookAgain(claim, reasons.duplicateKey);
    expect(await verifier.presented(key)).toBe('Unknown');
  });

  it('stay refused when only one of them is left', async () => {
    const [last, ...others] = claims.toReversed();
    if (last === undefined) throw new TypeError('no claims');
    for (const claim of others) {
      await admin.delete(claim);
      await admin.untilGone(claim);
    }
    await lookAgain(last, reasons.duplicateKey);
    expect(await verifier.presented(key)).toBe('Unknown');
  });
});

describe('a later claim to a credential', () => {
  it.each([
    ['in plain', (key: string) => key],
    ['as its hash', hashForm],
  ])('%s is refused for good, even when the first has gone', async (_form, stored) => {
    const key = supplied();
    const owner = await admin.untilReady(await createWith(key));

    const claim = await createWith(stored(key));

    await admin.untilRefused(claim, reasons.duplicateKey);
    expect(await admin.untilEvent(claim, reasons.duplicateKey)).toMatchObject({
      type: 'Warning',
      note: 'Another credential has the same key: set another spec.key here.',
    });
    await admin.untilReady(owner);
    expect((await admin.get(owner)).status).toEqual(owner.status);
    expect(await verifier.of(owner)).toBe('live');
    expect(await verifier.of(claim)).not.toBe('live');

    await admin.delete(owner);
    await admin.untilGone(owner);
    await lookAgain(claim, reasons.duplicateKey);
    expect(await verifier.presented(key)).toBe('Unknown');

    const another = supplied();
    await admin.patch(claim, { spec: { key: another } });
    await admin.untilReady(claim);
    expect(await verifier.presented(another)).toBe('live');
  });

  it('by an older object that changes its key is refused, and its own credential has ended', async () => {
    const [before, key] = [supplied(), supplied()];
    const older = await admin.untilReady(await createWith(before));
    const owner = await admin.untilReady(await createWith(key));

    await admin.patch(older, { spec: { key } });

    await admin.untilRefused(older, reasons.duplicateKey);
    expect(await verifier.presented(before)).toBe('Unknown');
    expect(await verifier.of(owner)).toBe('live');
    expect(await verifier.of(older)).not.toBe('live');

    await admin.patch(older, { spec: { key: before } });
    await admin.untilReady(older);
    expect(await verifier.presented(before)).toBe('live');
  });

  it('to a key that was generated, or that is in a Secret, is refused as well', async () => {
    const place = { namespace: 'default', name: world.name('secret') };
    const generated = await admin.untilReady(await admin.createKey());
    const hidden = await admin.untilReady(await admin.createKey({ user: 'alice', secretRef: place }));
    const inSecret = entryOf(await admin.get(secretAt(place.namespace, place.name)), 'key');
    for (const key of [generated.spec.key, inSecret]) {
      await admin.untilRefused(await createWith(key), reasons.duplicateKey);
      expect(await verifier.presented(key)).toBe('live');
    }
    for (const owner of [generated, hidden]) expect((await admin.untilReady(owner)).status.serial).toBe(1);
  });

  it('to a token or its predecessor is refused as well', async () => {
    const parent = await admin.untilReady(await admin.createKey());
    const accessKey = parent.metadata.name;
    const token = await admin.untilReady(await admin.createToken({ accessKey, ttl: 120 }));
    await admin.untilRefused(await createWith(hashForm(token.status.token)), reasons.duplicateKey);
    await admin.patch(token, { spec: { ttl: 240 } });
    const renewed = await admin.until(token, 'renewed', ({ status }) => status.previous !== undefined);
    for (const bearer of [token.status.token, renewed.status.token])
      await admin.untilRefused(await createWith(hashForm(bearer)), reasons.duplicateKey);
    expect(await verifier.presented(renewed.status.token)).toBe('live');
  });

  it('is never granted beside the first, however close they come', async () => {
    const pairs = Array.from({ length: 12 }, async () => {
      const key = supplied();
      const claims = await Promise.all([createWith(key), createWith(hashForm(key))]);
      const judged = await Promise.all(
        claims.map((claim) => admin.until(claim, 'judged', ({ status }) => status.observedGeneration === 1)),
      );
      return judged.map((claim) => conditionOf(claim)?.reason);
    });
    for (const [one, other] of await Promise.all(pairs)) {
      expect([one, other]).toContain(reasons.duplicateKey);
      expect([reasons.issued, reasons.duplicateKey]).toEqual(expect.arrayContaining([one, other]));
    }
  });
});

/** Changes something that does not matter, so that the operator looks again, and waits for the same verdict. */
async function lookAgain(object: Stored, reason: string): Promise<void> {
  await admin.patch(object, { spec: { description: world.name('again') } });
  await admin.untilRefused(object, reason);
}
