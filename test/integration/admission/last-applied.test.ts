import { describe, expect, it } from 'vitest';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { objectOf, pathOf, type TestObject } from './objects.ts';
import { jsonPatch, mergePatch } from './requests.ts';
import { admissionWorld, create, expectOk, read, writeStatus } from './world.ts';

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const plain = 'lk_plainplainplainplainplainplainplainplainplainplai';
const other = 'Zm9v.bar_baz~qux+quux/corge=grault-garply';
const hash = `sha256:${'0123456789abcdef'.repeat(4)}`;
const constant = 'redacted-by-latchkey';
const refusal =
  'spec.identity.connectorData, spec.oidcLogin: kubectl apply would leave a copy of these values in an annotation; set them with kubectl create, kubectl replace or kubectl apply --server-side';

const appliedOf = (object: TestObject): string => object.metadata.annotations?.[annotation] ?? '';

describe('the last-applied annotation', async () => {
  const world = await admissionWorld();
  const kubectl = async (args: readonly string[], object: object): Promise<void> => {
    const result = await world.plane.kubectl([...args, '-f', '-'], { input: JSON.stringify(object) });
    expect(result).toMatchObject({ exitCode: 0 });
  };
  /** Returns the annotation after a client wrote `text` there. */
  const written = async (text: string, resource: Resource = ownedAccessKeys): Promise<string> => {
    const object = objectOf(resource, {}, { annotations: { [annotation]: text } });
    return appliedOf(expectOk(await world.alice.send('POST', pathOf(resource), { body: object })));
  };

  describe.each([ownedAccessKeys, directClusterEndpointTokens])(
    'of a $kind with `scope: null`',
    (resource) => {
      const spec = resource === ownedAccessKeys ? { user: 'alice' } : {};
      const apply = async (object: object, ...flags: string[]) =>
        await world.plane.kubectl(['apply', ...flags, '-f', '-'], { input: JSON.stringify(object) });

      it('is refused, because kubectl drops the null and the credential would not be limited', async () => {
        const { stderr, exitCode } = await apply(objectOf(resource, { ...spec, scope: null }));
        expect(exitCode).not.toBe(0);
        expect(stderr).toContain(
          'without a scope the credential is not limited at all; write {} to allow nothing',
        );
      });

      it('does not take an existing scope away, which leaving the field out does, on purpose', async () => {
        const object = objectOf(resource, { ...spec, scope: {} });
        expect(await apply(object)).toMatchObject({ exitCode: 0 });
        expect((await apply({ ...object, spec: { ...spec, scope: null } })).exitCode).not.toBe(0);
        expect((await read(world, object)).spec).toMatchObject({ scope: {} });
        expect(await apply({ ...object, spec })).toMatchObject({ exitCode: 0 });
        expect((await read(world, object)).spec).not.toHaveProperty('scope');
      });

      it('is no concern of server-side apply, which sends the null', async () => {
        const object = objectOf(resource, { ...spec, scope: null });
        expect(await apply(object, '--server-side')).toMatchObject({ exitCode: 0 });
        expect((await read(world, object)).spec).toMatchObject({ scope: null });
      });
    },
  );

  describe('of an access key with a plain key', () => {
    it.each([
      ['kubectl apply', ['apply']],
      ['kubectl create --save-config', ['create', '--save-config']],
    ])('holds a constant in its place after %s', async (_, args) => {
      const object = objectOf(ownedAccessKeys, { user: 'alice', key: plain, ttl: 60 });
      await kubectl(args, object);
      const stored = await read(world, object);
      expect(stored.spec).toMatchObject({ key: plain });
      expect(JSON.parse(appliedOf(stored)).spec).toEqual({ user: 'alice', key: constant, ttl: 60 });
      expect(JSON.stringify(stored.metadata)).not.toContain(plain);
    });

    it.each<[string, object, object?]>([
      ['change, add and drop fields', { key: other, description: 'x' }, { key: constant, description: 'x' }],
      ['drop the key', {}],
      ['put the hash in its place', { key: hash }],
    ])('lets kubectl apply %s', async (_, then, inAnnotation = then) => {
      const object = objectOf(ownedAccessKeys, { user: 'alice', key: plain, ttl: 60 });
      await kubectl(['apply'], object);
      await kubectl(['apply'], { ...object, spec: { user: 'alice', ...then } });
      const stored = await read(world, object);
      expect(stored.spec).toEqual({ user: 'alice', ...then });
      expect(JSON.parse(appliedOf(stored)).spec).toEqual({ user: 'alice', ...inAnnotation });
    });

    it('stays clean when kubectl goes over to server-side apply', async () => {
      const object = objectOf(ownedAccessKeys, { user: 'alice', key: plain });
      await kubectl(['apply'], object);
      await kubectl(['apply', '--server-side', '--force-conflicts'], {
        ...object,
        spec: { user: 'alice', key: other },
      });
      const stored = await read(world, object);
      expect(stored.spec).toMatchObject({ key: other });
      expect(JSON.stringify(stored.metadata)).not.toContain(plain);
      expect(JSON.stringify(stored.metadata)).not.toContain(other);
    });

    it('loses the key wherever else in the manifest it stands', async () => {
      const spec = { user: 'alice', key: plain, description: `use ${plain}` };
      const annotations = { [annotation]: JSON.stringify(objectOf(ownedAccessKeys, spec)) };
      const object = objectOf(ownedAccessKeys, spec, { annotations });
      expect(appliedOf(await create(world.alice, object))).not.toContain(plain);
    });

    it('is clean in the answer to a dry run', async () => {
      const object = objectOf(ownedAccessKeys, { user: 'alice', key: plain });
      const input = JSON.stringify(object);
      const result = await world.plane.kubectl(['apply', '--dry-run=server', '-o', 'json', '-f', '-'], {
        input,
      });
      expect(result.exitCode).toBe(0);
      expect(JSON.stringify(JSON.parse(result.stdout).metadata)).not.toContain(plain);
    });
  });

  it('is clean when somebody applies what kubectl get printed of a generated key', async () => {
    const created = await create(world.admin, objectOf(ownedAccessKeys, { user: 'alice', key: plain }));
    await writeStatus(world, created, { keySource: 'Generated' });
    await kubectl(['apply'], await read(world, created));
    expect(JSON.stringify((await read(world, created)).metadata)).not.toContain(plain);
  });

  it.each([
    ['the token of a DirectClusterEndpointToken', directClusterEndpointTokens, 'token'],
    ['the document of a VirtualClusterInstanceKubeConfig', virtualClusterInstanceKubeConfigs, 'kubeConfig'],
  ])('is clean when somebody applies what kubectl get printed of %s', async (_, resource, field) => {
    const secret = 'apiVersion: v1\nusers: "eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl"\n';
    const created = await create(world.admin, objectOf(resource));
    await kubectl(['apply'], await writeStatus(world, created, { [field]: secret }));
    const stored = await read(world, created);
    expect(JSON.parse(appliedOf(stored)).status).toMatchObject({ [field]: constant });
    expect(stored.status).toMatchObject({ [field]: secret });
  });

  it.each([
    ['as kubectl writes it', `{"spec":{"key":"${plain}"}}`, `{"spec":{"key":"${constant}"}}`],
    ['at the end of the text', `{"spec":{"key":"${plain}"`, `{"spec":{"key":"${constant}"`],
    ['cut off', `{"spec":{"key":"${plain}`, `{"spec":{"key":"${constant}"`],
    ['with blanks', `{"key" \t:\n "${plain}" }`, `{"key":"${constant}" }`],
    ['twice', `{"key":"${plain}","b":{"key":"${other}"}}`, `{"key":"${constant}","b":{"key":"${constant}"}}`],
    ['with escapes', '{"key":"\\u006ck_plainplainplain\\"plain"}', `{"key":"${constant}"}`],
    ['of other characters', '{"key":"äöüäöüäöüäöüäöüäöüäöü"}', `{"key":"${constant}"}`],
    ['as 64 hexadecimal digits', `{"key":"${hash.slice(7)}"}`, `{"key":"${constant}"}`],
    ['as a hash that is none', `{"key":"sha256:${plain}"}`, `{"key":"${constant}"}`],
    ['as a hash with something behind it', `{"key":"${hash}${plain}"}`, `{"key":"${constant}"}`],
    ['as a hash', `{"key":"${hash}"}`, `{"key":"${hash}"}`],
    ['empty', '{"key":""}', '{"key":""}'],
    ['shorter than a key can be', '{"key":"config"}', '{"key":"config"}'],
    ['as no text', '{"key":12345678901234567890123}', '{"key":12345678901234567890123}'],
    ['redacted already', `{"key":"${constant}"}`, `{"key":"${constant}"}`],
    ['under the name token', `{"token":"${plain}"}`, `{"token":"${constant}"}`],
    [
      'under the name kubeConfig',
      '{"kubeConfig":"a: |\\n  b: \\"c\\" 1234567890"}',
      `{"kubeConfig":"${constant}"}`,
    ],
    [
      'under several names',
      `{"key":"${plain}","token":"${other}"}`,
      `{"key":"${constant}","token":"${constant}"}`,
    ],
    [
      'under another name',
      '{"keyring":"aaaaaaaaaaaaaaaaaaaaaaaa"}',
      '{"keyring":"aaaaaaaaaaaaaaaaaaaaaaaa"}',
    ],
    ['inside a text', '{"a":"\\"key\\":\\"b"}', '{"a":"\\"key\\":\\"b"}'],
    ['nowhere', '{"spec":{}}', '{"spec":{}}'],
  ])('is written with a value %s', async (_, text, want) => {
    expect(await written(text)).toBe(want);
  });

  it.each(['a JSON patch', 'a merge patch'])('is cleaned when %s writes it', async (how) => {
    const created = await create(world.alice, objectOf(ownedAccessKeys));
    const value = `{"key":"${plain}"}`;
    const path = `/metadata/annotations/${annotation.replace('/', '~1')}`;
    const answer =
      how === 'a JSON patch'
        ? await jsonPatch(world.alice, created, [{ op: 'add', path, value }])
        : await mergePatch(world.alice, created, { metadata: { annotations: { [annotation]: value } } });
    expect(appliedOf(expectOk(answer))).toBe(`{"key":"${constant}"}`);
  });

  describe('with login data', () => {
    const login = 'login-secret';
    const specs: [string, Record<string, unknown>][] = [
      ['connectorData', { identity: { connectorData: login } }],
      ['an ID token', { oidcLogin: { idToken: login } }],
      ['an access token', { oidcLogin: { accessToken: login } }],
      ['a refresh token', { oidcLogin: { refreshToken: login } }],
      ['a single character', { oidcLogin: { refreshToken: 'x' } }],
    ];

    it.each([
      ['apply', ['apply']],
      ['create --save-config', ['create', '--save-config']],
      ['apply --dry-run', ['apply', '--dry-run=server']],
    ])('is refused by kubectl %s', async (_, args) => {
      const object = objectOf(ownedAccessKeys, { user: 'alice', oidcLogin: { refreshToken: login } });
      const input = JSON.stringify(object);
      const result = await world.plane.kubectl([...args, '-f', '-'], { input });
      expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(refusal) });
      expect(result.stderr).not.toContain(login);
    });

    it.each(specs)('is refused in what kubectl apply sends, new and as a change: %s', async (_, spec) => {
      const object = objectOf(ownedAccessKeys, { user: 'alice', ...spec });
      const annotations = { [annotation]: JSON.stringify(object) };
      const whole = { ...object, metadata: { ...object.metadata, annotations } };
      const made = await create(world.alice, objectOf(ownedAccessKeys));
      for (const { status, body } of [
        await world.alice.send('POST', pathOf(ownedAccessKeys), { body: whole }),
        await mergePatch(world.alice, made, { metadata: { annotations }, spec }),
      ]) {
        expect({ status, message: body.message }).toEqual({
          status: 403,
          message: expect.stringContaining(refusal),
        });
        expect(body.message).not.toContain(login);
      }
    });

    it.each([
      ['kubectl create', ['create']],
      ['kubectl apply --server-side', ['apply', '--server-side']],
    ])('is not touched by %s, which writes none', async (_, args) => {
      const object = objectOf(ownedAccessKeys, { user: 'alice', oidcLogin: { idToken: login } });
      await kubectl(args, object);
      const stored = await read(world, object);
      expect(stored.spec).toMatchObject({ oidcLogin: { idToken: login } });
      expect(JSON.stringify(stored.metadata)).not.toContain(login);
    });

    it('is not touched by kubectl replace', async () => {
      const object = objectOf(ownedAccessKeys, { user: 'alice' });
      await create(world.admin, object);
      await kubectl(['replace'], { ...object, spec: { user: 'alice', oidcLogin: { idToken: login } } });
      expect((await read(world, object)).spec).toMatchObject({ oidcLogin: { idToken: login } });
    });

    it.each([
      ['empty values', '{"spec":{"oidcLogin":{"idToken":""}}}'],
      ['their names in a text', '{"spec":{"description":"\\"idToken\\":\\"x\\""}}'],
    ])('is accepted with %s', async (_, text) => {
      expect(await written(text)).toBe(text);
    });
  });

  describe('of great size', () => {
    const many = (part: string, bytes: number): string => part.repeat(Math.floor(bytes / part.length));

    it.each([
      ['one long value', `{"key":"${'a'.repeat(200_000)}"}`, `{"key":"${constant}"}`],
      ['one long text without a key', `{"a":"${'b'.repeat(200_000)}"}`, `{"a":"${'b'.repeat(200_000)}"}`],
    ])('is cleaned: %s', async (_, text, want) => {
      expect(await written(text)).toBe(want);
    });

    it.each([
      ['plain keys', `"key":"${plain}",`],
      ['names', '"key"'],
      ['tokens', `"token":"${plain}",`],
      ['documents', `"kubeConfig":"${plain}",`],
    ])('is removed when it is made of so many %s that cleaning it would take long', async (_, part) => {
      expect(await written(many(part, 240_000))).toBe('');
      expect(await written(part.repeat(100))).toBe('');
      expect(await written(part.repeat(99))).toBe(part.repeat(99).replaceAll(plain, constant));
    });

    it('is refused by the API server when it is longer than annotations may be', async () => {
      const long = objectOf(
        ownedAccessKeys,
        {},
        { annotations: { [annotation]: `{"a":"${plain.repeat(8000)}"}` } },
      );
      const refused = await world.alice.send('POST', pathOf(ownedAccessKeys), { body: long });
      expect(refused.status).toBe(422);
      expect(refused.body.message).toContain('Too long');
      expect(JSON.stringify(refused.body)).not.toContain(plain);
    });
  });
});

