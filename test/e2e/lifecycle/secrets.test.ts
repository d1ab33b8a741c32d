import { describe, expect, it } from 'vitest';
import {
  type Api,
  conditionOf,
  entryOf,
  type Stored,
  secretAt,
  type Target,
} from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations, labels } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { namespaces, secrets, serviceAccounts } from '../../../src/api/resources.ts';

const world = await operatorWorld();
const { admin } = world;
const verifier = new Verifier(admin);

interface Place {
  readonly namespace: string;
  readonly name: string;
}

interface Kind {
  readonly entry: string;
  readonly make: (
    api: Api,
    secretRef: object,
    metadata?: { annotations: Record<string, string> },
  ) => Promise<Stored>;
}

const kinds: readonly [string, Kind][] = [
  [
    'an access key',
    {
      entry: 'key',
      make: async (api, secretRef, metadata) => await api.createKey({ user: 'alice', secretRef }, metadata),
    },
  ],
  [
    'a token',
    {
      entry: 'token',
      make: async (api, secretRef, metadata) => await api.createToken({ secretRef }, metadata),
    },
  ],
];

/** As a Secret says it. */
const stateOf = (owner: Stored) => ({
  [annotations.reason]: conditionOf(owner)?.reason,
  [annotations.fingerprint]: owner.status.fingerprint,
  ...(owner.status.expirationTimestamp === undefined
    ? {}
    : { [annotations.expires]: owner.status.expirationTimestamp }),
});

const replacedIn = ({ namespace, name }: Place) =>
  `The Secret ${namespace}/${name} was deleted or changed, so a new credential was issued into it. The former credential does not work any more.`;

