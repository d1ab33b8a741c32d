import { describe, expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, OwnClient, ownClient, ownKeys, ownTokens } from './own-client.ts';

const world = await gatewayWorld();
const { admin, name } = world;
const alice = name('alice');
const holder = await ownClient(world, { user: alice });
const stranger = await ownClient(world, { user: name('bob') });

describe('a key of one’s own', () => {
  it('is read by its name, without the key in it', async () => {
    const { status, body, text } = await holder.send('GET', `${ownKeys}/${holder.object.metadata.name}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'OwnedAccessKey', spec: { user: alice } });
    expect(body.spec.key).toBe(`sha256:${credentialHash(holder.key)}`);
    expect(text).not.toContain(holder.key);
  });

  it('that somebody else has is not found, like one that does not exist', async () => {
    const [foreign, none] = [holder.object.metadata.name, name('none')];
    const answers = await Promise.all(
      [foreign, none].map(async (one) => await stranger.send('GET', `${ownKeys}/${one}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    const [first, second] = answers.map(({ text }) => text);
    expect(first?.replaceAll(foreign, 'x')).toBe(second?.replaceAll(none, 'x'));
  });

  it('is made by a POST, whose answer alone holds the key, and works at once', async () => {
    const metadata = { name: name('made') };
    const { status, body, headers } = await holder.send('POST', ownKeys, {
      body: { metadata, spec: { displayName: 'CI', ttl: 3_600, type: 'User', user: alice } },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      kind: 'OwnedAccessKey',
      apiVersion: 'management.platform.sh/v1',
      metadata: { ...metadata, labels: { 'management.platform.sh/ephemeral': 'true' } },
      spec: { displayName: 'CI', user: alice },
      status: {
        keySource: 'Hash',
        conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status: 'True' })]),
      },
    });
    expect(String(headers['warning'])).toContain('spec.key holds the credential in this answer only');
    const made = new OwnClient(world, body.spec.key);
    expect((await made.send('GET', `${management}/version`)).status).toBe(200);
    const read = await made.send('GET', `${ownKeys}/${metadata.name}`);
    expect(read.body.spec.key).toBe(`sha256:${credentialHash(made.key)}`);
    const stored = await admin.get(body);
    expect(JSON.stringify(stored)).not.toContain(made.key);
  });

  it('carries the groups of the key that it is made with, unless it says which', async () => {
    const member = await ownClient(world, { user: alice, groups: ['dev', 'ops'] });
    const made = await member.send('POST', ownKeys, { body: { spec: { ttl: 600 } } });
    expect([made.status, made.body.spec.user, made.body.spec.groups]).toEqual([201, alice, ['dev', 'ops']]);
    const none = await member.send('POST', ownKeys, { body: { spec: { ttl: 600, groups: [] } } });
    expect([none.status, none.body.spec.groups]).toEqual([201, []]);
  });

  it('is made from YAML and answered in YAML', async () => {
    const body = 'apiVersion: management.platform.sh/v1\nkind: OwnedAccessKey\nspec:\n  ttl: 600\n';
    const answer = await holder.send('POST', ownKeys, {
      body,
      type: 'application/yaml',
      accept: 'application/yaml',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers['content-type']).toBe('application/yaml');
    expect(answer.text).toMatch(/^ {2}key: lk_[0-9A-Za-z]{49}$/m);
  });

  it.each<[string, object | string, string, string?]>([
    ['another kind', { kind: 'Secret' }, '400 ERR_OBJECT_MISMATCH'],
    ['another apiVersion', { apiVersion: 'management.platform.sh/v2' }, '400 ERR_OBJECT_MISMATCH'],
    ['a namespace', { metadata: { namespace: 'default' } }, '400 ERR_OBJECT_MISMATCH'],
    ['a key that is too short', { spec: { key: 'short' } }, '422 ERR_KEY_MALFORMED'],
    ['no object', '[]', '400 ERR_BODY_UNREADABLE'],
    ['no JSON', '{"a', '400 ERR_BODY_UNREADABLE'],
    ['a key of YAML twice', 'spec: {}\nspec: {}', '400 ERR_BODY_UNREADABLE', 'application/yaml'],
    ['protobuf', 'k8s', '415 ERR_BODY_TYPE', 'application/vnd.kubernetes.protobuf'],
    ['a body that is too large', { metadata: { name: 'a'.repeat(2 ** 20) } }, '413 ERR_BODY_TOO_LARGE'],
    [
      'annotations that no API server takes',
      { metadata: { name: 'large', annotations: { note: 'x'.repeat(300_000) } } },
      '422 ERR_OBJECT_TOO_LARGE',
    ],
  ])('is refused with %s', async (_, body, refusal, type) => {
    const answer = await holder.send('POST', ownKeys, { body, ...(type ? { type } : {}) });
    expect(`${answer.status} ${answer.body.details.causes[0].reason}`).toBe(refusal);
  });

  it('that a dry run makes holds no key and is not there', async () => {
    const metadata = { name: name('dry') };
    const { status, body } = await holder.send('POST', `${ownKeys}?dryRun=All`, { body: { metadata } });
    expect(status).toBe(201);
    expect(body.spec.key).toMatch(/^sha256:/);
    expect((await holder.send('GET', `${ownKeys}/${metadata.name}`)).status).toBe(404);
    expect(await admin.find({ kind: 'OwnedAccessKey', metadata })).toBeUndefined();
  });

  it('for another user is refused by the platform', async () => {
    const { status, body } = await holder.send('POST', ownKeys, { body: { spec: { user: name('carol') } } });
    expect([status, body.reason]).toEqual([403, 'Forbidden']);
    expect(body.message).toContain('spec.user');
  });
});

