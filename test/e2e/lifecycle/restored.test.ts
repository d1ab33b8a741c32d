import { expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';

const world = await operatorWorld();
const { admin } = world;
const verifier = new Verifier(admin);

/** As a backup tool does it: with name, labels, annotations and spec of an object that was deleted since. */
async function restored(saved: Stored): Promise<Stored> {
  await admin.delete(saved);
  await admin.untilGone(saved);
  const { name, annotations: kept = {}, labels = {} } = saved.metadata;
  return await admin.create(ownedAccessKeys, saved.spec, { name, annotations: kept, ...{ labels } });
}

const generated = async (): Promise<Stored> =>
  await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 3_600 }));

it('a generated key that was deleted does not live again by a restore, until someone says so', async () => {
  const saved = await generated();
  const { key } = saved.spec;
  const again = await restored(saved);
  const refused = await admin.untilRefused(again, reasons.restoredCredential);
  expect(refused.status).not.toHaveProperty('credentialHash');
  expect(await verifier.presented(key)).toBe('Unknown');

  const [command = ''] = /kubectl annotate \S+ \S+/.exec(conditionOf(refused)?.message ?? '') ?? [];
  const { stderr, exitCode } = await world.plane.kubectl(command.split(' ').slice(1));
  expect(exitCode, stderr).toBe(0);
  await admin.untilReady(again);
  expect(await verifier.presented(key)).toBe('live');
});

it('a restored object gets another key when its own is taken out', async () => {
  const saved = await generated();
  const again = await restored(saved);
  await admin.untilRefused(again, reasons.restoredCredential);
  await admin.patch(again, { spec: { key: null } });
  const ready = await admin.untilReady(again);
  expect(ready.spec.key).not.toBe(saved.spec.key);
  expect(ready.metadata.annotations?.[annotations.generatedFor]).toContain(`${ready.metadata.uid}/`);
  expect(await verifier.presented(saved.spec.key)).toBe('Unknown');
});

it('a key that was supplied works again when it is restored, as it does when Git applies it again', async () => {
  const key = `supplied-${world.name('key')}`;
  const saved = await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 3_600, key }));
  await admin.untilReady(await restored(saved));
  expect(await verifier.presented(key)).toBe('live');
});
