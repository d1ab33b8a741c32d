import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { contentTypes } from '../admission/api-client.ts';
import { objectOf, pathOf, type TestObject } from '../admission/objects.ts';
import { admissionWorld, create, read } from '../admission/world.ts';
import { notTheirs } from './answers.ts';
import { peopleOf } from './people.ts';

const key = 'lk_plainplainplainplainplainplainplainplainplainplai';
const asAlice = ['--as=alice', '--as-group=system:masters'];
const rotate = 'management.platform.sh/rotate=now';

describe('kubectl, used by an administrator of the cluster on a key of somebody else', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);
  let object: TestObject;
  beforeEach(async () => {
    object = await create(people.alice, objectOf(ownedAccessKeys, { user: 'alice', key }));
  });
  const manifest = (spec: object): string => {
    const { apiVersion, kind, metadata } = object;
    const { name, labels } = metadata;
    return JSON.stringify({ apiVersion, kind, metadata: { name, labels }, spec: { user: 'alice', ...spec } });
  };
  const kubectl = async (args: readonly string[], input = '') => await world.plane.kubectl(args, { input });

  it.each<[string, (name: string) => string[], boolean]>([
    ['annotate', (name) => ['annotate', 'oak', name, rotate], false],
    ['label', (name) => ['label', 'oak', name, 'team=mine'], false],
    ['patch', (name) => ['patch', 'oak', name, '--type=merge', '-p', '{"spec":{"ttl":60}}'], false],
    ['replace', () => ['replace', '-f', '-'], true],
    ['apply', () => ['apply', '-f', '-'], true],
    ['apply --server-side', () => ['apply', '--server-side', '--force-conflicts', '-f', '-'], true],
  ])('%s is refused, and the answer names the way out and nothing else', async (_, argsFor, sends) => {
    const input = sends ? manifest({ description: 'changed' }) : '';
    const { exitCode, stderr, stdout } = await kubectl(argsFor(object.metadata.name), input);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(notTheirs[1]);
    expect(stderr).toContain('kubectl --as');
    expect(stderr).not.toContain('JSON Patch');
    expect(stderr + stdout).not.toContain(key);
    expect((await read(world, object)).metadata['resourceVersion']).toBe(object.metadata['resourceVersion']);
  });

  it.each<[string, (name: string) => string[], boolean]>([
    ['annotate', (name) => ['annotate', 'oak', name, rotate], false],
    ['patch', (name) => ['patch', 'oak', name, '--type=merge', '-p', '{"spec":{"ttl":60}}'], false],
    ['replace', () => ['replace', '-f', '-'], true],
    ['apply', () => ['apply', '-f', '-'], true],
  ])('%s is done as its user, by --as', async (_, argsFor, sends) => {
    const input = sends ? manifest({ description: 'changed' }) : '';
    const [command = '', ...args] = argsFor(object.metadata.name);
    expect(await kubectl([command, ...asAlice, ...args], input)).toMatchObject({ exitCode: 0 });
  });

  it('edit is refused at once', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'latchkey-editor-'));
    const editor = path.join(folder, 'editor');
    const change = String.raw`s/^  user: alice$/  user: alice\n  displayName: changed/`;
    await writeFile(editor, `#!/bin/sh\ncat "$1"\ngrep -q displayName "$1" || sed -i '${change}' "$1"\n`, {
      mode: 0o700,
    });
    const env = { KUBE_EDITOR: editor, TMPDIR: folder };
    const { exitCode, stderr } = await world.plane.kubectl(['edit', 'oak', object.metadata.name], { env });
    await rm(folder, { recursive: true });
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(notTheirs[1]);
    expect((await read(world, object)).metadata['resourceVersion']).toBe(object.metadata['resourceVersion']);
  });

  it('turns it off and deletes it', async () => {
    const { name } = object.metadata;
    const off = ['patch', 'oak', name, '--type=merge', '-p', '{"spec":{"disabled":true}}'];
    expect(await kubectl(off)).toMatchObject({ exitCode: 0 });
    expect(await kubectl(['delete', 'oak', name, '--wait=false'])).toMatchObject({ exitCode: 0 });
    const release = [
      'patch',
      'oak',
      name,
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/metadata/finalizers"}]',
    ];
    expect(await kubectl(release)).toMatchObject({ exitCode: 0 });
    expect((await people.master.send('GET', pathOf(ownedAccessKeys, name))).status).toBe(404);
  });

  it.each([
    ['a label', { labels: { team: 'mine' } }],
    ['a finalizer', { finalizers: ['example.com/mine'] }],
  ])('changes not even %s by a request that asks for metadata only', async (_, metadata) => {
    const client = people.root.withHeaders({
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    });
    const answer = await client.send('PATCH', pathOf(ownedAccessKeys, object.metadata.name), {
      body: { metadata },
      contentType: contentTypes.mergePatch,
    });
    expect({ status: answer.status, message: answer.body.message }).toEqual({
      status: 403,
      message: expect.stringContaining(notTheirs[1]),
    });
  });
});