describe('a list of keys', () => {
  it('holds one’s own in the order of names, by pages and by selectors, and no key', async () => {
    const lister = await ownClient(world, { user: name('lister') });
    const prefix = name('listed');
    for (const letter of ['c', 'a', 'b']) {
      const metadata = { name: `${prefix}-${letter}`, labels: { letter } };
      const made = await lister.send('POST', ownKeys, { body: { metadata, spec: { displayName: letter } } });
      expect(made.status).toBe(201);
    }
    const whole = await lister.send('GET', ownKeys);
    const own = ['a', 'b', 'c'].map((letter) => `${prefix}-${letter}`);
    // The credential of the request comes last.
    const all = [...own, lister.object.metadata.name];
    expect(whole.body).toMatchObject({ kind: 'OwnedAccessKeyList', apiVersion: 'management.platform.sh/v1' });
    expect(namesIn(whole.body)).toEqual(all);
    expect(whole.text).not.toContain('lk_');
    const first = await lister.send('GET', `${ownKeys}?limit=3`);
    expect(namesIn(first.body)).toEqual(all.slice(0, 3));
    const next = encodeURIComponent(first.body.metadata.continue);
    const second = await lister.send('GET', `${ownKeys}?limit=3&continue=${next}`);
    expect(namesIn(second.body)).toEqual(all.slice(3));
    expect(second.body.metadata.continue).toBeUndefined();
    expect((await holder.send('GET', `${ownKeys}?limit=3&continue=${next}`)).status).toBe(410);
    expect(namesIn((await lister.send('GET', `${ownKeys}?labelSelector=letter+in+(a,b)`)).body)).toEqual(
      own.slice(0, 2),
    );
    const byField = await lister.send('GET', `${ownKeys}?fieldSelector=metadata.name%3D${own[1]}`);
    expect(namesIn(byField.body)).toEqual([own[1]]);
    expect(namesIn((await stranger.send('GET', ownKeys)).body)).toEqual([stranger.object.metadata.name]);
  });

  it('is a Table where the client asks for one', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const { status, body, text } = await stranger.send('GET', `${ownKeys}?includeObject=Object`, { accept });
    expect(status).toBe(200);
    expect(body.kind).toBe('Table');
    expect(body.columnDefinitions.map((column: { name: string }) => column.name)).toContain('Subject');
    expect(body.rows[0].object.spec.key).toMatch(/^sha256:/);
    expect(text).not.toContain(stranger.key);
  });
});

