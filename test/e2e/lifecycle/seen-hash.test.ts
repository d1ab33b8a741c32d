import { beforeAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { hashForm } from './hash-form.ts';

/** The hash of a key stands in Git, and somebody who reads it there puts it into a key of their own. */
const world = await operatorWorld();
const { admin } = world;
const verifier = new Verifier(admin);
const supplied = (): string => `supplied-${world.name('key')}`;

const readyKey = async (user: string, key: string): Promise<Stored> =>
  await admin.untilReady(await admin.createKey({ user, key }));
const again = async (object: Stored): Promise<void> => {
  await admin.patch(object, { spec: { description: world.name('again') } });
};

describe('an older key that is changed to a hash that its owner has seen', () => {
  let key: string;
  let older: Stored;
  let victim: Stored;

  beforeAll(async () => {
    key = supplied();
    older = await readyKey('mallory', supplied());
    victim = await readyKey('alice', hashForm(key));
    await admin.patch(older, { spec: { key: hashForm(key) } });
    await admin.untilRefused(older, reasons.duplicateKey);
  });

  const expectVictimKeeps = async (): Promise<void> => {
    const { status } = await admin.untilReady(victim);
    expect(status.serial).toBe(1);
    expect(await verifier.of(victim)).toBe('live');
    expect(await verifier.of(older)).not.toBe('live');
    expect(await verifier.presented(key)).toBe('live');
  };

  it('gets nothing, and the key stays with the first that was confirmed', expectVictimKeeps);

  it('gets nothing when the operator restarts and reads the older object first', async () => {
    await world.operator.end();
    await world.startOperator();
    await Promise.all([again(older), again(victim)]);
    await admin.untilRefused(older, reasons.duplicateKey);
    await expectVictimKeeps();
  });

  it('gets nothing while the victim is turned off and on again', async () => {
    await admin.patch(victim, { spec: { disabled: true } });
    await admin.untilRefused(victim, reasons.disabled);
    await again(older);
    await admin.untilRefused(older, reasons.duplicateKey);
    await admin.patch(victim, { spec: { disabled: false } });
    await expectVictimKeeps();
  });

  it('does not keep the victim out that changes to another key and back', async () => {
    const another = supplied();
    await admin.patch(victim, { spec: { key: hashForm(another) } });
    await admin.untilReady(victim);
    expect(await verifier.presented(another)).toBe('live');
    await again(older);
    await admin.untilRefused(older, reasons.duplicateKey);
    expect(await verifier.presented(key)).toBe('Unknown');
    await admin.patch(victim, { spec: { key: hashForm(key) } });
    await admin.untilReady(victim);
    expect(await verifier.presented(key)).toBe('live');
  });

  it('does not keep the victim out that is deleted and created again, as a replacement by Argo CD does', async () => {
    await admin.delete(victim);
    await admin.untilGone(victim);
    await again(older);
    await admin.untilRefused(older, reasons.duplicateKey);
    victim = await readyKey('alice', hashForm(key));
    await again(older);
    await admin.untilRefused(older, reasons.duplicateKey);
    await expectVictimKeeps();
  });
});

describe('an older key that is changed to a hash before the operator has seen the victim', () => {
  it('takes nothing over, and neither of them gets the key', async () => {
    const key = supplied();
    const older = await readyKey('mallory', supplied());
    await world.operator.end();
    const victim = await admin.createKey({ user: 'alice', key: hashForm(key) });
    await admin.patch(older, { spec: { key: hashForm(key) } });
    await world.startOperator();
    await admin.untilRefused(older, reasons.duplicateKey);
    await admin.untilRefused(victim, reasons.duplicateKey);
    expect(await verifier.presented(key)).toBe('Unknown');

    const another = supplied();
    await admin.patch(victim, { spec: { key: hashForm(another) } });
    await admin.untilReady(victim);
    expect(await verifier.presented(another)).toBe('live');
    await again(older);
    await admin.untilRefused(older, reasons.duplicateKey);
    expect(await verifier.presented(key)).toBe('Unknown');
  });
});
