import { describe, expect, it } from 'vitest';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { bindRole } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import {
  clusters,
  credentialLocks,
  type Resource,
  spaceInstances,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, OwnClient, ownAPI, ownClient, ownKeys, ownTokens } from './own-client.ts';

const world = await gatewayWorld();
const { admin, name } = world;
const alice = name('alice');
const holder = await ownClient(world, { user: alice });
const stranger = await ownClient(world, { user: name('bob') });
const jsonPatch = 'application/json-patch+json';
const mergePatch = 'application/merge-patch+json';
const apply = 'application/apply-patch+yaml';

/** A new key of the holder, its path, and a client that sends it. */
async function make(spec: object = {}) {
  const { status, body } = await holder.send('POST', ownKeys, { body: { spec } });
  expect(status).toBe(201);
  const path = `${ownKeys}/${body.metadata.name}`;
  return { path, object: body, client: new OwnClient(world, body.spec.key) };
}

const works = async (client: OwnClient): Promise<boolean> =>
  (await client.send('GET', `${management}/version`)).status === 200;

const manifest = (spec: object) => ({
  apiVersion: 'management.platform.sh/v1',
  kind: 'OwnedAccessKey',
  spec,
});
type Way = readonly [method: string, type: string | undefined, body: (read: Read, spec: object) => unknown];
type Read = Awaited<ReturnType<typeof make>>['object'];
const ways: Readonly<Record<string, Way>> = {
  PUT: ['PUT', undefined, (read, spec) => ({ ...read, spec: { ...read.spec, ...spec } })],
  'merge patch': ['PATCH', mergePatch, (_, spec) => ({ spec })],
  'JSON patch': [
    'PATCH',
    jsonPatch,
    (_, spec) => Object.entries(spec).map(([field, value]) => ({ op: 'add', path: `/spec/${field}`, value })),
  ],
  apply: ['PATCH', apply, (_, spec) => manifest(spec)],
};

/** Sends the object as it is read, with these fields. */
const change = async (path: string, way: string, spec: object, asked = '') => {
  const [method, type, bodyOf] = ways[way] as Way;
  const query = type === apply ? '?fieldManager=me&force=true' : asked;
  const body = bodyOf((await holder.send('GET', path)).body, spec);
  return await holder.send(method, `${path}${query}`, { ...(type === undefined ? {} : { type }), body });
};

describe('a field of the platform', () => {
  const values = [{ identity: { email: 'boss@example.com' } }, { parent: 'session' }, { type: 'Login' }];
  const refused = (spec: object) => ({
    status: 403,
    body: { message: expect.stringContaining(`spec.${Object.keys(spec)[0]} is set by the platform`) },
  });

  it.each(values)('is not in a new key: %j', async (spec) => {
    expect(await holder.send('POST', ownKeys, { body: { spec } })).toMatchObject(refused(spec));
    const path = `${ownKeys}/${name('applied')}?fieldManager=me`;
    expect(await holder.send('PATCH', path, { type: apply, body: manifest(spec) })).toMatchObject(
      refused(spec),
    );
  });

  it.each(Object.keys(ways))('is not set by %s, and may stay as it stands', async (way) => {
    const { path } = await make();
    for (const spec of values) expect(await change(path, way, spec)).toMatchObject(refused(spec));
    const login = { identity: { email: 'alice@example.com' }, type: 'Login' };
    const made = await admin.untilReady(await admin.createKey({ user: alice, ttl: 600, ...login }));
    const ofLogin = `${ownKeys}/${made.metadata.name}`;
    await until('the gateway has it', async () => (await holder.send('GET', ofLogin)).status === 200);
    const left = await until('there is no conflict', async () => {
      const answer = await change(ofLogin, way, { description: way });
      return answer.status !== 409 && answer;
    });
    expect(left).toMatchObject({ status: 200, body: { spec: login } });
    expect(await change(ofLogin, way, { type: 'Other' })).toMatchObject(refused({ type: '' }));
  });
});

