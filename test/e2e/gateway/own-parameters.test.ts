import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { groups } from '../../../src/api/names.ts';
import { clientWith } from './api-client.ts';
import { gatewayWorld } from './gateway-world.ts';
import { untilKnown } from './known-holder.ts';
import { credential, management, OwnClient, ownClient, ownKeys, ownTokens } from './own-client.ts';

const world = await gatewayWorld();
const { admin, name, plane } = world;
const alice = name('alice');
const holder = await ownClient(world, { user: alice });
const stranger = await ownClient(world, { user: name('bob') });
const otherUID = '00000000-0000-4000-8000-000000000000';
const applied = 'application/apply-patch+yaml';

async function make(place = ownKeys, spec: object = { ttl: 600 }, metadata: object = {}) {
  const { status, body } = await holder.send('POST', place, { body: { metadata, spec } });
  expect(status).toBe(201);
  return { object: body, path: `${place}/${body.metadata.name}` };
}
const statusOf = async (path: string) => (await holder.send('GET', path)).status;
const metadataAt = async (path: string) => (await holder.send('GET', path)).body.metadata;

describe('pretty', () => {
  it.each([
    ['GET', ''],
    ['GET', '?limit=1'],
    ['PATCH', ''],
    ['DELETE', ''],
  ])('lays the answer to %s %s out for people, and changes nothing else', async (method, query) => {
    const { path } = await make();
    const place = query === '' ? path : ownKeys + query;
    const sent = { body: {}, type: 'application/merge-patch+json' };
    const options = method === 'PATCH' ? sent : {};
    const [pretty, plain] = [`${place}${query ? '&' : '?'}pretty=true&dryRun=All`, place];
    const answer = await holder.send(method, pretty, options);
    expect([answer.status, answer.text.startsWith('{\n  "')]).toEqual([200, true]);
    expect(answer.text).not.toMatch(credential);
    expect((await holder.send('GET', plain)).text).not.toContain('\n');
  });
});

describe('a delete', () => {
  const owned = async (blockOwnerDeletion?: boolean) => {
    const owner = await make();
    const { apiVersion, kind, metadata } = owner.object;
    const reference = { apiVersion, kind, name: metadata.name, uid: metadata.uid };
    const ownerReferences = [
      { ...reference, ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }) },
    ];
    return { owner, below: await make(ownTokens, { ttl: 600 }, { ownerReferences }) };
  };

  it.each([['query'], ['body']])('orphans what it owns where the %s asks for that', async (place) => {
    const { owner } = await owned();
    const { status, body } =
      place === 'query'
        ? await holder.send('DELETE', `${owner.path}?propagationPolicy=Orphan`)
        : await holder.send('DELETE', owner.path, { body: { propagationPolicy: 'Orphan' } });
    // Its own finalizer tells the garbage collector.
    expect([status, body.metadata.finalizers]).toEqual([200, expect.arrayContaining(['orphan'])]);
    await until('the owner is gone', async () => (await statusOf(owner.path)) === 404, {
      timeoutMs: 120_000,
    });
  });

  it('waits for what it owns in the foreground, and the credential ends at once', async () => {
    const { owner, below } = await owned();
    const { status, body } = await holder.send('DELETE', owner.path, {
      body: { propagationPolicy: 'Foreground' },
    });
    expect([status, body.metadata.finalizers]).toEqual([200, expect.arrayContaining(['foregroundDeletion'])]);
    const key = new OwnClient(world, owner.object.spec.key);
    expect((await key.send('GET', `${management}/version`)).status).toBe(401);
    for (const path of [below.path, owner.path])
      await until('it is gone', async () => (await statusOf(path)) === 404, { timeoutMs: 120_000 });
  });

  it('with a policy that is none is refused, and nothing is deleted', async () => {
    const { path } = await make();
    const { status } = await holder.send('DELETE', `${path}?propagationPolicy=Sideways`);
    expect(status).toBe(422);
    expect((await metadataAt(path)).deletionTimestamp).toBeUndefined();
  });

  it.each([[''], ['?dryRun=All']])('counts its preconditions: %s', async (query) => {
    const { path } = await make();
    for (const preconditions of [{ uid: otherUID }, { resourceVersion: '1' }]) {
      const { status, body } = await holder.send('DELETE', path + query, { body: { preconditions } });
      expect([status, body.reason]).toEqual([409, 'Conflict']);
    }
    const met = async () => {
      const { uid, resourceVersion } = await metadataAt(path);
      return (
        await holder.send('DELETE', path + query, { body: { preconditions: { uid, resourceVersion } } })
      ).status;
    };
    await until('no one has written meanwhile', async () => (await met()) === 200);
  });
});

it('the document of OpenAPI v2 is that of the API server, byte by byte', async () => {
  const { statusCode, body } = await world.gateway.send(`${management}/openapi/v2`, {
    key: holder.key,
    headers: { accept: 'application/json' },
  });
  const { stdout } = await plane.kubectl(['get', '--raw', '/openapi/v2']);
  expect([statusCode, (await body.text()).trim() === stdout.trim()]).toEqual([200, true]);
});

