import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { type CurlHolder, curlHolder, withReplica } from './curl-holder.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, OwnClient, ownAPI, ownKeys, ownTokens } from './own-client.ts';

const bare = await gatewayWorld();
const { admin, name } = bare;
const gate = await WriteGate.start(bare.plane);
afterAll(async () => await gate.close());
afterEach(() => {
  gate.judge = () => 'pass';
});
/** The second replica reaches the API server through the gate. */
const world = await withReplica(bare, {}, gate.access);
const alice = name('alice');
const holder = await curlHolder(world, { user: alice });
const version = `${management}/version`;
const mergePatch = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const applyPatch = 'application/apply-patch+yaml';
const rfc3339InUTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const otherUID = '00000000-0000-4000-8000-000000000000';
const finalizer = 'example.com/hold';
/** The garbage collector of a busy machine takes its time. */
const patiently = { timeoutMs: 120_000 };

const merge = async (place: string, body: object) =>
  await holder.send('PATCH', place, { type: mergePatch, body });
const metadataAt = async (place: string) => (await holder.send('GET', place)).body.metadata;
const works = async (other: CurlHolder) => (await other.send('GET', version)).status === 200;

describe('every object', () => {
  it('2.1-1, 2.1-2, 2.1-3, 9-1 has the kind and version of its path, sent or not, and keeps them', async () => {
    const { object, place } = await holder.make();
    expect([object.apiVersion, object.kind]).toEqual(['management.platform.sh/v1', 'OwnedAccessKey']);
    const token = await holder.send('POST', ownTokens, { body: { spec: { ttl: 600 } } });
    expect([token.body.apiVersion, token.body.kind]).toEqual([
      object.apiVersion,
      'DirectClusterEndpointToken',
    ]);
    const { body: read } = await holder.send('GET', place);
    const answers = [
      await holder.send('PUT', place, { body: { ...read, kind: 'DirectClusterEndpointToken' } }),
      await merge(place, { kind: 'DirectClusterEndpointToken' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400]);
    expect((await holder.send('GET', place)).body.kind).toBe('OwnedAccessKey');
  });

  it('2.1-3, 9-2 of another version is not made', async () => {
    for (const apiVersion of ['management.platform.sh/v2', 'v1', 'other.example.com/v1']) {
      const { status, body } = await holder.send('POST', ownKeys, { body: { apiVersion, spec: {} } });
      expect([status, body.kind]).toEqual([400, 'Status']);
    }
  });

  it.each([
    ['2.1-4', 'metadata'],
    ['2.1-5', 'spec'],
  ])('%s has an object as its %s', async (_, field) => {
    const { place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    for (const wrong of ['a text', ['a', 'list']]) {
      const answers = [
        await holder.send('POST', ownKeys, { body: { [field]: wrong } }),
        await holder.send('POST', ownTokens, { body: { [field]: wrong } }),
        await holder.send('PUT', place, { body: { ...read, [field]: wrong } }),
        await merge(place, { [field]: wrong }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    }
  });

  it('2.1-5 may want nothing in particular', async () => {
    const key = expect.stringMatching(/^lk_/);
    for (const body of [{}, { spec: {} }]) {
      const made = await holder.send('POST', ownKeys, { body });
      expect([made.status, made.body.spec]).toEqual([201, { user: alice, key }]);
    }
  });

  it.each([
    ['PUT', 'application/yaml'],
    ['PATCH', mergePatch],
    ['PATCH', applyPatch],
  ])('2.1-3, 9-2 of another version is refused by %s as %s', async (method, type) => {
    const { place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    const whole = method === 'PUT' ? read : { kind: read.kind };
    const body = { ...whole, apiVersion: 'management.platform.sh/v2' };
    const { status } = await holder.send(method, `${place}?fieldManager=tester`, { type, body });
    expect(status).toBe(400);
  });

  it('2.1-6 says what was observed in its status, which no client writes', async () => {
    const status = { lastActivity: '2001-01-01T00:00:00Z', credentialHash: '0'.repeat(64) };
    const made = await holder.send('POST', ownKeys, { body: { status } });
    expect(made.status).toBe(201);
    const place = `${ownKeys}/${made.body.metadata.name}`;
    const { body: read } = await holder.send('GET', place);
    const changed = await holder.send('PUT', place, { body: { ...read, status } });
    expect(changed.status).toBe(200);
    for (const { body } of [made, changed]) {
      expect(body.status.credentialHash).toMatch(/^(?!0{64})[0-9a-f]{64}$/);
      expect(body.status.lastActivity).toBeUndefined();
    }
  });
});

describe('the name of an object', () => {
  it('2.2-1, 2.2-4 counts alone where a prefix stands beside it, and is there once', async () => {
    const metadata = { name: name('named'), generateName: 'prefix-' };
    const first = await holder.send('POST', ownKeys, { body: { metadata } });
    expect([first.status, first.body.metadata.name]).toEqual([201, metadata.name]);
    const second = await holder.send('POST', ownKeys, { body: { metadata } });
    expect([second.status, second.body.reason]).toEqual([409, 'AlreadyExists']);
  });

  it('2.2-2, 2.2-5 made of a prefix has another suffix each time', async () => {
    const metadata = { generateName: name('drawn-') };
    const made = [await holder.make({}, metadata), await holder.make({}, metadata)];
    const names = made.map(({ object }) => object.metadata.name as string);
    for (const one of names) {
      expect(one.startsWith(metadata.generateName)).toBe(true);
      expect(one.length).toBeGreaterThan(metadata.generateName.length);
    }
    expect(new Set(names).size).toBe(2);
  });

  it.each([
    ['a key', ownKeys, /^key-[a-z0-9]{5,}$/],
    ['a token', ownTokens, /^token-[a-z0-9]{5,}$/],
  ])('2.2-2 is one of the kind where nothing is said: %s', async (_, place, form) => {
    const made = await holder.send('POST', place, { body: { spec: { ttl: 600 } } });
    expect([made.status, made.body.metadata.name]).toEqual([201, expect.stringMatching(form)]);
  });

  it('2.2-3 never changes', async () => {
    const { place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    const metadata = { ...read.metadata, name: name('other') };
    const answers = [
      await holder.send('PUT', place, { body: { ...read, metadata } }),
      await merge(place, { metadata: { name: name('other') } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400]);
    expect((await metadataAt(place)).name).toBe(read.metadata.name);
  });

  it('2.2-7, 7-1 that was generated and is taken gets 409', async () => {
    const refusal = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'AlreadyExists',
      code: 409,
    };
    const headers = { 'content-type': 'application/json' };
    gate.judge = ({ method, plural }) =>
      method === 'POST' && plural === 'ownedaccesskeys'
        ? { status: 409, headers, body: JSON.stringify(refusal) }
        : 'pass';
    const post = async () =>
      await holder.send('POST', ownKeys, { body: { metadata: { generateName: name('taken-') } } });
    const answers = [await post(), await post()];
    gate.judge = () => 'pass';
    // One of the two replicas is behind the gate, and the other makes the object.
    const [made, refused] = answers.toSorted((one, other) => one.status - other.status);
    expect([made?.status, refused?.status, refused?.body.reason]).toEqual([201, 409, 'AlreadyExists']);
  });

  it('2.2-6, 8-5 made of a long prefix has room for the suffix', async () => {
    const prefix = 'p'.repeat(80);
    const { object } = await holder.make({}, { generateName: prefix });
    const made = object.metadata.name as string;
    expect(made).toMatch(/^p{50,}[a-z0-9]{5}$/);
    expect([made.length < prefix.length, object.metadata.generateName]).toEqual([true, prefix]);
  });
});

describe('the namespace of an object', async () => {
  // No one else may make kubeconfigs in any namespace.
  const root = name('root');
  await giveRight(admin, root, {
    apiGroups: ['management.platform.sh'],
    resources: ['virtualclusterinstances'],
    verbs: ['use'],
  });
  const user = await curlHolder(world, { user: root });
  const post = async (namespace: string, metadata: object) =>
    await user.send(
      'POST',
      `${ownAPI}/namespaces/${namespace}/virtualclusterinstancekubeconfigs?dryRun=All`,
      {
        body: { metadata: { name: 'any', ...metadata } },
      },
    );

  it.each([['empty'], ['left out'], ['named']])('2.2-11 is that of the path where it is %s', async (form) => {
    const metadata = { empty: { namespace: '' }, 'left out': {}, named: { namespace: 'default' } }[form];
    const { status, body } = await post('default', metadata ?? {});
    expect([status, body.metadata.namespace]).toEqual([201, 'default']);
  });

  it('2.2-10 is no other one than that of the path', async () => {
    expect((await post('default', { namespace: 'kube-public' })).status).toBe(400);
  });

  it('2.2-9 is a label of DNS', async () => {
    expect((await post('No_Label', {})).status).toBe(404);
  });

  it('2.2-12 is empty where the kind has none', async () => {
    const { object, place } = await holder.make({}, { namespace: '' });
    expect(object.metadata.namespace).toBeUndefined();
    expect((await merge(place, { metadata: { namespace: 'default' } })).status).toBe(400);
  });
});

describe('what the server writes into metadata', () => {
  const past = '2001-01-01T00:00:00Z';
  const forged = [
    ['2.2-13', 'uid', otherUID],
    ['2.2-20', 'generation', 77],
    ['2.2-51, 9-5', 'selfLink', '/x'],
    ['2.2-21', 'creationTimestamp', past],
    ['2.2-23', 'deletionTimestamp', past],
    ['2.2-26', 'deletionGracePeriodSeconds', 5],
  ] as const;

  it('2.2-13, 2.2-20, 2.2-21, 2.2-23, 2.2-25, 2.2-51 comes from no client that makes an object', async () => {
    const fields = forged.map(([, field, value]) => [field, value]);
    const { object } = await holder.make({}, Object.fromEntries(fields));
    const { uid, generation, creationTimestamp, ...metadata } = object.metadata;
    expect(uid).toMatch(/^(?!0{8})[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(generation).toBe(1);
    expect(creationTimestamp).toMatch(rfc3339InUTC);
    expect(Date.parse(creationTimestamp)).toBeGreaterThan(Date.parse(past));
    for (const field of ['selfLink', 'deletionTimestamp', 'deletionGracePeriodSeconds'])
      expect(metadata).not.toHaveProperty(field);
  });

  it.each(forged)('%s comes from no client that replaces one: %s', async (_, field, value) => {
    const { object, place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    const sent = { ...read, metadata: { ...read.metadata, [field]: value } };
    const { status } = await holder.send('PUT', place, { body: sent });
    expect([200, 409, 422]).toContain(status);
    expect((await metadataAt(place))[field]).toEqual(object.metadata[field]);
  });

  it('2.2-20, 9-4 counts changes of what is wanted, and no others', async () => {
    const { place } = await holder.make();
    const { generation } = await metadataAt(place);
    await merge(place, { metadata: { labels: { a: 'b' }, annotations: { a: 'b' } } });
    expect((await metadataAt(place)).generation).toBe(generation);
    await merge(place, { spec: { displayName: 'changed' } });
    expect((await metadataAt(place)).generation).toBe(generation + 1);
  });

  it('2.2-14 is another UID where a name is used again', async () => {
    const metadata = { name: name('again') };
    const first = await holder.make({}, metadata);
    await holder.send('DELETE', first.place);
    await until('it is gone', async () => (await holder.send('GET', first.place)).status === 404);
    const second = await holder.make({}, metadata);
    expect(second.object.metadata.name).toBe(first.object.metadata.name);
    expect(second.object.metadata.uid).not.toBe(first.object.metadata.uid);
  });

  it('2.2-15 stays through a replacement: UID and time', async () => {
    const { object, place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    const { uid: _, creationTimestamp: __, ...metadata } = read.metadata;
    const { status, body } = await holder.send('PUT', place, { body: { ...read, metadata } });
    expect(status).toBe(200);
    const { uid, creationTimestamp } = object.metadata;
    expect(body.metadata).toMatchObject({ uid, creationTimestamp });
  });

  it('2.2-22 has no time for a list', async () => {
    const { body } = await holder.send('GET', `${ownKeys}?limit=1`);
    expect(body.metadata.creationTimestamp ?? null).toBeNull();
    expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
  });
});

describe('the version of an object', () => {
  it('2.2-16 is not made up', async () => {
    const { place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    const metadata = { ...read.metadata, resourceVersion: 'made up' };
    const spec = { ...read.spec, displayName: 'changed' };
    const answers = [
      await holder.send('POST', ownKeys, { body: { metadata: { resourceVersion: '1' } } }),
      await holder.send('PUT', place, { body: { ...read, metadata, spec } }),
      await merge(place, { metadata: { resourceVersion: 'made up' }, spec: { displayName: 'changed' } }),
    ];
    for (const { status, body } of answers) expect([status >= 400, body.kind]).toEqual([true, 'Status']);
    expect((await holder.send('GET', place)).body.spec.displayName).toBeUndefined();
  });

  it('2.2-17, 9-4 refuses a write that has not seen the last one: 409', async () => {
    const { place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    await merge(place, { spec: { displayName: 'first' } });
    const { resourceVersion } = read.metadata;
    const body = { metadata: { resourceVersion }, spec: { displayName: 'late' } };
    const answers = [
      await holder.send('PUT', place, { body: { ...read, spec: { ...read.spec, displayName: 'late' } } }),
      await merge(place, body),
      await holder.send('DELETE', place, { body: { preconditions: { resourceVersion } } }),
    ];
    for (const { status, body: refusal } of answers)
      expect([status, refusal.reason]).toEqual([409, 'Conflict']);
    const { body: left } = await holder.send('GET', place);
    expect([left.spec.displayName, left.metadata.deletionTimestamp]).toEqual(['first', undefined]);
  });

  it('2.2-18, 9-4 changes with the object, and stays where nothing changes', async () => {
    const { place } = await holder.make();
    const label = async (step: string) => {
      const { status, body } = await merge(place, { metadata: { labels: { step } } });
      expect(status).toBe(200);
      return body.metadata.resourceVersion as string;
    };
    // The operator may still write its part.
    const settled = await until('it stays', async () => {
      const version = await label('one');
      return version === (await label('one')) && version;
    });
    expect(await label('two')).not.toBe(settled);
  });

  it('2.2-19, 6-1 of a list is where a watch goes on, at the other replica too', async () => {
    const { body: list } = await holder.send('GET', `${ownKeys}?limit=500`);
    const from = `${ownKeys}?watch=true&resourceVersion=${list.metadata.resourceVersion}`;
    const watches = await Promise.all(
      world.replicas.map(async (gateway) => await new OwnClient({ gateway, admin }, holder.key).watch(from)),
    );
    const { object, place } = await holder.make();
    const typesIn = (events: (typeof watches)[number]['events']) =>
      events.filter((event) => event.object.metadata.uid === object.metadata.uid).map(({ type }) => type);
    for (const watch of watches) await watch.until('it is seen', (events) => typesIn(events)[0] === 'ADDED');
    await merge(place, { metadata: { labels: { step: 'changed' } } });
    for (const watch of watches)
      await watch.until('its change is seen', (events) => typesIn(events).at(-1) === 'MODIFIED');
    await holder.send('DELETE', place);
    for (const watch of watches) {
      await watch.until('its end is seen', (events) => typesIn(events).at(-1) === 'DELETED');
      expect(watch.text).not.toContain(object.spec.key);
      watch.end();
    }
  });
});

describe('labels and annotations', () => {
  it.each([
    ['2.2-27', 'labels'],
    ['2.2-28', 'annotations'],
  ])('%s are maps of texts: %s', async (_, field) => {
    const { object } = await holder.make({}, { [field]: { 'example.com/a': 'b' } });
    expect(object.metadata[field]).toMatchObject({ 'example.com/a': 'b' });
    for (const wrong of ['a', { a: { b: 'c' } }]) {
      const { status, body } = await holder.send('POST', ownKeys, { body: { metadata: { [field]: wrong } } });
      expect([[400, 422].includes(status), body.kind]).toEqual([true, 'Status']);
    }
  });

  it('2.2-27 select what a list holds', async () => {
    const app = name('app');
    const { object } = await holder.make({}, { labels: { app } });
    await holder.make({}, { labels: { app: name('other') } });
    const { status, body } = await holder.send('GET', `${ownKeys}?labelSelector=app%3D${app}`);
    const names = body.items.map((item: typeof object) => item.metadata.name);
    expect([status, names]).toEqual([200, [object.metadata.name]]);
  });

  it('2.2-28, 2.2-29 stay when somebody changes something else, and nothing is selected by annotations', async () => {
    const annotations = { 'example.com/tool': 'left by a tool' };
    const { place } = await holder.make({}, { annotations });
    const { body: patched } = await merge(place, { spec: { description: 'x' } });
    expect(patched.metadata.annotations).toMatchObject(annotations);
    const { status } = await holder.send('GET', `${ownKeys}?fieldSelector=metadata.annotations.tool%3Dx`);
    expect(status).toBe(400);
  });
});

describe('owner references', async () => {
  const { metadata } = await admin.get({ kind: 'Namespace', metadata: { name: 'default' } });
  const reference = { apiVersion: 'v1', kind: 'Namespace', name: 'default', uid: metadata.uid };
  const post = async (other: CurlHolder, ...ownerReferences: object[]) =>
    await other.send('POST', ownKeys, { body: { metadata: { ownerReferences } } });

  it.each([
    ['2.2-35', 'apiVersion'],
    ['2.2-36', 'kind'],
    ['2.2-37', 'name'],
    ['2.2-38', 'uid'],
  ])('%s need %s', async (_, field) => {
    const refused = await post(holder, { ...reference, [field]: undefined });
    expect([refused.status, refused.body.kind]).toEqual([422, 'Status']);
    expect(refused.body.message).toContain(`ownerReferences.${field}`);
  });

  it('2.2-31, 2.2-39, 8-4 name at most one controller', async () => {
    const controller = { ...reference, controller: true };
    const made = await post(holder, controller);
    expect([made.status, made.body.metadata.ownerReferences]).toEqual([201, [controller]]);
    const refused = await post(holder, controller, { ...controller, uid: otherUID });
    expect([refused.status, refused.body.reason]).toEqual([422, 'Invalid']);
  });

  it('2.2-35, 2.2-36, 2.2-37, 2.2-38, 2.2-40 block nothing unless they say so', async () => {
    const made = await post(holder, reference);
    expect([made.status, made.body.metadata.ownerReferences]).toEqual([201, [reference]]);
  });

  it('2.2-42, 7-2 block the deletion of an owner for those only who may delete it: 422 for others', async () => {
    const blocking = { ...reference, blockOwnerDeletion: true };
    const refused = await post(holder, blocking);
    expect([refused.status, refused.body.kind]).toEqual([422, 'Status']);
    expect(refused.body.message).toContain('blockOwnerDeletion needs the verb delete on the owner');
    const deleter = name('deleter');
    await giveRight(admin, deleter, { apiGroups: [''], resources: ['namespaces'], verbs: ['delete'] });
    const other = await curlHolder(world, { user: deleter });
    const made = await until('the right counts', async () => {
      const answer = await post(other, blocking);
      return answer.status === 201 && answer;
    });
    expect(made.body.metadata.ownerReferences).toEqual([blocking]);
  });

  it('2.2-41 that block keep an owner, deleted in the foreground, until they are gone', async () => {
    const deleter = name('deleter');
    const verbs = ['get', 'delete'];
    const right = { apiGroups: ['management.platform.sh'], resources: ['ownedaccesskeys'], verbs };
    await giveRight(admin, deleter, right);
    const other = await curlHolder(world, { user: deleter });
    const owner = await other.make();
    const { apiVersion, kind, metadata: of } = owner.object;
    const blocking = { apiVersion, kind, name: of.name, uid: of.uid, blockOwnerDeletion: true };
    const { place } = await until(
      'both rights count',
      async () => await other.make({}, { finalizers: [finalizer], ownerReferences: [blocking] }),
    );
    const ask = { body: { propagationPolicy: 'Foreground' } };
    const { status, body } = await other.send('DELETE', owner.place, ask);
    expect([status, body.metadata.finalizers]).toEqual([200, expect.arrayContaining(['foregroundDeletion'])]);
    const at = async (where: string) => (await other.send('GET', where)).body;
    const isDying = async () => (await at(place)).metadata.deletionTimestamp !== undefined;
    await until('what it owns is deleted first', isDying, patiently);
    const waitsFor = async () => (await at(owner.place)).metadata.finalizers.join();
    await until('nothing else is waited for', async () => (await waitsFor()) === 'foregroundDeletion');
    const patch = async (metadata: object) =>
      await other.send('PATCH', place, { type: mergePatch, body: { metadata } });
    expect((await patch({ ownerReferences: null })).status).toBe(200);
    const isGone = async () => (await other.send('GET', owner.place)).status === 404;
    await until('the owner is gone', isGone, patiently);
    expect((await at(place)).metadata.finalizers).toContain(finalizer);
    expect((await patch({ finalizers: null })).status).toBe(200);
  });

  it('2.2-30, 3-4 take the object away when the last owner has gone, and not before', async () => {
    const owners = [await holder.make(), await holder.make()] as const;
    const ownerReferences = owners.map(({ object }) => ({
      ...{ apiVersion: object.apiVersion, kind: object.kind },
      ...{ name: object.metadata.name, uid: object.metadata.uid },
    }));
    const { place } = await holder.make({}, { ownerReferences });
    await holder.send('DELETE', owners[0].place);
    const left = async () => (await metadataAt(place)).ownerReferences;
    await until('the first owner is forgotten', async () => (await left()).length === 1, patiently);
    expect(await left()).toEqual(ownerReferences.slice(1));
    await holder.send('DELETE', owners[1].place);
    await until('it is gone', async () => (await holder.send('GET', place)).status === 404, patiently);
  });
});

describe('a deletion', () => {
  it('2.2-23, 2.2-24, 2.2-25, 2.2-32, 2.2-33, 3-1, 3-2, 3-3 waits for the finalizers, cannot be taken back, and ends the credential at once', async () => {
    const made = await holder.make({}, { finalizers: [finalizer] });
    const { place } = made;
    expect((await holder.send('DELETE', place)).status).toBe(200);
    await until('the key opens nothing', async () => !(await works(made.holder)));
    await until('nothing else is waited for', async () => {
      const { finalizers } = await metadataAt(place);
      return finalizers.length === 1;
    });
    const dying = await metadataAt(place);
    expect(dying).toMatchObject({
      deletionTimestamp: expect.stringMatching(rfc3339InUTC),
      deletionGracePeriodSeconds: 0,
      finalizers: [finalizer],
    });
    const { deletionTimestamp } = dying;
    for (const change of [null, '2100-01-01T00:00:00Z'])
      await merge(place, { metadata: { deletionTimestamp: change } });
    expect((await metadataAt(place)).deletionTimestamp).toBe(deletionTimestamp);
    const more = await merge(place, { metadata: { finalizers: [finalizer, 'example.com/more'] } });
    expect(more.status).toBe(422);
    const names = async () =>
      (await holder.send('GET', ownKeys)).body.items.map((item: typeof made.object) => item.metadata.name);
    expect(await names()).toContain(made.object.metadata.name);
    expect((await merge(place, { metadata: { finalizers: null } })).status).toBe(200);
    await until('it is gone', async () => (await holder.send('GET', place)).status === 404);
    expect(await names()).not.toContain(made.object.metadata.name);
  });
});

describe('an object that is being deleted', () => {
  const dying = async (finalizers: readonly string[]) => {
    const { place } = await holder.make({}, { finalizers });
    await holder.send('DELETE', place, { body: { gracePeriodSeconds: 30 } });
    await until('nothing else is waited for', async () => {
      const left = (await metadataAt(place)).finalizers;
      return left.length === finalizers.length;
    });
    return place;
  };

  it('2.2-25, 2.2-26 has no time of grace, and gets none', async () => {
    const place = await dying([finalizer]);
    const { deletionTimestamp } = await metadataAt(place);
    await holder.send('DELETE', place, { body: { gracePeriodSeconds: 3_600 } });
    await merge(place, { metadata: { deletionGracePeriodSeconds: 3_600 } });
    expect(await metadataAt(place)).toMatchObject({ deletionGracePeriodSeconds: 0, deletionTimestamp });
    await merge(place, { metadata: { finalizers: null } });
  });

  it.each([
    ['first', 0],
    ['last', 1],
  ])('2.2-33 loses its finalizers in any order: the %s one before the other', async (_, first) => {
    const finalizers = [`${finalizer}-one`, `${finalizer}-two`];
    const place = await dying(finalizers);
    const left = finalizers.toSpliced(first, 1);
    const { status } = await merge(place, { metadata: { finalizers: left } });
    expect([status, (await metadataAt(place)).finalizers]).toEqual([200, left]);
    await merge(place, { metadata: { finalizers: [] } });
    await until('it is gone', async () => (await holder.send('GET', place)).status === 404);
  });
});

interface Managed {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly time: string;
}

describe('managed fields', () => {
  const entryOf = (metadata: { managedFields: readonly Managed[] }, manager: string) =>
    metadata.managedFields.find((entry) => entry.manager === manager);

  it('2.2-34, 2.2-43, 2.2-44, 2.2-45, 2.2-48, 2.2-49, 2.2-50, 9-3 say who wrote which fields, how, in which version, and by which part of the object', async () => {
    const metadata = { name: name('managed') };
    const place = `${ownKeys}/${metadata.name}`;
    await holder.send('POST', `${ownKeys}?fieldManager=maker`, { body: { metadata, spec: { ttl: 3_600 } } });
    const body = { spec: { displayName: 'x' } };
    await holder.send('PATCH', `${place}?fieldManager=applier`, { type: applyPatch, body });
    const read = await metadataAt(place);
    const form = {
      apiVersion: 'management.platform.sh/v1',
      time: expect.stringMatching(rfc3339InUTC),
      fieldsType: 'FieldsV1',
    };
    expect(entryOf(read, 'maker')).toMatchObject({
      ...form,
      operation: 'Update',
      fieldsV1: { 'f:spec': { 'f:ttl': {} } },
    });
    expect(entryOf(read, 'applier')).toMatchObject({
      ...form,
      operation: 'Apply',
      fieldsV1: { 'f:spec': { 'f:displayName': {} } },
    });
    const parts = read.managedFields.map(({ subresource }: Managed) => subresource ?? '');
    expect(new Set(parts)).toEqual(new Set(['', 'status']));
  });

  it.each([
    ['adds a field', { displayName: 'a', description: 'x' }],
    ['changes a value', { displayName: 'b' }],
    ['removes a field', {}],
  ])('2.2-46 have another time when their manager %s', async (_, spec) => {
    const { place } = await holder.make();
    const apply = async (sent: object) => {
      const query = `${place}?fieldManager=applier&force=true`;
      const { status, body } = await holder.send('PATCH', query, { type: applyPatch, body: { spec: sent } });
      expect(status).toBe(200);
      return Date.parse(entryOf(body.metadata, 'applier')?.time ?? '');
    };
    const before = await apply({ displayName: 'a', ttl: 3_600 });
    await until('the next second', async () => Date.now() >= before + 1_000);
    expect(await apply({ displayName: 'a', ttl: 3_600 })).toBe(before);
    expect(await apply({ ttl: 3_600, ...spec })).toBeGreaterThan(before);
  });

  it('2.2-47 keep the time of one manager when another takes a field over', async () => {
    const { place } = await holder.make();
    const apply = async (manager: string, displayName: string) => {
      const path = `${place}?fieldManager=${manager}&force=true`;
      const { status, body } = await holder.send('PATCH', path, {
        type: applyPatch,
        body: { spec: { displayName, ...(manager === 'first' && { description: 'x' }) } },
      });
      expect(status).toBe(200);
      return body.metadata;
    };
    const before = entryOf(await apply('first', 'a'), 'first')?.time ?? '';
    await until('the next second', async () => Date.now() >= Date.parse(before) + 1_000);
    const after = await apply('second', 'b');
    expect(entryOf(after, 'first')?.time).toBe(before);
    expect(Date.parse(entryOf(after, 'second')?.time ?? '')).toBeGreaterThan(Date.parse(before));
  });
});

describe('a stored key', () => {
  it('3-5, 5-2, 2.3-8 that is disabled is there, and opens nothing until it is enabled', async () => {
    const made = await holder.make();
    expect(await works(made.holder)).toBe(true);
    const disabled = await merge(made.place, { spec: { disabled: true } });
    expect([disabled.status, disabled.body.spec.disabled]).toEqual([200, true]);
    await until('it opens nothing', async () => !(await works(made.holder)));
    expect((await made.holder.send('GET', version)).body).toMatchObject({
      ...{ kind: 'Status', code: 401, reason: 'Unauthorized' },
      message: expect.stringContaining('disabled'),
    });
    expect((await holder.send('GET', made.place)).body.spec.disabled).toBe(true);
    await merge(made.place, { spec: { disabled: false } });
    await until('it works again', async () => await works(made.holder));
  });

  it('2.3-9, 5-3 ends as many seconds after its creation as it says', async () => {
    const { object } = await holder.make({ ttl: 3_600 });
    const { expirationTimestamp } = object.status;
    const lifeMs = Date.parse(expirationTimestamp) - Date.parse(object.metadata.creationTimestamp);
    expect(lifeMs).toBe(3_600_000);
  });

  it('2.3-9, 5-3 opens nothing after its end, and is there', async () => {
    const { holder: short, place } = await holder.make({ ttl: 2 });
    const refusal = await until('it has ended', async () => {
      const answer = await short.send('GET', version);
      return answer.status === 401 && answer;
    });
    expect(refusal.body.message).toMatch(/expired|disabled/);
    expect((await holder.send('GET', place)).body.spec.ttl).toBe(2);
  });

  it('2.3-10, 5-3 ends as many seconds after its last use as it says', async () => {
    const ttl = 60;
    const made = await holder.make({ ttl, ttlAfterLastActivity: true });
    const created = Date.parse(made.object.metadata.creationTimestamp);
    // The end that is shown moves by steps of a tenth.
    await until('a tenth of its life is over', async () => Date.now() > created + 7_000);
    expect(await works(made.holder)).toBe(true);
    await until('its end counts from its use', async () => {
      const { lastActivity = '', expirationTimestamp } = (await holder.send('GET', made.place)).body.status;
      return Date.parse(expirationTimestamp) === Date.parse(lastActivity) + ttl * 1_000;
    });
  });

  it('2.3-35, 3-6 says when it was used last', async () => {
    const made = await holder.make();
    expect(made.object.status.lastActivity).toBeUndefined();
    expect(await works(made.holder)).toBe(true);
    const lastActivity = async () => (await holder.send('GET', made.place)).body.status.lastActivity;
    expect(await until('its use is recorded', lastActivity)).toMatch(rfc3339InUTC);
  });

  it('4.3-1, 4.3-2, 4.3-3, 4.3-4, 4.3-5, 9-1 is made, read, sent back, patched and deleted in YAML by curl', async () => {
    const metadata = { name: name('yaml') };
    const accept = 'application/yaml';
    const body = { metadata, spec: { displayName: 'CI', ttl: 86_400, type: 'User', user: alice } };
    const made = await holder.curl('POST', ownKeys, { body, accept });
    expect([made.status, made.text]).toEqual([201, expect.stringContaining(`\n  name: ${metadata.name}\n`)]);
    const place = `${ownKeys}/${metadata.name}`;
    const { text } = await holder.curl('GET', place, { accept });
    const edited = text.replace('displayName: CI', 'displayName: Pipeline');
    const replaced = await holder.curl('PUT', place, { body: edited, accept });
    expect([replaced.status, replaced.body.spec.displayName]).toEqual([200, 'Pipeline']);
    const patch = [
      { op: 'add', path: '/metadata/annotations', value: {} },
      { op: 'add', path: '/metadata/annotations/example.com~1by', value: 'curl' },
    ];
    const patched = await holder.curl('PATCH', place, { type: jsonPatch, body: patch });
    expect([patched.status, patched.body.metadata.annotations['example.com/by']]).toEqual([200, 'curl']);
    expect((await holder.curl('DELETE', place, { accept })).status).toBe(200);
    await until('it is gone', async () => (await holder.curl('GET', place)).status === 404);
  });
});

describe('a number of seconds', () => {
  it.each([
    ['8-1', 'a key', ownKeys, { ttl: '60' }],
    ['8-1', 'a key', ownKeys, { ttl: 60.5 }],
    ['8-1', 'a key', ownKeys, { ttl: -1 }],
    ['8-2', 'a token', ownTokens, { ttl: '60' }],
    ['8-2', 'a token', ownTokens, { ttl: 60.5 }],
  ])('%s of %s at %s is a whole one: not %j', async (_, __, place, spec) => {
    const { status, body } = await holder.send('POST', place, { body: { spec } });
    expect([status, body.kind, body.reason]).toEqual([422, 'Status', 'Invalid']);
    expect(body.message).toContain('spec.ttl');
  });
});