describe('a key that is sent back', () => {
  it('as it was read, and changed, keeps its credential', async () => {
    const { path, client } = await make();
    const { body: read } = await holder.send('GET', path);
    const sent = { ...read, spec: { ...read.spec, displayName: 'new' } };
    const { status, body } = await holder.send('PUT', path, { body: sent });
    expect([status, body.spec.displayName, body.spec.key]).toEqual([200, 'new', read.spec.key]);
    expect(await works(client)).toBe(true);
  });

  it('without its key keeps it, and with another one has that from now on', async () => {
    const { path, client } = await make();
    const { body: read } = await holder.send('GET', path);
    const { key: _, ...spec } = read.spec;
    const { status, body } = await holder.send('PUT', path, { body: { ...read, spec } });
    expect([status, body.spec.key]).toEqual([200, read.spec.key]);
    expect(await works(client)).toBe(true);
    const other = `another-key-of-${alice}`;
    // The gateway records the use of the key meanwhile.
    const changed = await until('there is no conflict', async () => {
      const { metadata } = (await holder.send('GET', path)).body;
      const answer = await holder.send('PUT', path, {
        body: { ...body, metadata, spec: { ...spec, key: other } },
      });
      return answer.status !== 409 && answer;
    });
    expect([changed.status, changed.body.spec.key]).toEqual([200, `sha256:${credentialHash(other)}`]);
    const isNew = async () => (await works(new OwnClient(world, other))) && !(await works(client));
    await until('the other key works', isNew);
  });

  it('without the key that the operator generated shows nothing of it', async () => {
    const stored = await admin.untilReady(await admin.createKey({ user: alice }));
    const key = stored.spec['key'] as string;
    const path = `${ownKeys}/${stored.metadata.name}`;
    await until('the gateway has it', async () => (await holder.send('GET', path)).status === 200);
    const { body: read, text } = await holder.send('GET', path);
    const spec = { ...read.spec, displayName: 'mine' };
    const answers = [
      { text },
      await holder.send('PUT', path, { body: { ...read, spec } }),
      await holder.send('PATCH', path, { type: mergePatch, body: { spec: { description: 'x' } } }),
      await holder.send('PATCH', `${path}?fieldManager=me`, {
        type: apply,
        body: { apiVersion: read.apiVersion, kind: read.kind, spec: { description: 'y' } },
      }),
      await holder.send('DELETE', `${path}?dryRun=All`),
      await holder.send('PATCH', path, { type: mergePatch, body: { spec: { ttl: 'x' } } }),
      await holder.send('DELETE', path),
    ];
    for (const answer of answers) expect(answer.text).not.toContain(key);
    expect(answers.slice(1).map((answer) => 'status' in answer && answer.status)).toEqual([
      200,
      200,
      expect.toSatisfy((status: number) => status === 200 || status === 409),
      200,
      422,
      200,
    ]);
  });

  it.each([
    ['another name', { metadata: { name: 'other' } }, 400],
    ['no version', { metadata: { resourceVersion: undefined } }, 422],
    ['an old version', { metadata: { resourceVersion: '1' } }, 409],
    ['another UID', { metadata: { uid: '00000000-0000-4000-8000-000000000000' } }, 409],
  ])('with %s is refused', async (_, change, expected) => {
    const { path, object } = await make();
    const metadata = { ...object.metadata, ...change.metadata };
    expect((await holder.send('PUT', path, { body: { ...object, metadata } })).status).toBe(expected);
  });
});

describe('a patch', () => {
  it('of either type changes the object', async () => {
    const { path, client } = await make();
    const body = [
      { op: 'add', path: '/metadata/annotations/example.com~1note', value: 'a' },
      { op: 'add', path: '/spec/displayName', value: 'first' },
    ];
    const first = await holder.send('PATCH', `${path}?fieldManager=tester`, { type: jsonPatch, body });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      metadata: { annotations: { 'example.com/note': 'a' } },
      spec: { displayName: 'first' },
    });
    expect(first.body.metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: 'tester', operation: 'Update' }),
    );
    const second = await holder.send('PATCH', path, {
      type: mergePatch,
      body: { metadata: { annotations: { 'example.com/note': null } }, spec: { displayName: 'second' } },
    });
    expect([second.status, second.body.spec.displayName]).toEqual([200, 'second']);
    expect(second.body.metadata.annotations).not.toHaveProperty('example.com/note');
    expect(await works(client)).toBe(true);
  });

  it.each([
    ['a failing test', jsonPatch, [{ op: 'test', path: '/spec/user', value: 'x' }], 422],
    ['a path that is not there', jsonPatch, [{ op: 'remove', path: '/spec/none' }], 422],
    ['no list', jsonPatch, {}, 422],
    ['another name', mergePatch, { metadata: { name: 'x' } }, 400],
    ['an old version', mergePatch, { metadata: { resourceVersion: '1' } }, 409],
    ['an unknown type', 'application/strategic-merge-patch+json', {}, 415],
  ])('with %s is refused', async (_, type, body, expected) => {
    const { path } = await make();
    expect((await holder.send('PATCH', path, { type, body })).status).toBe(expected);
  });

  it('is tried again while others write', async () => {
    const { path } = await make();
    const bodies = Array.from({ length: 4 }, (_, index) => ({
      metadata: { labels: { [`l${index}`]: 'x' } },
    }));
    const patched = await Promise.all(
      bodies.map(async (body) => await holder.send('PATCH', path, { type: mergePatch, body })),
    );
    expect(patched.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { body } = await holder.send('GET', path);
    expect(body.metadata.labels).toMatchObject({ l0: 'x', l1: 'x', l2: 'x', l3: 'x' });
  });
});

