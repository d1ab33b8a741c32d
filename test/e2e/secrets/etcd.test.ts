import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { entryOf, secretAt } from '../../../lab/operator/api.ts';
import { type EtcdEntry, readEtcd } from '../../../lab/operator/etcd.ts';
import { operatorWorld, type World } from '../../../lab/operator/world.ts';
import { group } from '../../../src/api/names.ts';
import { hashForm } from '../lifecycle/hash-form.ts';

const folder = await mkdtemp(path.join(tmpdir(), 'latchkey-encryption-'));
const configuration = path.join(folder, 'encryption.json');
await writeFile(
  configuration,
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['secrets', `*.${group}`],
        providers: [{ secretbox: { keys: [{ name: 'one', secret: randomBytes(32).toString('base64') }] } }],
      },
    ],
  }),
);
const encrypted = await startControlPlane({
  name: 'encrypted',
  extraApiServerArgs: [`--encryption-provider-config=${configuration}`],
});
// Before the worlds: what is registered first ends last.
afterAll(async () => {
  await encrypted.stop();
  await rm(folder, { recursive: true });
});
const worlds = {
  plain: await operatorWorld(),
  encrypted: await operatorWorld({ plane: encrypted }),
};

/** The objects made in a cluster, and where etcd has them. */
interface Made {
  readonly dump: readonly EtcdEntry[];
  /** The plain secret of each form. */
  readonly secrets: Readonly<Record<'generated' | 'inSecret' | 'hashed' | 'token', string>>;
}

async function make({ admin, name, plane }: World): Promise<Made> {
  const hashed = `supplied-${name('key')}`;
  const at = { namespace: 'default', name: name('secret') };
  const [generated, hidden, byHash, token] = await Promise.all([
    admin.createKey(),
    admin.createKey({ user: 'alice', secretRef: at }),
    admin.createKey({ user: 'alice', key: hashForm(hashed) }),
    admin.createToken(),
  ]);
  const ready = await Promise.all([generated, hidden, byHash, token].map((one) => admin.untilReady(one)));
  const inSecret = entryOf(await admin.get(secretAt(at.namespace, at.name)), 'key');
  return {
    dump: await readEtcd(plane),
    secrets: { generated: ready[0]?.spec.key, inSecret, hashed, token: ready[3]?.status.token },
  };
}

/** Resources whose entries hold this text, as it is or as Secrets spell it. */
function holders({ dump }: Made, secret: string): readonly string[] {
  const found = dump.filter(
    ({ value }) => value.includes(secret) || value.includes(Buffer.from(secret).toString('base64')),
  );
  return [...new Set(found.map(({ key }) => key.split('/').slice(2, -1).join('/')))];
}

describe('a thief of a copy of etcd', () => {
  let plain: Made;
  let sealed: Made;
  beforeAll(async () => {
    [plain, sealed] = await Promise.all([make(worlds.plain), make(worlds.encrypted)]);
  });

  it.each([
    ['a generated key in its object', 'generated', [`${group}/ownedaccesskeys`]],
    ['a token in its object', 'token', [`${group}/directclusterendpointtokens`]],
    ['a key that has a Secret in that Secret alone', 'inSecret', ['secrets/default']],
    ['a key that was given as a hash nowhere', 'hashed', []],
  ] as const)('without encryption finds %s', (_, form, where) => {
    expect(plain.secrets[form].length).toBeGreaterThan(16);
    expect(holders(plain, plain.secrets[form])).toEqual(where);
  });

  it.each(['generated', 'token', 'inSecret', 'hashed'] as const)(
    'with encryption finds no secret: %s',
    (form) => {
      expect(sealed.secrets[form].length).toBeGreaterThan(16);
      expect(holders(sealed, sealed.secrets[form])).toEqual([]);
    },
  );

  it('with encryption reads nothing of credentials and Secrets, their hashes included', () => {
    const ours = sealed.dump.filter(({ key }) =>
      /^\/registry\/(secrets|management\.platform\.sh)\//.test(key),
    );
    expect(ours.length).toBeGreaterThan(5);
    for (const { value } of ours) expect(value).toMatch(/^k8s:enc:secretbox:v1:one:/);
  });
});