describe('a credential in a Secret', async () => {
  const secrets = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] };
  await giveRight(admin, alice, secrets);

  it.each([
    ['key', ownKeys, 'key'],
    ['token', ownTokens, 'token'],
  ])('stands in no answer, not even that to its create: %s', async (_, place, field) => {
    const secretRef = { namespace: 'default', name: name('secret'), key: field };
    const made = await holder.send('POST', place, { body: { spec: { ttl: 600, secretRef } } });
    expect([made.status, credential.test(made.text)]).toEqual([201, false]);
    expect(made.body.spec).toMatchObject({ secretRef });
    const path = `${place}/${made.body.metadata.name}`;
    const kept = await until('it is in the Secret', async () => {
      const secret = await admin.find({ kind: 'Secret', metadata: secretRef });
      return secret?.data?.[field];
    });
    const plain = Buffer.from(kept, 'base64').toString();
    expect(plain).toMatch(credential);
    const type = 'application/merge-patch+json';
    const answers = [
      await holder.send('GET', path),
      await holder.send('GET', place),
      await holder.send('PATCH', path, { type, body: { metadata: { labels: { team: 'x' } } } }),
      await holder.send('DELETE', path),
    ];
    for (const { status, text } of answers) expect([status, text.includes(plain)]).toEqual([200, false]);
  });

  it('is refused to who may not have the Secret', async () => {
    const secretRef = { namespace: 'default', name: name('secret') };
    const { status, body } = await stranger.send('POST', ownKeys, { body: { spec: { secretRef } } });
    expect([status, body.message]).toEqual([403, expect.stringContaining('secretRef')]);
  });
});

describe('the right to apply', async () => {
  /** As the gateway sends an apply of a holder. */
  const applying = await clientWith(await plane.kubeconfigFor(name('bob'), [groups.selfServiceApply]));
  const generated = await admin.untilReady(await admin.createKey({ user: alice }));
  const plain = generated.spec.key as string;
  const path = `${ownKeys.replace(management, '')}/${generated.metadata.name}`;
  const patch = async (type: string, body: unknown, query = '') =>
    await applying.send({
      method: 'PATCH',
      path: path + query,
      headers: { 'content-type': type },
      body: JSON.stringify(body),
    });

  it.each([
    ['what fits', 600, 'only the user that it speaks for'],
    ['what the schema refuses', -1, 'only the user that it speaks for'],
    ['another type', 'text', 'expected numeric'],
  ])('prints no object of somebody else, refused before the schema looks at it: %s', async (_, ttl, said) => {
    expect(plain).toMatch(credential);
    const { apiVersion, metadata } = generated;
    const manifest = { apiVersion, kind: 'OwnedAccessKey', metadata: { name: metadata.name }, spec: { ttl } };
    const { status, text } = await patch(applied, manifest, '?fieldManager=me&force=true');
    expect([status >= 400, text]).toEqual([true, expect.stringContaining(said)]);
    expect(text).not.toContain(plain);
    expect((await admin.get(generated)).spec.ttl).toBeUndefined();
  });

  it('would print one by a JSON patch that fails', async () => {
    // A value that cannot be read as an object any more is quoted.
    const body = [{ op: 'add', path: '/metadata/labels', value: 5 }];
    const { status, text } = await patch('application/json-patch+json', body);
    expect([status, text.includes(plain)]).toEqual([422, true]);
  });
});

describe('what the API server sees: a patch', async () => {
  const gate = await WriteGate.start(plane);
  const replica = await RunningGateway.start(gate.access, world.guard, { name: name('seen') });
  afterAll(async () => {
    await replica.end();
    await gate.close();
  });
  const client = new OwnClient({ gateway: replica, admin }, holder.key);
  const jsonPatch = '[{"op":"add","path":"/metadata/labels","value":5}]';
  let generated: Awaited<ReturnType<typeof admin.createKey>>;

  beforeAll(async () => {
    await untilKnown(replica, holder.key);
    generated = await admin.untilReady(await admin.createKey({ user: alice }));
    const path = `${ownKeys}/${generated.metadata.name}`;
    await until('the replica has it', async () => (await client.send('GET', path)).status === 200);
  });

  it.each([
    ['application/json-patch+json', jsonPatch],
    ['application/json-patch+json; charset=utf-8', jsonPatch],
    ['application/merge-patch+json', '{"metadata":{"labels":5}}'],
    ['application/strategic-merge-patch+json', '{"metadata":{"labels":5}}'],
    ['application/apply-patch+cbor', '{}'],
    ['application/json-patch+json, application/apply-patch+yaml', jsonPatch],
    ['application/apply-patch+yaml, application/json-patch+json', jsonPatch],
    ['application/json', jsonPatch],
    ['', jsonPatch],
    [applied, jsonPatch],
    [`${applied};application/json-patch+json`, jsonPatch],
    ['APPLICATION/JSON-PATCH+JSON', jsonPatch],
  ])('of type "%s" does not reach the API server as a patch, and shows no key', async (type, body) => {
    const before = gate.requests.length;
    const path = `${ownKeys}/${generated.metadata.name}?fieldManager=me&force=true`;
    const { status, text } = await client.send('PATCH', path, { type, body });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toMatch(credential);
    const sent = gate.requests.slice(before).filter((request) => request.startsWith('PATCH'));
    // Its own notes about when keys were used.
    expect(sent.filter((request) => !/\/status(?:\?|$)/.test(request))).toEqual([]);
  });

  it('that is applied goes out as an apply alone, and shows no key when it fails', async () => {
    const path = `${ownKeys}/${generated.metadata.name}?fieldManager=me&force=true`;
    const passed = gate.passed.length;
    const { status, text } = await client.send('PATCH', path, {
      type: applied,
      body: { spec: { ttl: -1 } },
    });
    expect([status, credential.test(text)]).toEqual([422, false]);
    const writes = gate.passed
      .slice(passed)
      .filter(({ method, subresource }) => method === 'PATCH' && !subresource);
    expect(writes).toHaveLength(1);
    expect(writes[0]?.body).toMatchObject({
      kind: 'OwnedAccessKey',
      metadata: { uid: generated.metadata.uid },
    });
  });
});
