import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { kubectlOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';

const world = await operatorWorld();
const { admin } = world;
const kubectl = await kubectlOf(world, 'apply-user');

const plainKey = (): string => generateAccessKey(randomBytes(32));
const hashed = (key: string): string => `sha256:${credentialHash(key)}`;
const secretRef = () => ({ namespace: 'default', name: world.name('applied') });
const scope = {
  projects: [{ project: 'a' }],
  roles: [{ role: 'platform-cli' }],
  rules: [{ verbs: ['get'] }],
};

/** Objects that people declare: every source of a key, and tokens with and without a parent. `parent` is the name of a key. */
const declarations: readonly [string, Resource, (parent: string) => object][] = [
  ['a key of nothing but its user', ownedAccessKeys, () => ({ user: 'alice' })],
  ['a key without any spec', ownedAccessKeys, () => ({})],
  ['a key in plain', ownedAccessKeys, () => ({ user: 'alice', key: plainKey() })],
  [
    'a key of a form of its own',
    ownedAccessKeys,
    () => ({ team: 'dev', scope: {}, key: `my+own/key=${plainKey()}~._-` }),
  ],
  ['a key by its hash', ownedAccessKeys, () => ({ user: 'alice', key: hashed(plainKey()) })],
  ['a key in a Secret', ownedAccessKeys, () => ({ user: 'alice', secretRef: secretRef() })],
  [
    'a key with everything',
    ownedAccessKeys,
    () => ({
      subject: 'robot',
      groups: ['dev', 'ops'],
      displayName: 'All',
      description: 'the "key" of\nmany lines',
      ttl: 86_400,
      ttlAfterLastActivity: true,
      scope,
      type: 'Other',
      allowedNamespaces: ['default'],
    }),
  ],
  ['a key below a key', ownedAccessKeys, (accessKey) => ({ accessKey, scope: {} })],
  ['a token of nothing', directClusterEndpointTokens, () => ({})],
  ['a token with everything', directClusterEndpointTokens, (accessKey) => ({ accessKey, ttl: 600, scope })],
  ['a token in a Secret', directClusterEndpointTokens, () => ({ secretRef: secretRef() })],
];

const flavours: readonly (readonly [string, readonly string[]])[] = [
  ['client-side', []],
  ['server-side', ['--server-side']],
  ['server-side with --force-conflicts', ['--server-side', '--force-conflicts']],
];

describe.each(flavours)('kubectl apply, %s', (_, flags) => {
  const parent = manifestOf(ownedAccessKeys, { user: 'apply-user' });
  const manifests = declarations.map(([title, resource, specOf]) => ({
    title,
    manifest: manifestOf(resource, specOf(parent.metadata.name)),
  }));
  const stored = new Map<string, Stored>();
  const readAll = async () => {
    for (const { title, manifest } of manifests) stored.set(title, await admin.get(manifest));
  };

  beforeAll(async () => {
    await kubectl.send('apply', [...manifests.map(({ manifest }) => manifest), parent], ...flags);
    for (const { manifest } of manifests) await admin.untilReady(manifest);
    await readAll();
  });

  it('changes nothing when all of them are applied again, and kubectl diff is empty', async () => {
    const again = manifests.map(({ manifest }) => manifest);

    expect(await kubectl.diff(again, ...flags)).toBe('');
    await kubectl.send('apply', again, ...flags);

    const before = new Map(stored);
    await readAll();
    for (const { title } of manifests) {
      const [first, second] = [before.get(title), stored.get(title)].map((object) => ({
        version: object?.metadata.resourceVersion,
        spec: object?.spec,
        status: object?.status,
      }));
      expect(second, title).toEqual(first);
    }
  });

  it('leaves no plain key or token in any annotation', () => {
    const objects = [...stored.values()];
    const held = objects.flatMap(({ spec, status }) => [spec.key ?? '', status.token ?? '']);
    const plain = held.filter((text) => text !== '' && !text.startsWith('sha256:'));
    expect(plain.length).toBeGreaterThan(manifests.length / 2);
    for (const { metadata } of objects) {
      const annotations = JSON.stringify(metadata.annotations);
      for (const secret of plain) expect(annotations).not.toContain(secret);
    }
  });
});

describe('a manifest that says key: ""', () => {
  const applied = async (...flags: string[]) => {
    const manifest = manifestOf(ownedAccessKeys, { user: 'alice', key: '' });
    await kubectl.send('apply', manifest, ...flags);
    return { manifest, before: await admin.untilReady(manifest) };
  };

  it('gets a generated key and keeps it when it is applied again', async () => {
    const { manifest, before } = await applied();
    expect(before.spec.key).toMatch(/^lk_/);
    expect(await kubectl.diff(manifest)).toBe('');
    await kubectl.send('apply', manifest);
    // Only managedFields change: the manifest claims a field that was the operator's.
    const { metadata, spec, status } = await admin.get(manifest);
    expect(metadata.generation).toBe(before.metadata.generation);
    expect({ spec, status }).toEqual({ spec: before.spec, status: before.status });
    expect(await kubectl.diff(manifest)).toBe('');
  });

  it('claims with server-side apply a field that the operator has filled, and is told so', async () => {
    const { manifest, before } = await applied('--server-side');
    const { exitCode, stderr } = await kubectl.trySend('apply', manifest, '--server-side');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(/conflict with "latchkey-operator" using .*: \.spec\.key/),
    });
    expect(stderr).not.toContain(before.spec.key);
  });

  it('takes the field over with --force-conflicts, keeps the key, and changes nothing from then on', async () => {
    const { manifest, before } = await applied('--server-side');
    const flags = ['--server-side', '--force-conflicts'];
    await kubectl.send('apply', manifest, ...flags);
    const taken = await admin.get(manifest);
    expect({ spec: taken.spec, status: taken.status }).toEqual({ spec: before.spec, status: before.status });
    expect(await kubectl.diff(manifest, ...flags)).toBe('');
    await kubectl.send('apply', manifest, ...flags);
    expect((await admin.get(manifest)).metadata.resourceVersion).toBe(taken.metadata.resourceVersion);
  });
});
