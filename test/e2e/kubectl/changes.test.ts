import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { kubectlOf, placeOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';

const world = await operatorWorld();
const { admin } = world;
const kubectl = await kubectlOf(world, 'change-user');
const verifier = new Verifier(admin);

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Makes a key with a generated credential and waits for it. */
const applied = async (spec: object = { user: 'alice' }): Promise<Stored> => {
  const manifest = manifestOf(ownedAccessKeys, spec);
  await kubectl.send('apply', manifest);
  return await admin.untilReady(manifest);
};

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

  it('with --save-config leaves no key in the annotation', async () => {
    const key = 'my-own-key-of-forty-characters-or-so-yes';
    const manifest = manifestOf(ownedAccessKeys, { user: 'alice', key });
    await kubectl.send('create', manifest, '--save-config');
    const { metadata, spec } = await admin.untilReady(manifest);
    expect(spec.key).toBe(key);
    expect(metadata.annotations?.[lastApplied]).toContain('redacted');
    expect(JSON.stringify(metadata)).not.toContain(key);
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
    const before = await applied({ user: 'alice', ttl: 7_200 });
    const env = await editor(`sed -i 's/^  ttl: 7200$/  ttl: 3600/' "$1"`);
    expect(await kubectl.ok(['edit', ...placeOf(before)], { env })).toMatch(/edited$/m);
    const after = await admin.until(before, 'the new end', ({ status }) => status.confirmedTTL === 3_600);
    expect(credentialOf(after)).toEqual(credentialOf(before));
    expect(new Date(before.status.notAfter).getTime() - new Date(after.status.notAfter).getTime()).toBe(
      3_600_000,
    );
  });

  it('that removes the generated key gets it back', async () => {
    const before = await applied();
    const env = await editor(
      `sed -i -e '/^  key: /d' -e 's/^  user: alice$/  user: alice\\n  description: edited/' "$1"`,
    );
    await kubectl.ok(['edit', ...placeOf(before)], { env });
    const after = await admin.until(before, 'the description', ({ spec }) => spec.description === 'edited');
    expect(credentialOf(await admin.untilReady(after))).toEqual(credentialOf(before));
  });

  it('that breaks a rule is told which one, and changes nothing', async () => {
    const before = await applied();
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
    const before = await applied();
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
    const before = await applied();
    await kubectl.send('replace', {
      ...manifestOf(ownedAccessKeys, {}),
      metadata: { name: before.metadata.name },
    });
    expect((await admin.untilReady(before)).spec).toEqual(before.spec);
  });

  it('that drops a supplied key ends it', async () => {
    const supplied = 'supplied-key-of-more-than-twenty-characters';
    const before = await applied({ user: 'alice', key: supplied });
    await kubectl.send('replace', {
      ...manifestOf(ownedAccessKeys),
      metadata: { name: before.metadata.name },
    });
    const after = await admin.until(before, 'another credential', ({ status }) => status.serial === 2);
    expect(await verifier.presented(supplied)).toBe('Unknown');
    expect(await verifier.presented((await admin.untilReady(after)).spec.key)).toBe('live');
  });

  it('--force makes another object, and the key of the first is dead', async () => {
    const before = await applied();
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
  it('--type=json of an annotation leaves the credential alone', async () => {
    const before = await applied();
    const body = [{ op: 'add', path: '/metadata/annotations/example.com~1note', value: 'kept' }];
    await patch(before, 'json', body);
    await untilSeen();
    const after = await admin.get(before);
    expect(after.metadata.annotations?.['example.com/note']).toBe('kept');
    expect(credentialOf(after)).toEqual(credentialOf(before));
    expect(after.status).toEqual(before.status);
  });

  it.each([
    ['requester', annotations.requester, 'mallory'],
    ['groups of the requester', annotations.requesterGroups, '["system:masters"]'],
  ])('--type=json cannot forge the %s', async (_, name, forged) => {
    const before = await applied();
    const at = `/metadata/annotations/${name.replace('/', '~1')}`;
    for (const body of [[{ op: 'replace', path: at, value: forged }], [{ op: 'remove', path: at }]]) {
      await patch(before, 'json', body);
      expect((await admin.get(before)).metadata.annotations).toEqual(before.metadata.annotations);
    }
  });

  it('--type=json cannot copy the key into the annotation of kubectl apply', async () => {
    const { spec, ...before } = await applied();
    const into = `/metadata/annotations/${lastApplied.replace('/', '~1')}`;
    await patch({ ...before, spec }, 'json', [{ op: 'copy', from: '/spec/key', path: into }]);
    const { metadata } = await admin.get(before);
    expect(JSON.stringify(metadata)).not.toContain(spec.key);
  });

  it('--type=merge raises ttl without a new credential', async () => {
    const before = await applied({ user: 'alice', ttl: 600 });
    await patch(before, 'merge', { spec: { ttl: 1_200 } });
    const after = await admin.until(before, 'the new end', ({ status }) => status.confirmedTTL === 1_200);
    expect(credentialOf(after)).toEqual(credentialOf(before));
  });

  it('--type=merge with null drops a generated key as little as replace does', async () => {
    const before = await applied();
    await patch(before, 'merge', { spec: { key: null, description: 'patched' } });
    const after = await admin.until(before, 'the description', ({ spec }) => spec.description === 'patched');
    expect(credentialOf(await admin.untilReady(after))).toEqual(credentialOf(before));
  });

  it.each([
    ['an ordinary user, by its role', 'resource "ownedaccesskeys/status" in API group'],
    ['an administrator, by the policy', 'status: only Latchkey writes it; change spec instead'],
  ])('--subresource=status is refused to %s', async (who, message) => {
    const key = await applied();
    const args = [
      'patch',
      ...placeOf(key),
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"active":false}}',
    ];
    const { exitCode, stderr } = who.startsWith('an administrator')
      ? await world.plane.kubectl(args)
      : await kubectl.run(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(message) });
  });
});

describe('kubectl label and annotate', () => {
  it('change nothing about the credential', async () => {
    const before = await applied();
    await kubectl.ok(['label', ...placeOf(before), 'team=dev']);
    await kubectl.ok(['annotate', ...placeOf(before), 'example.com/note=seen']);
    await untilSeen();
    const after = await admin.get(before);
    expect(after.metadata.labels).toMatchObject({ team: 'dev' });
    expect(after.status).toEqual(before.status);
  });

  it('cannot make a key one that is deleted after its end', async () => {
    const before = await applied();
    await kubectl.ok(['label', ...placeOf(before), 'management.platform.sh/ephemeral=true']);
    expect((await admin.get(before)).metadata.labels ?? {}).toEqual({});
  });
});

describe('kubectl delete', () => {
  it('ends the key and returns when the object is gone', async () => {
    const before = await applied();
    expect(await kubectl.ok(['delete', ...placeOf(before), '--timeout=120s'])).toMatch(/deleted/);
    expect(await admin.find(before)).toBeUndefined();
    expect(await verifier.presented(before.spec.key)).toBe('Unknown');
  });
});