describe.concurrent.each(kinds)('the Secret of %s', (_kind, { entry, make }) => {
  const read = async ({ namespace, name }: Place): Promise<string> =>
    entryOf(await admin.get(secretAt(namespace, name)), entry);
  const place = (): Place => ({ namespace: 'default', name: world.name('secret') });

  it('holds the credential, says whose and how it is, and nothing else of the object', async () => {
    const at = place();
    const owner = await admin.untilReady(await make(admin, at, { annotations: { note: 'mine' } }));
    const { metadata, data } = await admin.get(secretAt(at.namespace, at.name));
    expect(Object.keys(data ?? {})).toEqual([entry]);
    expect(metadata.annotations).toEqual(stateOf(owner));
    expect(metadata.labels).toEqual({
      [labels.ownerKind]: owner.kind,
      [labels.ownerName]: owner.metadata.name,
      [labels.ownerUID]: owner.metadata.uid,
      [labels.serial]: '1',
      [labels.purpose]: 'credential',
    });
    expect(metadata.ownerReferences).toMatchObject([{ kind: owner.kind, uid: owner.metadata.uid }]);
    expect(owner.spec.key).toBeUndefined();
    expect(owner.status.token).toBeUndefined();
    expect(await verifier.presented(await read(at))).toBe('live');
  });

  it('is what events are about, so that who reads it there learns what happens to the credential', async () => {
    const at = place();
    const owner = await admin.untilReady(await make(admin, at));
    const secret = {
      ...secretAt(at.namespace, at.name),
      ...(await admin.get(secretAt(at.namespace, at.name))),
    };

    const first = await admin.untilEvent(secret, reasons.issued);
    await admin.annotate(owner, { [annotations.rotate]: 'now' });
    const second = await admin.untilEvent(secret, reasons.rotated);

    expect(first.note).toBe('The credential with serial 1 was issued.');
    expect(second.note).toBe(
      `The credential with serial 2 was issued, because the annotation ${annotations.rotate} has changed.`,
    );
  });

  it('is made again with another credential when it is deleted', async () => {
    const at = place();
    const owner = await admin.untilReady(await make(admin, at));
    const lost = await read(at);
    await admin.delete(secretAt(at.namespace, at.name));
    await admin.until(owner, 'a successor', ({ status }) => status.serial === 2);
    expect(await verifier.presented(await read(at))).toBe('live');
    expect(await verifier.presented(lost)).toBe('Unknown');
    expect((await admin.untilEvent(owner, reasons.secretReplaced)).note).toBe(replacedIn(at));
  });

  it('is written again with another credential when somebody changes what it holds', async () => {
    const at = place();
    const owner = await admin.untilReady(await make(admin, at));
    const replaced = await read(at);
    const planted = `planted-${world.name('key')}`;
    const data = { [entry]: Buffer.from(planted).toString('base64') };
    await admin.patch(secretAt(at.namespace, at.name), { data });
    await admin.until(owner, 'a successor', ({ status }) => status.serial === 2);
    const secret = {
      ...secretAt(at.namespace, at.name),
      ...(await admin.get(secretAt(at.namespace, at.name))),
    };
    expect((await admin.untilEvent(secret, reasons.secretReplaced)).note).toBe(replacedIn(at));
    expect(await verifier.presented(planted)).toBe('Unknown');
    expect(await verifier.presented(replaced)).toBe('Unknown');
    expect(await verifier.presented(await read(at))).toBe('live');
  });

  it('follows a changed secretRef, and the one before goes with its credential', async () => {
    const [before, after] = [place(), { ...place(), key: 'my.entry' }];
    const owner = await admin.untilReady(await make(admin, before));
    const moved = await read(before);
    await admin.patch(owner, { spec: { secretRef: after } });
    await admin.until(owner, 'a successor', ({ status }) => status.serial === 2);
    await admin.untilGone(secretAt(before.namespace, before.name));
    await admin.untilReady(owner);
    const present = entryOf(await admin.get(secretAt(after.namespace, after.name)), 'my.entry');
    expect(await verifier.presented(present)).toBe('live');
    expect(await verifier.presented(moved)).toBe('Unknown');
  });

  it('costs one other credential, and no more, where its label is taken away and given back', async () => {
    const at = place();
    const owner = await admin.untilReady(await make(admin, at));
    const secret = secretAt(at.namespace, at.name);
    await admin.patch(secret, { metadata: { labels: { [labels.ownerUID]: null } } });
    await admin.until(
      owner,
      'a look without it',
      (seen) => seen.status.serial !== 1 || conditionOf(seen)?.status !== 'True',
    );
    await admin.patch(secret, { metadata: { labels: { [labels.ownerUID]: owner.metadata.uid } } });
    await admin.untilReady(owner);
    await admin.untilReady(await make(admin, place()));
    expect((await admin.get(owner)).status.serial).toBe(2);
    expect(await verifier.presented(await read(at))).toBe('live');
  });

  it('is never taken from somebody else', async () => {
    const at = place();
    const theirs = await plant(at, { [entry]: 'somebody-elses-password' });
    const owner = await admin.untilRefused(await make(admin, at), reasons.secretConflict);
    await admin.untilEvent(owner, reasons.secretConflict);
    expect(conditionOf(owner, 'Stalled')?.message).toContain('delete it, or name another');
    expect(owner.status.credentialHash).toBeUndefined();
    expect(await verifier.presented('somebody-elses-password')).toBe('Unknown');
    await untilSeenAgain(owner);
    await admin.delete(owner);
    await admin.untilGone(owner);
    const left = await admin.get(theirs);
    expect(left.metadata).toMatchObject({
      uid: theirs.metadata.uid,
      resourceVersion: theirs.metadata.resourceVersion,
    });
    expect(entryOf(left, entry)).toBe('somebody-elses-password');
  });

  it('is never the token of a service account, not even with the labels of the object', async () => {
    const at = place();
    const account = at.name;
    await admin.createObject(serviceAccounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: at.namespace, name: account },
    });
    await admin.createObject(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/service-account-token',
      metadata: { ...at, annotations: { 'kubernetes.io/service-account.name': account } },
    });
    const secret = secretAt(at.namespace, at.name);
    const { data } = await admin.until(secret, 'a token', (filled) => filled.data?.['token'] !== undefined);

    const owner = await make(admin, { ...at, key: 'token' });
    await admin.untilRefused(owner, reasons.secretConflict);
    const { kind, metadata } = owner;
    const given = { [labels.ownerKind]: kind ?? '', [labels.ownerUID]: metadata.uid, [labels.serial]: '1' };
    await admin.patch(secret, { metadata: { labels: given } });
    await untilSeenAgain(owner);
    await admin.delete(owner);
    await admin.untilGone(owner);

    const left = await admin.get(secret);
    expect(left.data).toEqual(data);
    expect(await verifier.presented(entryOf(left, 'token'))).toBe('Unknown');
  });

  it('is made once that of somebody else has gone', async () => {
    const at = place();
    const theirs = await plant(at, { [entry]: 'in-the-way' });
    const owner = await admin.untilRefused(await make(admin, at), reasons.secretConflict);
    await admin.delete(theirs);
    await admin.annotate(owner, { look: 'again' });
    const { status } = await admin.untilReady(owner);
    expect(status.serial).toBe(1);
    expect(await verifier.presented(await read(at))).toBe('live');
  });

  it('is left to the user who took its labels away, and grants nothing any more', async () => {
    const at = place();
    const owner = await admin.untilReady(await make(admin, at));
    const taken = await read(at);
    await admin.patch(secretAt(at.namespace, at.name), { metadata: { labels: { [labels.ownerUID]: null } } });
    await admin.untilRefused(owner, reasons.secretConflict);
    expect(await read(at)).toBe(taken);
    expect(await verifier.presented(taken)).toBe('Unknown');
  });

  it('waits for a namespace that does not exist yet', async () => {
    const namespace = world.name('later');
    const at = { namespace, name: 'credential' };
    const owner = await admin.untilRefused(await make(admin, at), reasons.secretFailed);
    expect(conditionOf(owner)?.message).toContain('The namespace in spec.secretRef does not exist');
    expect(conditionOf(owner, 'Reconciling')?.reason).toBe(reasons.secretFailed);
    await makeNamespace(namespace);
    await admin.annotate(owner, { look: 'again' });
    await admin.untilReady(owner);
    expect(await verifier.presented(await read(at))).toBe('live');
  });

  it('goes with its namespace, and the credential with it', async () => {
    const namespace = world.name('going');
    const at = { namespace, name: 'credential' };
    await makeNamespace(namespace);
    const owner = await admin.untilReady(await make(admin, at));
    const lost = await read(at);
    await admin.client.delete(namespaces, { name: namespace });
    await admin.untilRefused(owner, reasons.secretFailed, { timeoutMs: 120_000 });
    expect(await verifier.presented(lost)).toBe('Unknown');
    await admin.untilGone({ kind: 'Namespace', metadata: { name: namespace } }, { timeoutMs: 120_000 });
    expect(conditionOf(await admin.get(owner), 'Ready')?.status).toBe('False');
    await admin.delete(owner);
    await admin.untilGone(owner);
  });
});