describe('a key with a scope', async () => {
  const scoped = await ownClient(world, { user: alice, scope: { roles: [{ role: 'platform-cli' }] } });

  it('sees itself and its children, and makes nothing else', async () => {
    const { status, body } = await scoped.send('POST', ownKeys, { body: { spec: { displayName: 'child' } } });
    expect(status).toBe(201);
    expect(body.spec.accessKey).toBe(scoped.object.metadata.name);
    expect(namesIn((await scoped.send('GET', ownKeys)).body)).toEqual([
      body.metadata.name,
      scoped.object.metadata.name,
    ]);
    expect((await scoped.send('GET', `${ownKeys}/${holder.object.metadata.name}`)).status).toBe(404);
    const other = { spec: { accessKey: holder.object.metadata.name } };
    const refused = await scoped.send('POST', ownKeys, { body: other });
    expect([refused.status, refused.body.details.causes[0].reason]).toEqual([403, 'ERR_PARENT']);
  });
});

const namesIn = (list: { items: { metadata: { name: string } }[] }): readonly string[] =>
  list.items.map(({ metadata }) => metadata.name);

describe('a credential that the operator refuses', async () => {
  const scope = { roles: [{ role: 'platform-cli' }] };
  const [scoped, stopped] = await Promise.all(
    [{ scope }, {}].map(async (spec) => await ownClient(world, { user: alice, ...spec })),
  );
  if (scoped === undefined || stopped === undefined) throw new Error('no keys');
  await admin.patch(stopped.object, { spec: { disabled: true } });
  const known = { key: holder.key };
  const nowhere = { accessKey: 'no-such-key' };
  const ofStranger = { accessKey: stranger.object.metadata.name };
  const belowStopped = { accessKey: stopped.object.metadata.name };

  it.each([
    ['a key with the key of another', { maker: holder, place: ownKeys, spec: known }, 'DuplicateKey'],
    ['a child with the key of another', { maker: scoped, place: ownKeys, spec: known }, 'DuplicateKey'],
    [
      'a child of a key that is not there',
      { maker: holder, place: ownKeys, spec: nowhere },
      'AccessKeyNotFound',
    ],
    [
      'a child of a key of someone else',
      { maker: holder, place: ownKeys, spec: ofStranger },
      'AccessKeyNotAllowed',
    ],
    [
      'a child of a key that is disabled',
      { maker: holder, place: ownKeys, spec: belowStopped },
      'AccessKeyNotLive',
    ],
    [
      'a token below a key that is not there',
      { maker: holder, place: ownTokens, spec: nowhere },
      'AccessKeyNotFound',
    ],
    [
      'a token below a key of someone else',
      { maker: holder, place: ownTokens, spec: ofStranger },
      'AccessKeyNotAllowed',
    ],
    [
      'a token below a key that is disabled',
      { maker: holder, place: ownTokens, spec: belowStopped },
      'AccessKeyNotLive',
    ],
  ] as const)('is no 201, and nothing of it is left: %s', async (_, { maker, place, spec }, reason) => {
    const metadata = { name: name('refused') };
    const { status, body, text } = await maker.send('POST', place, { body: { metadata, spec } });
    // After 10 seconds it would be a 201 that says no more than that it does not work yet.
    expect([status, body.message]).toEqual([422, expect.stringContaining(`(${reason})`)]);
    expect(body.details.causes).toContainEqual(expect.objectContaining({ reason }));
    expect(text).not.toContain(holder.key);
    await until(
      'it is gone',
      async () => (await maker.send('GET', `${place}/${metadata.name}`)).status === 404,
    );
  });
});
