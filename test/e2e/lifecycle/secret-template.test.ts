import { describe, expect, it } from 'vitest';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations, labels } from '../../../src/api/names.ts';

const world = await operatorWorld();
const { admin } = world;
const verifier = new Verifier(admin);

const template = {
  labels: { app: 'shop' },
  annotations: { 'example.com/team': 'payments' },
  entries: { '.netrc': 'machine a password $(credential)' },
};

type Make = (secretRef: object) => Promise<Stored>;
const kinds: readonly [string, string, Make][] = [
  ['an access key', 'key', async (secretRef) => await admin.createKey({ user: 'alice', secretRef })],
  ['a token', 'token', async (secretRef) => await admin.createToken({ secretRef })],
];

interface Place {
  readonly namespace: string;
  readonly name: string;
}

const place = (): Place => ({ namespace: 'default', name: world.name('templated') });
const secretIn = async ({ namespace, name }: Place): Promise<Stored> =>
  await admin.get(secretAt(namespace, name));
const until = async (at: Place, what: string, holds: (secret: Stored) => boolean): Promise<Stored> =>
  await admin.until(secretAt(at.namespace, at.name), what, holds);

describe.concurrent.each(kinds)('the template of the Secret of %s', (_kind, entry, make) => {
  const made = async (secretRef: object) => {
    const owner = await admin.untilReady(await make(secretRef));
    return { owner, secret: await secretIn(secretRef as Place) };
  };

  it('adds labels, annotations and entries, and the credential works', async () => {
    const at = place();
    const { secret } = await made({ ...at, template });
    const credential = entryOf(secret, entry);
    expect(secret.metadata.labels).toMatchObject({ app: 'shop', [labels.serial]: '1' });
    expect(secret.metadata.annotations).toMatchObject({
      'example.com/team': 'payments',
      [annotations.reason]: 'Issued',
    });
    expect(entryOf(secret, '.netrc')).toBe(`machine a password ${credential}`);
    expect(await verifier.presented(credential)).toBe('live');
  });

  it('changes the Secret in place, with the same credential', async () => {
    const at = place();
    const { owner, secret } = await made({ ...at, template });
    const other = {
      labels: { app: 'till' },
      annotations: null,
      entries: { '.netrc': null, url: 'https://x:$(credential)@host' },
    };
    await admin.patch(owner, { spec: { secretRef: { template: other } } });
    const changed = await until(
      at,
      'the other template',
      ({ metadata }) => metadata.labels?.['app'] === 'till',
    );
    const credential = entryOf(secret, entry);
    expect(entryOf(changed, entry)).toBe(credential);
    expect(Object.keys(changed.data ?? {}).sort()).toEqual([entry, 'url'].sort());
    expect(entryOf(changed, 'url')).toBe(`https://x:${credential}@host`);
    expect(changed.metadata.annotations).not.toHaveProperty(['example.com/team']);
    expect(changed.metadata.uid).toBe(secret.metadata.uid);
    expect(await verifier.presented(credential)).toBe('live');
    expect((await admin.untilReady(owner)).status.serial).toBe(1);
  });

  it('takes away what it made when it goes, and nothing of others', async () => {
    const at = place();
    const { owner, secret } = await made({ ...at, template });
    await admin.patch(secretAt(at.namespace, at.name), {
      metadata: { labels: { theirs: '1' }, annotations: { theirs: '2' }, finalizers: ['example.com/backup'] },
    });
    await admin.patch(owner, { spec: { secretRef: { ...at, template: null } } });
    const bare = await until(at, 'no template', ({ metadata }) => metadata.labels?.['app'] === undefined);
    await admin.patch(secretAt(at.namespace, at.name), { metadata: { finalizers: null } });
    expect(bare.metadata.labels).toMatchObject({ theirs: '1' });
    expect(bare.metadata.annotations).toMatchObject({ theirs: '2' });
    expect(bare.metadata.annotations).not.toHaveProperty(['example.com/team']);
    expect(bare.metadata.annotations).not.toHaveProperty([annotations.template]);
    expect(bare.metadata.finalizers).toEqual(['example.com/backup']);
    expect(bare.data).toEqual({ [entry]: secret.data?.[entry] });
  });

  it('is followed by every successor, with what others put there', async () => {
    const at = place();
    const { owner, secret } = await made({ ...at, template });
    await admin.patch(secretAt(at.namespace, at.name), { metadata: { labels: { theirs: '1' } } });
    await admin.annotate(owner, { [annotations.rotate]: 'now' });
    const rotated = await until(at, 'a successor', ({ data }) => data?.[entry] !== secret.data?.[entry]);
    expect(rotated.metadata.labels).toMatchObject({ app: 'shop', theirs: '1', [labels.serial]: '2' });
    expect(entryOf(rotated, '.netrc')).toBe(`machine a password ${entryOf(rotated, entry)}`);
  });

  it.each<[string, object]>([
    ['a label', { metadata: { labels: { app: 'other' } } }],
    ['an annotation', { metadata: { annotations: { 'example.com/team': null } } }],
    ['an entry', { data: { '.netrc': 'eA==' } }],
    ['the mark of the template', { metadata: { annotations: { [annotations.template]: null } } }],
  ])('is repaired when somebody changes %s, with the same credential', async (_what, change) => {
    const at = place();
    const { secret } = await made({ ...at, template });
    await admin.patch(secretAt(at.namespace, at.name), change);
    const repaired = await until(
      at,
      'the template again',
      ({ metadata, data }) =>
        metadata.resourceVersion !== secret.metadata.resourceVersion &&
        metadata.labels?.['app'] === 'shop' &&
        metadata.annotations?.['example.com/team'] === 'payments' &&
        metadata.annotations?.[annotations.template] !== undefined &&
        data?.['.netrc'] === secret.data?.['.netrc'],
    );
    expect(repaired.data).toEqual(secret.data);
  });

  it('copies nothing that somebody planted as the credential', async () => {
    const at = place();
    const { owner } = await made({ ...at, template });
    await admin.patch(secretAt(at.namespace, at.name), {
      data: { [entry]: Buffer.from('planted').toString('base64'), '.netrc': 'eA==' },
    });
    await admin.until(owner, 'a successor', ({ status }) => status.serial === 2);
    const secret = await secretIn(at);
    expect(entryOf(secret, '.netrc')).toBe(`machine a password ${entryOf(secret, entry)}`);
    expect(await verifier.presented(entryOf(secret, entry))).toBe('live');
  });
});