describe('a key that is applied', () => {
  it('is made once, with its key in that answer, and keeps it afterwards', async () => {
    const made = name('applied');
    const path = `${ownKeys}/${made}?fieldManager=kubectl`;
    const manifest = `apiVersion: management.platform.sh/v1\nkind: OwnedAccessKey\nmetadata:\n  name: ${made}\nspec:\n  ttl: 3600\n`;
    const first = await holder.send('PATCH', path, { type: apply, body: manifest });
    expect(first.status).toBe(201);
    const client = new OwnClient(world, first.body.spec.key);
    expect(await works(client)).toBe(true);
    expect(first.body.metadata.labels?.['management.platform.sh/ephemeral']).toBeUndefined();
    const second = await holder.send('PATCH', path, {
      type: apply,
      body: `${manifest}  displayName: again\n`,
    });
    expect([second.status, second.body.spec.displayName]).toEqual([200, 'again']);
    expect(second.body.spec.key).toBe(`sha256:${credentialHash(client.key)}`);
    expect(await works(client)).toBe(true);
  });
});

describe('an object of somebody else', () => {
  it.each<[string, string, object?]>([
    ['GET', ''],
    ['PUT', '', { body: { spec: {} } }],
    ['PATCH', '', { type: jsonPatch, body: [{ op: 'copy', from: '/spec/key', path: '/metadata/name' }] }],
    ['PATCH', '', { type: mergePatch, body: { spec: { ttl: 'x' } } }],
    ['PATCH', '?fieldManager=me', { type: apply, body: { spec: { ttl: 'x' } } }],
    ['DELETE', ''],
    ['DELETE', '?dryRun=All'],
  ])('is not found by %s %s', async (method, query, sent) => {
    const path = `${ownKeys}/${holder.object.metadata.name}${query}`;
    const { status, body } = await stranger.send(method, path, sent);
    expect([status, body.reason]).toEqual([404, 'NotFound']);
    expect(await works(holder)).toBe(true);
  });

  it('has a name that is taken', async () => {
    const body = { metadata: { name: holder.object.metadata.name } };
    const refused = await stranger.send('POST', ownKeys, { body });
    expect([refused.status, refused.body.reason]).toEqual([409, 'AlreadyExists']);
  });
});

describe('a delete', () => {
  it('ends one key; a dry run ends none', async () => {
    const { path, object, client } = await make();
    const dry = await holder.send('DELETE', `${path}?dryRun=All`);
    expect([dry.status, dry.body.metadata.name]).toEqual([200, object.metadata.name]);
    expect(await works(client)).toBe(true);
    const other = { preconditions: { uid: '00000000-0000-4000-8000-000000000000' } };
    expect((await holder.send('DELETE', path, { body: other })).status).toBe(409);
    expect((await holder.send('DELETE', path, { body: {} })).status).toBe(200);
    expect(await works(client)).toBe(false);
    await until('it is gone', async () => (await holder.send('GET', path)).status === 404);
  });

  it('of the key that asks for it is answered', async () => {
    const { path, client } = await make();
    const { status } = await client.send('DELETE', path, { body: {} });
    expect(status).toBe(200);
    expect(await works(client)).toBe(false);
  });

  it('of all leaves what the selector does not select, and what is somebody else’s', async () => {
    const lister = await ownClient(world, { user: name('lister') });
    for (const group of ['a', 'a', 'b']) {
      const body = { metadata: { labels: { group } } };
      expect((await lister.send('POST', ownKeys, { body })).status).toBe(201);
    }
    const { status, body } = await lister.send('DELETE', `${ownKeys}?labelSelector=group%3Da`);
    expect([status, body.status, body.message]).toEqual([200, 'Success', 'deleted 2']);
    const remaining = async () => (await lister.send('GET', ownKeys)).body.items.length as number;
    await until('two are left', async () => (await remaining()) === 2);
  });
});

