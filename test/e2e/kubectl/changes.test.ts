import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { Kubectl, placeOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';

const world = await operatorWorld();
const { admin } = world;
const user = await world.user('change-user');
const kubectl = new Kubectl(world, user.kubeconfig);
const verifier = new Verifier(admin);

/** Makes a key, by default with a generated credential, and waits for it. */
const ready = async (spec: object = { user: 'alice' }): Promise<Stored> =>
  await admin.untilReady(await user.api.createKey(spec));

/** Reads the credential, which must be the same after a change that does not concern it. */
const credentialOf = ({ spec, status }: Stored) => ({
  key: spec.key,
  hash: status.credentialHash,
  serial: status.serial,
  source: status.keySource,
});

/** Waits for a new key: once that is ready, what changed before it was made has been seen. */
const untilSeen = async (): Promise<void> => void (await admin.untilReady(await admin.createKey()));

const patch = async (object: Stored, type: string, body: unknown, ...flags: string[]): Promise<string> =>
  await kubectl.ok(['patch', ...placeOf(object), `--type=${type}`, '-p', JSON.stringify(body), ...flags]);

describe('kubectl create', () => {
  it('makes a working key once', async () => {
    const manifest = manifestOf(ownedAccessKeys);
    expect(await kubectl.send('create', manifest)).toMatch(/created$/m);
    await admin.untilReady(manifest);
    const again = await kubectl.trySend('create', manifest);
    expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(AlreadyExists)') });
  });
});

describe('kubectl edit', () => {
  const editor = async (script: string): Promise<{ KUBE_EDITOR: string }> => {
    const file = path.join(world.guard.folder, world.name('editor'));
    await writeFile(file, `#!/bin/sh\n${script}\n`);
    await chmod(file, 0o700);
    return { KUBE_EDITOR: file };
  };

  it('changes the life of a key and leaves its credential', async () => {
    const manifest = { ...manifestOf(ownedAccessKeys), spec: { user: 'alice', ttl: 7_200 } };
    await kubectl.send('apply', manifest);
    const before = await admin.untilReady(manifest);
    const env = await editor(`sed -i 's/^  ttl: 7200$/  ttl: 3600/' "$1"`);
    expect(await kubectl.ok(['edit', ...placeOf(before)], { env })).toMatch(/edited$/m);
    const after = await admin.until(before, 'the new end', ({ status }) => status.confirmedTTL === 3_600);
    expect(credentialOf(after)).toEqual(credentialOf(before));
    expect(JSON.stringify(after.metadata)).not.toContain(before.spec.key);
    expect(new Date(before.status.notAfter).getTime() - new Date(after.status.notAfter).getTime()).toBe(
      3_600_000,
    );
  });

  it('that removes the generated key gets it back', async () => {
    const before = await ready();
    const env = await editor(
      `sed -i -e '/^  key: /d' -e 's/^  user: alice$/  user: alice\\n  description: edited/' "$1"`,
    );
    await kubectl.ok(['edit', ...placeOf(before)], { env });
    const after = await admin.until(before, 'the description', ({ spec }) => spec.description === 'edited');
    expect(credentialOf(await admin.untilReady(after))).toEqual(credentialOf(before));
  });

  it('that breaks a rule is told which one, and changes nothing', async () => {
    const before = await ready();
    // kubectl opens the file again with the refusal on top; an editor that leaves it as it is ends the command.
    const seen = path.join(world.guard.folder, world.name('seen'));
    const env = await editor(`sed -i 's/^  user: alice$/  user: mallory/' "$1"; cp "$1" ${seen}`);
    // A refused edit is kept in a temporary file, key included: it goes with the folder.
    const { exitCode } = await kubectl.run(['edit', ...placeOf(before)], {
      env: { ...env, TMPDIR: world.guard.folder },
    });
    expect(exitCode).toBe(1);
    expect((await readFile(seen, 'utf8')).replaceAll('\n# ', ' ')).toContain(
      'spec.user, spec.team and spec.subject cannot change; delete the key and create one for the other identity',
    );
    expect((await admin.get(before)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });
});

describe('kubectl replace', () => {
  it('with the manifest of a generated key keeps key, credential and serial', async () => {
    const before = await ready();
    const manifest = { ...manifestOf(ownedAccessKeys), metadata: { name: before.metadata.name } };
    await kubectl.send('replace', { ...manifest, spec: { user: 'alice', description: 'replaced' } });
    const after = await admin.until(before, 'the description', ({ spec }) => spec.description === 'replaced');
    expect(credentialOf(await admin.untilReady(after))).toEqual(credentialOf(before));
    const { finalizers, annotations: kept = {} } = after.metadata;
    expect(finalizers).toEqual(before.metadata.finalizers);
    expect(kept[annotations.requester]).toBe('change-user');
    expect(await verifier.presented(before.spec.key)).toBe('live');
  });

  it('without identity keeps the user that the key speaks for', async () => {
    const before = await ready();
    await kubectl.send('replace', {
      ...manifestOf(ownedAccessKeys, {}),
      metadata: { name: before.metadata.name },
    });
    expect((await admin.untilReady(before)).spec).toEqual(before.spec);
  });

  it('that drops a supplied key ends it', async () => {
    const supplied = 'supplied-key-of-more-than-twenty-characters';
    const before = await ready({ user: 'alice', key: supplied });
    await kubectl.send('replace', {
      ...manifestOf(ownedAccessKeys),
      metadata: { name: before.metadata.name },
    });
    const after = await admin.until(before, 'another credential', ({ status }) => status.serial === 2);
    expect(await verifier.presented(supplied)).toBe('Unknown');
    expect(await verifier.presented((await admin.untilReady(after)).spec.key)).toBe('live');
  });

  it('--force makes another object, and the key of the first is dead', async () => {
    const before = await ready();
    const manifest = { ...manifestOf(ownedAccessKeys), metadata: { name: before.metadata.name } };
    await kubectl.send('replace', manifest, '--force');
    const after = await admin.untilReady(before);
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect(after.status.serial).toBe(1);
    expect(await verifier.presented(before.spec.key)).toBe('Unknown');
    expect(await verifier.presented(after.spec.key)).toBe('live');
  });
});

describe('kubectl patch', () => {
  it('--type=merge with null drops a generated key as little as replace does', async () => {
    const before = await ready();
    await patch(before, 'merge', { spec: { key: null, description: 'patched' } });
    const after = await admin.until(before, 'the description', ({ spec }) => spec.description === 'patched');
    expect(credentialOf(await admin.untilReady(after))).toEqual(credentialOf(before));
  });
});

describe('kubectl label, annotate and patch --type=json', () => {
  it('of metadata change nothing about the credential', async () => {
    const before = await ready();
    await kubectl.ok(['label', ...placeOf(before), 'team=dev']);
    await kubectl.ok(['annotate', ...placeOf(before), 'example.com/note=seen']);
    const path = '/metadata/annotations/example.com~1other';
    await patch(before, 'json', [{ op: 'add', path, value: 'kept' }]);
    await untilSeen();
    const after = await admin.get(before);
    const { labels, annotations: noted } = after.metadata;
    expect({ labels, noted }).toMatchObject({
      labels: { team: 'dev' },
      noted: { 'example.com/note': 'seen', 'example.com/other': 'kept' },
    });
    expect(after.status).toEqual(before.status);
  });
});

describe('kubectl delete', () => {
  it('ends the key and returns when the object is gone', async () => {
    const before = await ready();
    expect(await kubectl.ok(['delete', ...placeOf(before), '--timeout=120s'])).toMatch(/deleted/);
    expect(await admin.find(before)).toBeUndefined();
    expect(await verifier.presented(before.spec.key)).toBe('Unknown');
  });
});