/** Another generation, so that the operator has to judge the conflict once more. */
async function untilSeenAgain(owner: Stored): Promise<void> {
  await admin.patch(owner, { spec: { ttl: 3_600 } });
  await admin.untilRefused(owner, reasons.secretConflict);
}

async function plant(
  { namespace, name }: Place,
  stringData: Record<string, string>,
): Promise<Stored & Target> {
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, stringData };
  return await admin.createObject(secrets, object);
}

async function makeNamespace(name: string): Promise<void> {
  await admin.createObject(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}

describe.concurrent('who reads only the Secret', () => {
  const place = (): Place => ({ namespace: 'default', name: world.name('secret') });
  const says = async ({ namespace, name }: Place, reason: string): Promise<Stored> =>
    await admin.until(
      secretAt(namespace, name),
      `the Secret to say ${reason}`,
      ({ metadata }) => metadata.annotations?.[annotations.reason] === reason,
    );

  it('sees that the key is disabled, by an event too, works again and has another end, and the key stays', async () => {
    const at = place();
    const key = await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 3600, secretRef: at }));
    const { data } = await says(at, reasons.issued);
    await admin.patch(key, { spec: { disabled: true } });
    const disabled = { ...secretAt(at.namespace, at.name), ...(await says(at, reasons.disabled)) };
    expect(disabled.data).toEqual(data);
    expect((await admin.untilEvent(disabled, reasons.disabled)).note).toContain(key.metadata.name);
    await admin.patch(key, { spec: { disabled: false, ttl: 7200, scope: {} } });
    const present = await admin.untilReady(key);
    const secret = await says(at, reasons.issued);
    expect(secret.metadata.annotations).toEqual(stateOf(present));
    expect(secret.data).toEqual(data);
  });

  it('sees that the key has ended', async () => {
    const at = place();
    const key = await admin.createKey({ user: 'alice', ttl: 3, secretRef: at });
    const ended = await admin.untilRefused(key, reasons.expired);
    expect((await says(at, reasons.expired)).metadata.annotations).toEqual(stateOf(ended));
  });

  it('sees that the key above a token does not work', async () => {
    const at = place();
    const parent = await admin.untilReady(await admin.createKey({ user: 'alice' }));
    const token = await admin.createToken({ accessKey: parent.metadata.name, ttl: 3600, secretRef: at });
    await admin.untilReady(token);
    await admin.patch(parent, { spec: { disabled: true } });
    await says(at, reasons.accessKeyNotLive);
    await admin.patch(parent, { spec: { disabled: false } });
    const { metadata } = await says(at, reasons.issued);
    expect(metadata.annotations).toEqual(stateOf(await admin.untilReady(token)));
  });

  it('keeps annotations of their own on it', async () => {
    const at = place();
    const key = await admin.untilReady(await admin.createKey({ user: 'alice', secretRef: at }));
    await admin.annotate(await says(at, reasons.issued), { note: 'mine' });
    await admin.patch(key, { spec: { disabled: true } });
    expect((await says(at, reasons.disabled)).metadata.annotations).toMatchObject({ note: 'mine' });
  });
});
