import { describe, expect, it } from 'vitest';
import { KubeError } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RecordSignatures } from './record-signatures.ts';
import { RevocationRecords } from './revocation-records.ts';

const problem = (status: number, reason: string) =>
  new KubeError({ code: 'ERR_KUBE_STATUS', message: reason, status, reason, statusMessage: reason });

/** An API server with one Secret, or none. */
function secretStore() {
  let secret: KubeObject | undefined;
  const client = {
    get: async () => secret ?? Promise.reject(problem(404, 'NotFound')),
    create: async (_: unknown, created: KubeObject) => {
      if (secret !== undefined) throw problem(409, 'AlreadyExists');
      secret = created;
      return secret;
    },
  };
  return {
    client: client as never,
    lose: () => (secret = undefined),
    edit: (data: object) => (secret = { ...secret, data } as never),
  };
}

async function loaded(client: never, fill = 1): Promise<RecordSignatures> {
  const signatures = new RecordSignatures(client, (count) => new Uint8Array(count).fill(fill));
  await signatures.load();
  return signatures;
}

describe('the signatures of records', () => {
  it('hold for the same content in whatever order, and for no other', async () => {
    const signatures = await loaded(secretStore().client);
    const signature = signatures.sign({ name: 'a', data: { b: '1', c: '2' } });
    expect(signatures.isSigned({ data: { c: '2', b: '1' }, name: 'a' }, signature)).toBe(true);
    expect(signatures.isSigned({ name: 'b', data: { b: '1', c: '2' } }, signature)).toBe(false);
    for (const other of [undefined, '', 7, signature.slice(1), signature.replace(/^./, 'x'), '0'.repeat(64)])
      expect(signatures.isSigned({ name: 'a', data: { b: '1', c: '2' } }, other)).toBe(false);
  });

  it('are those of the key that was made first, also for the next operator', async () => {
    const { client } = secretStore();
    const [first, second] = [await loaded(client, 1), await loaded(client, 2)];
    expect(second.sign('a')).toBe(first.sign('a'));
  });

  it('of another key count for nothing', async () => {
    const { client, lose } = secretStore();
    const before = await loaded(client, 1);
    lose();
    expect((await loaded(client, 2)).isSigned('a', before.sign('a'))).toBe(false);
  });

  it.each([[{}], [{ 'hmac-sha256.key': '' }], [{ 'hmac-sha256.key': 'c2hvcnQ=' }]])(
    'are not made with a key of nothing: %j',
    async (data) => {
      const { client, edit } = secretStore();
      await loaded(client);
      edit(data);
      await expect(loaded(client)).rejects.toThrow('the Secret latchkey-revocation-key holds no key');
    },
  );

  it('are not made without a key', () => {
    expect(() => new RecordSignatures(secretStore().client, () => new Uint8Array()).sign('a')).toThrow(
      RangeError,
    );
  });
});

describe('records of certificates to revoke', () => {
  const revocation = {
    ownerUID: 'uid-1',
    instance: { namespace: 'p-red', name: 'shop', uid: 'uid-2' },
    secret: { namespace: 'p-red', name: 'vc-shop', key: 'config' },
    caFingerprint: 'abcdef0123456789',
    serials: [3, 12],
    notAfter: Date.UTC(2026, 10, 22),
  };

  async function recorded() {
    const written: KubeObject[] = [];
    const published: unknown[] = [];
    const client = { apply: async (...[, , object]: unknown[]) => void written.push(object as KubeObject) };
    const records = new RevocationRecords({
      client: client as never,
      signatures: await loaded(secretStore().client),
      events: { publish: (subject, events) => void published.push([subject.name, events[0]?.reason]) },
    });
    await records.write(revocation);
    const [object] = written;
    if (object === undefined) throw new Error('nothing was written');
    const stored = { ...object, metadata: { ...object.metadata, uid: 'u', resourceVersion: '7' } };
    return { records, stored: stored as KubeObject & { data: object }, published };
  }

  it('are read again', async () => {
    const { records, stored, published } = await recorded();
    expect(records.read(stored)).toMatchObject(revocation);
    expect(published).toEqual([]);
  });

  it.each([
    ['without a signature', (data: object) => ({ ...data, signature: undefined })],
    ['with another Secret', (data: object) => ({ ...data, secretNamespace: 'p-blue' })],
    ['with an entry more', (data: object) => ({ ...data, more: 'x' })],
    ['without anything', () => ({})],
  ])('are nothing %s, and that is told once', async (_, change) => {
    const { records, stored, published } = await recorded();
    const forged = { ...stored, data: change(stored.data) };
    expect(records.read(forged)).toBeUndefined();
    expect(records.read(forged)).toBeUndefined();
    expect(published).toEqual([[stored.metadata.name, 'RecordNotSigned']]);
  });

  it('are nothing under another name', async () => {
    const { records, stored } = await recorded();
    const name = 'latchkey-revocation-another';
    expect(records.read({ ...stored, metadata: { ...stored.metadata, name } })).toBeUndefined();
  });
});