describe('a token', () => {
  it('is in the answer to its POST and nowhere else', async () => {
    const { status, body, headers } = await holder.send('POST', ownTokens, {
      body: { spec: { ttl: 600, scope: { clusters: [{ cluster: 'c' }] } } },
    });
    expect(status).toBe(201);
    expect(body.status.token).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(String(headers['warning'])).toContain('status.token holds the credential in this answer only');
    const path = `${ownTokens}/${body.metadata.name}`;
    const read = await holder.send('GET', path);
    expect([read.status, read.body.status.token]).toEqual([200, undefined]);
    const patched = await holder.send('PATCH', path, { type: mergePatch, body: { spec: { ttl: 900 } } });
    expect(patched.text).not.toContain('eyJ');
    expect((await stranger.send('GET', path)).status).toBe(404);
    expect((await holder.send('DELETE', path)).text).not.toContain('eyJ');
  });

  it('with an empty body is one, and a dry run makes none', async () => {
    const made = await holder.send('POST', ownTokens, { body: { metadata: {}, spec: {} } });
    expect([made.status, typeof made.body.status.token]).toEqual([201, 'string']);
    const dry = await holder.send('POST', `${ownTokens}?dryRun=All`, { body: {} });
    expect([dry.status, dry.body.status?.token]).toEqual([201, undefined]);
  });
});

