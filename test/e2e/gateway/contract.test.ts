import { describe, expect, it } from 'vitest';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { type CurlHolder, curlHolder, withReplica } from './curl-holder.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, ownAPI, ownKeys, ownTokens } from './own-client.ts';

const world = await withReplica(await gatewayWorld());
const { admin, name } = world;
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

describe('2.1 every object', () => {
  it('has the kind of its path, sent or not, and keeps it', async () => {
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

  it.each([
    ['PUT', 'application/yaml'],
    ['PATCH', mergePatch],
    ['PATCH', applyPatch],
  ])('9 of another version is refused by %s as %s', async (method, type) => {
    const { place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    const whole = method === 'PUT' ? read : { kind: read.kind };
    const body = { ...whole, apiVersion: 'management.platform.sh/v2' };
    const { status } = await holder.send(method, `${place}?fieldManager=tester`, { type, body });
    expect(status).toBe(400);
  });

  it('says what was observed in its status, which no client writes', async () => {
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

describe('2.2 the name of an object', () => {
  it('counts alone where a prefix stands beside it, and is there once', async () => {
    const metadata = { name: name('named'), generateName: 'prefix-' };
    const first = await holder.send('POST', ownKeys, { body: { metadata } });
    expect([first.status, first.body.metadata.name]).toEqual([201, metadata.name]);
    const second = await holder.send('POST', ownKeys, { body: { metadata } });
    expect([second.status, second.body.reason]).toEqual([409, 'AlreadyExists']);
  });

  it('made of a prefix has another suffix each time', async () => {
    const metadata = { generateName: name('drawn-') };
    const made = [await holder.make({}, metadata), await holder.make({}, metadata)];
    const names = made.map(({ object }) => object.metadata.name as string);
    for (const one of names) {
      expect(one.startsWith(metadata.generateName)).toBe(true);
      expect(one.length).toBeGreaterThan(metadata.generateName.length);
    }
    expect(new Set(names).size).toBe(2);
  });

  it('8 made of a long prefix has room for the suffix', async () => {
    const prefix = 'p'.repeat(80);
    const { object } = await holder.make({}, { generateName: prefix });
    const made = object.metadata.name as string;
    expect(made).toMatch(/^p{50,}[a-z0-9]{5}$/);
    expect([made.length < prefix.length, object.metadata.generateName]).toEqual([true, prefix]);
  });
});

describe('2.2 the namespace of an object', async () => {
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

  it.each([['empty'], ['left out'], ['named']])('is that of the path where it is %s', async (form) => {
    const metadata = { empty: { namespace: '' }, 'left out': {}, named: { namespace: 'default' } }[form];
    const { status, body } = await post('default', metadata ?? {});
    expect([status, body.metadata.namespace]).toEqual([201, 'default']);
  });

  it('is no other one than that of the path', async () => {
    expect((await post('default', { namespace: 'kube-public' })).status).toBe(400);
  });

  it('is a label of DNS', async () => {
    expect((await post('No_Label', {})).status).toBe(404);
  });

  it('is empty where the kind has none', async () => {
    const { object, place } = await holder.make({}, { namespace: '' });
    expect(object.metadata.namespace).toBeUndefined();
    expect((await merge(place, { metadata: { namespace: 'default' } })).status).toBe(400);
  });
});

describe('2.2 what the server writes into metadata', () => {
  const forged = {
    ...{ uid: otherUID, generation: 77, selfLink: '/x', creationTimestamp: '2001-01-01T00:00:00Z' },
    ...{ deletionTimestamp: '2001-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 },
  };

  it('comes from no client that makes an object', async () => {
    const { object } = await holder.make({}, forged);
    const { uid, generation, creationTimestamp, ...metadata } = object.metadata;
    expect(uid).toMatch(/^(?!0{8})[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(generation).toBe(1);
    expect(creationTimestamp).toMatch(rfc3339InUTC);
    expect(Date.parse(creationTimestamp)).toBeGreaterThan(Date.parse(forged.creationTimestamp));
    for (const field of ['selfLink', 'deletionTimestamp', 'deletionGracePeriodSeconds'])
      expect(metadata).not.toHaveProperty(field);
  });

  it.each(Object.entries(forged))('comes from no client that replaces one: %s', async (field, value) => {
    const { object, place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    const sent = { ...read, metadata: { ...read.metadata, [field]: value } };
    const { status } = await holder.send('PUT', place, { body: sent });
    expect([200, 409, 422]).toContain(status);
    expect((await metadataAt(place))[field]).toEqual(object.metadata[field]);
  });

  it('counts changes of what is wanted, and no others', async () => {
    const { place } = await holder.make();
    const { generation } = await metadataAt(place);
    await merge(place, { metadata: { labels: { a: 'b' }, annotations: { a: 'b' } } });
    expect((await metadataAt(place)).generation).toBe(generation);
    await merge(place, { spec: { displayName: 'changed' } });
    expect((await metadataAt(place)).generation).toBe(generation + 1);
  });

  it('stays through a replacement: UID and time', async () => {
    const { object, place } = await holder.make();
    const { body: read } = await holder.send('GET', place);
    const { uid: _, creationTimestamp: __, ...metadata } = read.metadata;
    const { status, body } = await holder.send('PUT', place, { body: { ...read, metadata } });
    expect(status).toBe(200);
    const { uid, creationTimestamp } = object.metadata;
    expect(body.metadata).toMatchObject({ uid, creationTimestamp });
  });

  it('has no time for a list', async () => {
    const { body } = await holder.send('GET', `${ownKeys}?limit=1`);
    expect(body.metadata.creationTimestamp ?? null).toBeNull();
    expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
  });
});

describe('2.2 annotations', () => {
  it('stay when somebody changes something else, and nothing is selected by them', async () => {
    const annotations = { 'example.com/tool': 'left by a tool' };
    const { place } = await holder.make({}, { annotations });
    const { body: patched } = await merge(place, { spec: { description: 'x' } });
    expect(patched.metadata.annotations).toMatchObject(annotations);
    const { status } = await holder.send('GET', `${ownKeys}?fieldSelector=metadata.annotations.tool%3Dx`);
    expect(status).toBe(400);
  });
});

describe('2.2 owner references', async () => {
  const { metadata } = await admin.get({ kind: 'Namespace', metadata: { name: 'default' } });
  const reference = { apiVersion: 'v1', kind: 'Namespace', name: 'default', uid: metadata.uid };
  const post = async (other: CurlHolder, ...ownerReferences: object[]) =>
    await other.send('POST', ownKeys, { body: { metadata: { ownerReferences } } });

  it('8 name at most one controller', async () => {
    const controller = { ...reference, controller: true };
    const made = await post(holder, controller);
    expect([made.status, made.body.metadata.ownerReferences]).toEqual([201, [controller]]);
    const refused = await post(holder, controller, { ...controller, uid: otherUID });
    expect([refused.status, refused.body.reason]).toEqual([422, 'Invalid']);
  });

  it('block nothing unless they say so', async () => {
    const made = await post(holder, reference);
    expect([made.status, made.body.metadata.ownerReferences]).toEqual([201, [reference]]);
  });

  it('7 block the deletion of an owner for those only who may delete it: 422 for others', async () => {
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

  it('3 take the object away when the last owner has gone, and not before', async () => {
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

describe('3 a deletion', () => {
  it('waits for the finalizers, cannot be taken back, and ends the credential at once', async () => {
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

interface Managed {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly time: string;
}

describe('2.2 managed fields', () => {
  const entryOf = (metadata: { managedFields: readonly Managed[] }, manager: string) =>
    metadata.managedFields.find((entry) => entry.manager === manager);

  it('say who wrote which fields, how, in which version, and by which part of the object', async () => {
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

  it('keep the time of one manager when another takes a field over', async () => {
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
  it('3, 5 that is disabled is there, and opens nothing until it is enabled', async () => {
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

  it('5 ends as many seconds after its creation as it says', async () => {
    const { object } = await holder.make({ ttl: 3_600 });
    const { expirationTimestamp } = object.status;
    const lifeMs = Date.parse(expirationTimestamp) - Date.parse(object.metadata.creationTimestamp);
    expect(lifeMs).toBe(3_600_000);
  });

  it('3 says when it was used last', async () => {
    const made = await holder.make();
    expect(made.object.status.lastActivity).toBeUndefined();
    expect(await works(made.holder)).toBe(true);
    const lastActivity = async () => (await holder.send('GET', made.place)).body.status.lastActivity;
    expect(await until('its use is recorded', lastActivity)).toMatch(rfc3339InUTC);
  });

  it('4.3, 9 is made, read, sent back, patched and deleted in YAML', async () => {
    const metadata = { name: name('yaml') };
    const accept = 'application/yaml';
    const body = { metadata, spec: { displayName: 'CI', ttl: 86_400, type: 'User', user: alice } };
    const made = await holder.send('POST', ownKeys, { body, accept });
    expect([made.status, made.text]).toEqual([201, expect.stringContaining(`\n  name: ${metadata.name}\n`)]);
    const place = `${ownKeys}/${metadata.name}`;
    const { text } = await holder.send('GET', place, { accept });
    const edited = text.replace('displayName: CI', 'displayName: Pipeline');
    const replaced = await holder.send('PUT', place, { body: edited, accept });
    expect([replaced.status, replaced.body.spec.displayName]).toEqual([200, 'Pipeline']);
    const patch = [
      { op: 'add', path: '/metadata/annotations', value: {} },
      { op: 'add', path: '/metadata/annotations/example.com~1by', value: 'curl' },
    ];
    const patched = await holder.send('PATCH', place, { type: jsonPatch, body: patch });
    expect([patched.status, patched.body.metadata.annotations['example.com/by']]).toEqual([200, 'curl']);
    expect((await holder.send('DELETE', place, { accept })).status).toBe(200);
    await until('it is gone', async () => (await holder.send('GET', place)).status === 404);
  });
});

describe('8 a number of seconds', () => {
  it.each([
    ['a key', ownKeys, { ttl: '60' }],
    ['a key', ownKeys, { ttl: 60.5 }],
    ['a key', ownKeys, { ttl: -1 }],
    ['a token', ownTokens, { ttl: '60' }],
    ['a token', ownTokens, { ttl: 60.5 }],
  ])('of %s at %s is a whole one: not %j', async (_, place, spec) => {
    const { status, body } = await holder.send('POST', place, { body: { spec } });
    expect([status, body.kind, body.reason]).toEqual([422, 'Status', 'Invalid']);
    expect(body.message).toContain('spec.ttl');
  });
});