describe("kapp's annotation with the original manifest", async () => {
  const world = await admissionWorld();
  const original = 'kapp.k14s.io/original';
  const md5 = { 'kapp.k14s.io/original-diff-md5': '58e0494c51d30eb3494f7c9198986bb9' };
  const originalOf = (object: TestObject): string => object.metadata.annotations?.[original] ?? '';
  /** An object as kapp sends it: with the whole manifest in its annotation. */
  const withOriginal = (resource: Resource, spec: Record<string, unknown>, text?: string) => {
    const object = objectOf(resource, spec);
    const annotations = { ...md5, [original]: text ?? JSON.stringify(object) };
    return { ...object, metadata: { ...object.metadata, annotations } };
  };
  const send = async (object: TestObject, resource: Resource = ownedAccessKeys) =>
    await world.alice.send('POST', pathOf(resource), { body: object });

  it('holds a constant in place of a plain key, and its hash stays', async () => {
    const stored = expectOk(
      await send(withOriginal(ownedAccessKeys, { user: 'alice', key: plain, ttl: 60 })),
    );
    expect(stored.spec).toMatchObject({ key: plain });
    expect(JSON.parse(originalOf(stored)).spec).toEqual({ user: 'alice', key: constant, ttl: 60 });
    expect(stored.metadata.annotations).toMatchObject(md5);
    expect(JSON.stringify(stored.metadata)).not.toContain(plain);
  });

  it.each([
    ['a key in another place', `{"spec":{"description":"use ${plain}","key":"${plain}"}}`],
    ['a token', `{"status":{"token":"${plain}"}}`],
    ['a document', `{"status":{"kubeConfig":"${plain}"}}`],
    ['a text that is cut off', `{"spec":{"key":"${plain}`],
  ])('is clean of %s', async (_, text) => {
    const stored = expectOk(await send(withOriginal(ownedAccessKeys, { user: 'alice', key: plain }, text)));
    expect(originalOf(stored)).toContain(constant);
    expect(originalOf(stored)).not.toContain(plain);
  });

  it.each([directClusterEndpointTokens, virtualClusterInstanceKubeConfigs])(
    'is clean on a $kind',
    async (resource) => {
      const text = `{"status":{"token":"${plain}","kubeConfig":"${other}"}}`;
      const stored = expectOk(await send(withOriginal(resource, {}, text), resource));
      expect(originalOf(stored)).toBe(`{"status":{"token":"${constant}","kubeConfig":"${constant}"}}`);
    },
  );

  it('is cleaned when an update writes it, beside that of kubectl apply', async () => {
    const created = await create(world.alice, objectOf(ownedAccessKeys, { user: 'alice', key: plain }));
    const copy = JSON.stringify({ spec: { key: plain } });
    const both = { metadata: { annotations: { [original]: copy, [annotation]: copy } } };
    const answer = await mergePatch(world.alice, created, both);
    const cleaned = JSON.stringify({ spec: { key: constant } });
    expect(expectOk(answer).metadata.annotations).toMatchObject({
      [original]: cleaned,
      [annotation]: cleaned,
    });
  });

  it('keeps a hash, and what is no credential', async () => {
    const text = `{"spec":{"key":"${hash}","description":"key"}}`;
    expect(originalOf(expectOk(await send(withOriginal(ownedAccessKeys, { user: 'alice' }, text))))).toBe(
      text,
    );
  });

  it('is removed when cleaning it would take long', async () => {
    const text = `"key":"${plain}",`.repeat(100);
    const stored = expectOk(await send(withOriginal(ownedAccessKeys, { user: 'alice' }, text)));
    expect(stored.metadata.annotations).not.toHaveProperty([original]);
    expect(stored.metadata.annotations).toMatchObject(md5);
  });

  it.each<[string, Record<string, unknown>]>([
    ['connectorData', { identity: { connectorData: 'login-secret' } }],
    ['a refresh token', { oidcLogin: { refreshToken: 'login-secret' } }],
  ])('is refused with login data: %s', async (_, spec) => {
    const { status, body } = await send(withOriginal(ownedAccessKeys, { user: 'alice', ...spec }));
    expect(status).toBe(403);
    expect(body.message).toContain('kapp would leave a copy of these values in an annotation');
    expect(JSON.stringify(body)).not.toContain('login-secret');
  });

  it('is refused where it says that there is no scope and the object does not', async () => {
    const text = '{"spec":{"scope":null}}';
    const { status, body } = await send(withOriginal(ownedAccessKeys, { user: 'alice' }, text));
    expect(status).toBe(403);
    expect(body.message).toContain('spec.scope: null stands in the manifest of kapp');
    expectOk(await send(withOriginal(ownedAccessKeys, { user: 'alice', scope: null }, text)));
  });
});
