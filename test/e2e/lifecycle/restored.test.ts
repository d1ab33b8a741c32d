import { describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { type Applied, Kubectl } from '../../../lab/operator/kubectl.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations, apiVersion } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';

const world = await operatorWorld();
const { admin } = world;
const verifier = new Verifier(admin);
const kubectl = new Kubectl(world, world.plane.adminKubeconfig);

const life = { user: 'alice', ttl: 3_600 };
const supplied = (): string => `supplied-${world.name('key')}`;

/** As a backup tool restores it: without its status and what the API server gives to every object. */
const fromBackup = ({ kind = '', metadata: { name, annotations: kept, labels, finalizers }, spec }: Stored) =>
  ({ apiVersion, kind, metadata: { name, annotations: kept, labels, finalizers }, spec }) as Applied;

async function remove(saved: Stored): Promise<void> {
  await admin.delete(saved);
  await admin.untilGone(saved);
}

async function restore(saved: Stored): Promise<Stored> {
  await kubectl.send('create', fromBackup(saved));
  return await admin.untilRefused(saved, reasons.restoredCredential);
}

/** The command that the message of the refusal names. */
async function revive(refused: Stored): Promise<void> {
  const [command = ''] = /kubectl annotate \S+ \S+/.exec(conditionOf(refused)?.message ?? '') ?? [];
  await kubectl.ok(command.split(' ').slice(1));
  await admin.untilReady(refused);
}

describe('a key that was deleted does not live again by a restore, until someone says so', () => {
  it('when the operator generated it', async () => {
    const saved = await admin.untilReady(await admin.createKey(life));
    await remove(saved);
    const refused = await restore(saved);
    expect(refused.status).not.toHaveProperty('credentialHash');
    expect(await verifier.presented(saved.spec.key)).toBe('Unknown');
    await revive(refused);
    expect(await verifier.presented(saved.spec.key)).toBe('live');
  });

  it('when somebody supplied it, as it is or by its hash', async () => {
    for (const form of [(key: string) => key, (key: string) => `sha256:${credentialHash(key)}`]) {
      const key = supplied();
      const saved = await admin.untilReady(await admin.createKey({ ...life, key: form(key) }));
      await remove(saved);
      const refused = await restore(saved);
      expect(await verifier.presented(key)).toBe('Unknown');
      await revive(refused);
      expect(await verifier.presented(key)).toBe('live');
    }
  });

  it('when it had ended before: its life does not begin again', async () => {
    const key = supplied();
    const made = await admin.createKey({ ...life, ttl: 1, key });
    const saved = await admin.untilRefused(made, reasons.expired);
    await remove(saved);
    await restore(saved);
    expect(await verifier.presented(key)).toBe('Unknown');
  });

  it('when the tool restores the status too, and when the same backup is applied once more', async () => {
    const key = supplied();
    const saved = await admin.untilReady(await admin.createKey({ ...life, key }));
    await remove(saved);
    const again = await restore(saved);
    const whole = { ...again, status: saved.status };
    const replaced = await kubectl.trySend('replace', whole as Applied, '--subresource=status');
    expect(replaced.exitCode).toBe(1);
    expect(replaced.stderr).toContain('ERR_POLICY_OPERATOR_ONLY');
    for (const flags of [[], ['--server-side', '--force-conflicts']])
      await kubectl.send('apply', fromBackup(saved), ...flags);
    const after = await admin.get(again);
    expect(after.metadata.annotations?.[annotations.origin]).toBe('restored');
    expect(conditionOf(after)?.reason).toBe(reasons.restoredCredential);
    expect(await verifier.presented(key)).toBe('Unknown');
  });
});

describe('a key that comes from Git', () => {
  const ways = [
    ['server-side', ['apply', '--server-side', '--field-manager=argocd-controller', '--force-conflicts']],
    ['client-side', ['apply']],
  ] as const;

  it.each(ways)(
    'works again by itself when it is applied once more, %s, though it was deleted',
    async (_, [verb, ...flags]) => {
      const key = supplied();
      const spec = { ...life, key: `sha256:${credentialHash(key)}` };
      const inGit: Applied = {
        apiVersion,
        kind: 'OwnedAccessKey',
        metadata: { name: world.name('git') },
        spec,
      };
      for (const _sync of ['first', 'after it was deleted']) {
        await kubectl.send(verb, inGit, ...flags);
        const ready = await admin.untilReady(inGit);
        await kubectl.send(verb, inGit, ...flags);
        expect((await admin.get(inGit)).metadata.resourceVersion).toBe(ready.metadata.resourceVersion);
        expect(await verifier.presented(key)).toBe('live');
        await remove(ready);
      }
    },
  );

  it('works when a sync with Replace=true puts it in the place of what was restored', async () => {
    const key = supplied();
    const saved = await admin.untilReady(await admin.createKey({ ...life, key }));
    await remove(saved);
    const { name } = (await restore(saved)).metadata;
    const inGit: Applied = { apiVersion, kind: 'OwnedAccessKey', metadata: { name }, spec: saved.spec };
    await kubectl.send('replace', inGit);
    await admin.untilReady(inGit);
    expect(await verifier.presented(key)).toBe('live');
    // Its mark is there again, or the next backup would say nothing.
    await kubectl.send('replace', inGit);
    expect((await admin.get(inGit)).metadata.annotations?.[annotations.origin]).toBe('created');
  });
});

describe('a restored object gets a key that no one had', () => {
  it('when its own is taken out', async () => {
    const saved = await admin.untilReady(await admin.createKey(life));
    await remove(saved);
    const again = await restore(saved);
    await admin.patch(again, { spec: { key: null } });
    const ready = await admin.untilReady(again);
    expect(ready.spec.key).not.toBe(saved.spec.key);
    expect(ready.metadata.annotations?.[annotations.origin]).toBe('created');
    expect(await verifier.presented(saved.spec.key)).toBe('Unknown');
  });

  it('when the backup left it out', async () => {
    const saved = await admin.untilReady(await admin.createKey(life));
    await remove(saved);
    await kubectl.send('create', fromBackup({ ...saved, spec: life }));
    const ready = await admin.untilReady(saved);
    expect(ready.spec.key).not.toBe(saved.spec.key);
  });
});
