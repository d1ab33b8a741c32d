import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { kubectlOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';

const world = await operatorWorld();
const { admin } = world;
const kubectl = await kubectlOf(world, 'source-user');
const verifier = new Verifier(admin);

const newKey = (): string => generateAccessKey(randomBytes(32));
const hashed = (key: string): string => `sha256:${credentialHash(key)}`;

const flavours: readonly (readonly [string, readonly string[]])[] = [
  ['client-side', []],
  ['server-side', ['--server-side']],
];

describe.each(flavours)(
  'kubectl apply, %s, of a manifest whose key comes from somewhere else',
  (_, flags) => {
    /** Applies the manifests one after the other; resolves with the object after each. */
    const through = async (...specs: readonly object[]): Promise<readonly Stored[]> => {
      const manifest = manifestOf(ownedAccessKeys);
      const states: Stored[] = [];
      for (const spec of specs) {
        await kubectl.send('apply', { ...manifest, spec: { user: 'alice', ...spec } }, ...flags);
        states.push(await admin.untilReady(manifest));
      }
      return states;
    };

    it('plain to its own hash: the credential stays as it is', async () => {
      const key = newKey();
      const [plain, hash] = await through({ key }, { key: hashed(key) });
      expect(plain?.status).toMatchObject({ keySource: 'Plain', serial: 1 });
      expect(hash?.spec.key).toBe(hashed(key));
      expect(hash?.status).toMatchObject({ keySource: 'Hash', serial: 1 });
      const { credentialHash: hashBefore, fingerprint, keyID } = plain?.status ?? {};
      expect(hash?.status).toMatchObject({ credentialHash: hashBefore, fingerprint, keyID });
      expect(await verifier.presented(key)).toBe('live');
    });

    it('to another key: that one works and the one before is dead', async () => {
      const first = newKey();
      const second = newKey();
      const [, after] = await through({ key: first }, { key: second });
      expect(after?.status).toMatchObject({
        keySource: 'Plain',
        serial: 2,
        credentialHash: credentialHash(second),
      });
      expect(await verifier.presented(second)).toBe('live');
      expect(await verifier.presented(first)).toBe('Unknown');
    });

    it.each([
      ['dropped', {}],
      ['set to ""', { key: '' }],
    ])('a supplied key that is %s: a generated one follows', async (_title, without) => {
      const supplied = newKey();
      const [, after] = await through({ key: supplied }, without);
      expect(after?.spec.key).toMatch(/^lk_/);
      expect(after?.status).toMatchObject({ keySource: 'Generated', serial: 2 });
      expect(await verifier.presented(supplied)).toBe('Unknown');
      expect(await verifier.presented(after?.spec.key)).toBe('live');
    });

    it('a generated key to a Secret, where it stays until there is another key', async () => {
      const secretRef = { namespace: 'default', name: world.name('source') };
      const [generated, inSecret, kept] = await through({}, { secretRef }, {});
      expect(inSecret?.spec).not.toHaveProperty('key');
      expect(inSecret?.status).toMatchObject({ keySource: 'Secret', serial: 2 });
      expect(kept?.spec).toMatchObject({ secretRef });
      expect(kept?.status).toMatchObject({ keySource: 'Secret', serial: 2 });
      expect(await verifier.presented(generated?.spec.key)).toBe('Unknown');
      const moved = entryOf(await admin.get(secretAt(secretRef.namespace, secretRef.name)), 'key');
      expect(await verifier.presented(moved)).toBe('live');
      const key = newKey();
      const patch = JSON.stringify({ spec: { secretRef: null, key } });
      await kubectl.ok(['patch', 'oak', kept?.metadata.name ?? '', '--type=merge', '--patch', patch]);
      const own = await admin.untilReady(kept as Stored);
      expect(own.spec).not.toHaveProperty('secretRef');
      expect(own.status).toMatchObject({ keySource: 'Plain', serial: 3 });
      await admin.untilGone(secretAt(secretRef.namespace, secretRef.name));
      expect(await verifier.presented(key)).toBe('live');
      expect(await verifier.presented(moved)).toBe('Unknown');
    });

    it('a Secret to another Secret: the credential moves with a new key', async () => {
      const places = [world.name('source'), world.name('source')].map((name) => ({
        namespace: 'default',
        name,
      }));
      const [, after] = await through(...places.map((secretRef) => ({ secretRef })));
      const [before, now] = places.map(({ namespace, name }) => secretAt(namespace, name));
      await admin.untilGone(before ?? secretAt('', ''));
      const key = entryOf(await admin.get(now ?? secretAt('', '')), 'key');
      expect(after?.status).toMatchObject({ keySource: 'Secret', credentialHash: credentialHash(key) });
      expect(await verifier.presented(key)).toBe('live');
    });
  },
);