describe('a body with a field that is not known', () => {
  const typo = { scopes: { clusters: [{ cluster: 'staging' }] } };
  const whole = { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey', spec: typo };
  const operation = [{ op: 'add', path: '/spec/scopes', value: {} }];

  it.each([
    ['POST', ownKeys, 'application/json', { spec: typo }],
    ['POST', ownKeys, 'application/yaml', 'spec: {scopes: {}}'],
    ['POST', ownKeys, 'application/json', { scope: {}, spec: {} }],
    ['POST', ownKeys, 'application/json', { spec: { scope: { projects: [{ name: 'demo' }] } } }],
    ['POST', ownTokens, 'application/json', { spec: typo }],
    ['POST', `${ownKeys}?dryRun=All`, 'application/json', { spec: typo }],
    ['POST', `${ownKeys}?fieldValidation=`, 'application/json', { spec: typo }],
    ['PATCH', '', mergePatch, { spec: typo }],
    ['PATCH', '', jsonPatch, operation],
  ])('is refused by name: %s %s as %s: %j', async (method, place, type, body) => {
    const path = place || (await make()).path;
    const { status, body: answer } = await holder.send(method, path, { type, body });
    expect([status, answer.message]).toEqual([400, expect.stringMatching(/unknown field "(spec\.)?scope/)]);
  });

  it('is refused as PUT and as a manifest that is applied, where a value of another type is, too', async () => {
    const { path, object } = await make();
    const put = await holder.send('PUT', path, { body: { ...object, spec: { ...object.spec, ...typo } } });
    expect([put.status, put.body.message]).toEqual([400, expect.stringContaining('"spec.scopes"')]);
    for (const place of [path, `${ownKeys}/${name('applied')}`])
      for (const [field, body] of [
        ['.spec.scopes', whole],
        ['.spec.displayName', { ...whole, spec: { displayName: 5 } }],
      ] as const) {
        const sent = await holder.send('PATCH', `${place}?fieldManager=me`, { type: apply, body });
        expect([sent.status, sent.body.message]).toEqual([400, expect.stringContaining(field)]);
      }
  });

  const asked = ['Warn', 'Ignore', 'Strict'].flatMap((validation) =>
    ['POST', 'PUT', 'merge patch', 'JSON patch'].map((way) => [validation, way] as const),
  );

  it.each(asked)('is treated as the client asks for: %s, by %s', async (validation, way) => {
    const query = `?fieldValidation=${validation}`;
    const answer =
      way === 'POST'
        ? await holder.send('POST', ownKeys + query, { body: { spec: typo } })
        : await changeFreshKey(way, query);
    const warned = String(answer.headers['warning']).includes('spec.scopes');
    const created = way === 'POST' ? 201 : 200;
    expect([answer.status, warned]).toEqual([validation === 'Strict' ? 400 : created, validation === 'Warn']);
    if (answer.status !== 400) expect(answer.body.spec).not.toHaveProperty('scopes');
  });

  /** The operator may have written in between. */
  const changeFreshKey = async (way: string, query: string) => {
    const { path } = await make();
    return await until('there is no conflict', async () => {
      const answer = await change(path, way, typo, query);
      return answer.status !== 409 && answer;
    });
  };
});

describe('an object of another kind of ours with a field that is not known', async () => {
  const user = name('builder');
  const builder = await ownClient(world, { user });
  const pathOf = ({ plural, namespaced }: Resource) =>
    `${ownAPI}/${namespaced ? 'namespaces/default/' : ''}${plural}`;
  const typo = { expirationTimestamps: '2026-11-26T18:00:00Z' };
  const spec = { user: name('ada'), ...typo };
  const named = expect.stringContaining('unknown field "spec.expirationTimestamps"');
  await bindRole(admin, user, 'cluster-admin');

  it.each([credentialLocks, clusters, spaceInstances, virtualClusterInstances])(
    'is refused by name: $kind',
    async (resource) => {
      const body = manifestOf(resource, spec);
      for (const query of ['', '?dryRun=All&fieldValidation=']) {
        const answer = await builder.send('POST', pathOf(resource) + query, { body });
        expect([answer.status, answer.body.message]).toEqual([400, named]);
      }
    },
  );

  it('is treated as the client asks for, and refused in a change, too', async () => {
    const body = manifestOf(credentialLocks, spec);
    const asked = await builder.send('POST', `${pathOf(credentialLocks)}?fieldValidation=Warn`, { body });
    expect([asked.status, asked.headers['warning']]).toEqual([
      201,
      expect.stringContaining('expirationTimestamps'),
    ]);
    const path = `${pathOf(credentialLocks)}/${asked.body.metadata.name}`;
    const operation = [{ op: 'add', path: '/spec/expirationTimestamps', value: '' }];
    // The API server says it itself, of a patch with this status.
    for (const [status, method, type, sent] of [
      [400, 'PUT', 'application/json', { ...asked.body, spec }],
      [422, 'PATCH', mergePatch, { spec: typo }],
      [422, 'PATCH', jsonPatch, operation],
    ] as const) {
      const answer = await builder.send(method, path, { type, body: sent });
      expect([answer.status, answer.body.message]).toEqual([status, named]);
    }
  });
});

describe('a change after which a key never ends', () => {
  it.each(Object.keys(ways))('says so as %s', async (way) => {
    const { path } = await make({ ttl: 600 });
    const answer = await until('there is no conflict', async () => {
      const changed = await change(path, way, { ttl: 0 });
      return changed.status !== 409 && changed;
    });
    expect([answer.status, String(answer.headers['warning'])]).toEqual([
      200,
      expect.stringContaining('spec.ttl: without it, or with 0, the key never ends'),
    ]);
  });
});

describe('a change that takes the scope away', () => {
  const scope = { clusters: [{ cluster: 'staging' }] };
  const lost = 'spec.scope is gone';

  it.each([
    [mergePatch, { spec: { scope: null } }],
    [jsonPatch, [{ op: 'remove', path: '/spec/scope' }]],
  ])('as %s says so', async (type, body) => {
    const { path } = await make({ ttl: 600, scope });
    const other = await holder.send('PATCH', path, {
      type: mergePatch,
      body: { spec: { displayName: 'a' } },
    });
    const answer = await holder.send('PATCH', path, { type, body });
    expect([answer.status, answer.body.spec.scope]).toEqual([200, undefined]);
    expect(String(answer.headers['warning'])).toContain(lost);
    expect(String(other.headers['warning'])).not.toContain(lost);
  });

  it('needs what making the result needs: a key with a scope cannot take its own away', async () => {
    const { path, client } = await make({ ttl: 600, scope });
    await until('the key works', async () => await works(client));
    for (const [type, body] of [
      [mergePatch, { spec: { scope: null } }],
      [jsonPatch, [{ op: 'remove', path: '/spec/scope' }]],
    ] as const) {
      const { status, body: refusal } = await client.send('PATCH', path, { type, body });
      expect([status, refusal.details.causes[0].reason]).toEqual([403, 'ERR_CREDENTIAL_LIMITS']);
      expect(refusal.message).toContain('Log in again, or ask an administrator of the platform');
    }
    expect((await holder.send('GET', path)).body.spec.scope).toEqual(scope);
  });
});
