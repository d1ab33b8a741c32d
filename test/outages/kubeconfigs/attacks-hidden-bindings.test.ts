import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import {
  clusterRoleBindings,
  configMaps,
  events,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { type ProtobufBinding, protobufBinding } from '../../builders/protobuf-binding.ts';
import {
  bindingOf,
  bindingsPath,
  Holder,
  Project,
  subjectOf,
  tracesOf,
} from '../../e2e/kubeconfigs/kubeconfig-world.ts';

/** In all names and texts that must not be seen. */
const canary = 'CANARY7f3a';
const world = await operatorWorld();
const cluster = await virtualCluster();
const { admin } = world;
const inside = cluster.admin.client;
const holders: Holder[] = [];
let project: Project;

beforeAll(async () => {
  project = await Project.ready(world, cluster);
});

afterAll(async () => {
  for (const holder of holders) await holder.close();
});

async function issued(): Promise<{ object: Stored; holder: Holder; user: string }> {
  const object = await project.issued();
  const holder = new Holder(object.status.kubeConfig, cluster);
  holders.push(holder);
  await holder.untilAllowed();
  return { object, holder, user: certificateSubject(object.metadata.uid, object.status.serial) };
}

async function plant(holder: Holder, binding: ProtobufBinding): Promise<void> {
  const body = protobufBinding(binding);
  expect(await holder.call(bindingsPath(binding.namespace), { method: 'POST', body })).toBe(201);
}

/** A search reads lists of megabytes, again and again: milliseconds. */
const largeLists = 120_000;

/** In all namespaces. */
const readable = [events, virtualClusterInstanceKubeConfigs, virtualClusterInstances];

/**
 * Deletes the kubeconfig. Its holder may do nothing any more, and no reader of logs, events or objects sees what they wrote. Without more
 * time it goes because all is revoked, and not because its finalizer gave up.
 */
async function expectRevoked(object: Stored, holder: Holder, timeoutMs = 55_000): Promise<void> {
  await admin.delete(object);
  await admin.untilGone(object, { timeoutMs });
  expect(await holder.refusals()).toEqual(new Set([403]));
  expect(await holder.call('/api/v1/namespaces/default/pods')).toBe(403);
  expect(await tracesOf(object, cluster)).toEqual([]);
  await until('nothing is left to be revoked', async () => !(await isOnRecord(object)));
  expect(await world.operator.log()).not.toContain(canary);
  const lists = readable.map(async (resource) => await admin.client.list(resource));
  expect(JSON.stringify(await Promise.all(lists))).not.toContain(canary);
}

async function isOnRecord({ metadata: { uid } }: Stored): Promise<boolean> {
  const { items } = await admin.client.list<KubeObject>(configMaps, { namespace: 'latchkey-system' });
  return items.some(({ metadata }) => metadata.name.startsWith(`latchkey-revocation-${uid}`));
}

const namesOf = async (): Promise<readonly string[]> =>
  (await inside.list<KubeObject>(clusterRoleBindings)).items.map(({ metadata }) => metadata.name);

const bytes = (...parts: (string | number)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))));

const names: readonly (readonly [string, string])[] = [
  ['254 characters', 'x'.repeat(254)],
  ['a newline and a NUL', '\nlevel=error\0'],
  ['every control character', String.fromCharCode(...Array.from({ length: 32 }, (_, code) => code), 127)],
  ['characters of many languages', 'größe 名前 😀 \u202eabc'],
  ['nothing but a blank', ' '],
  ['what means something in an address', ':?#[]@!$&\'()*+,;=\\^`{|}<>"~'],
  ['dots', '...'],
  ['colons', 'system:node:a'],
];

const largeNames: typeof names = [
  ['300,000 characters', 'x'.repeat(300_000)],
  ['100,000 control characters', '\u0001'.repeat(100_000)],
];

describe('a holder who binds themselves again keeps nothing after the deletion', () => {
  const bindAndDelete = async (_: string, text: string): Promise<void> => {
    const { object, holder } = await issued();
    for (const namespace of [undefined, 'default']) {
      const name = `${canary}${text}`;
      const place = namespace === undefined ? {} : { namespace };
      const body = bindingOf({ name, subjects: [subjectOf(object, 'User')], ...place });
      expect(await holder.call(bindingsPath(namespace), { method: 'POST', body })).toBe(201);
    }
    await expectRevoked(object, holder);
  };

  it.concurrent.each(names)('under a name with %s', bindAndDelete);

  it.concurrent.each<[string, object]>([
    ['a long generateName', { generateName: `${canary}${'g'.repeat(9_000)}` }],
    ['managed fields of 3,000 levels', { managedFields: [deepFields(3_000)] }],
  ])('in a binding with %s', async (_, metadata) => {
    const { object, holder } = await issued();
    const binding = bindingOf({ name: uniqueName('odd'), subjects: [subjectOf(object, 'User')] });
    const body = { ...binding, metadata: { ...binding.metadata, ...metadata } };
    expect(await holder.call(bindingsPath(), { method: 'POST', body })).toBe(201);
    await expectRevoked(object, holder);
  });

  /** One after the other: each reads the list with what the others have put into it. */
  it.each(largeNames)('under a name with %s', bindAndDelete);

  it('in the binding that was made for them, grown so large that its deletion is answered with megabytes', async () => {
    const { object, holder } = await issued();
    const key = { name: `latchkey-${object.metadata.uid}-1` };
    const large = { ...subjectOf(object, 'User'), name: '\u0001'.repeat(450_000) };
    const patch = {
      metadata: { finalizers: ['example.com/never'] },
      subjects: [subjectOf(object, 'User'), large],
    };
    await inside.mergePatch(clusterRoleBindings, key, patch);
    await admin.delete(object);
    await admin.untilGone(object, { timeoutMs: 55_000 });
    expect(await holder.refusals()).toEqual(new Set([403]));
    await inside.mergePatch(clusterRoleBindings, key, { metadata: { finalizers: null } });
  });

  it.each<[string, Buffer | string]>([
    ['the byte ff', bytes(canary, 0xff)],
    ['nothing but the byte ff', bytes(0xff)],
    ['half a character', bytes(canary, 0xc2)],
    ['half a surrogate pair', bytes(canary, 0xed, 0xa0, 0x80)],
    ['a character that stands for such bytes', `${canary}\ufffd`],
    ['400,000 control characters', `${canary}${'\u0001'.repeat(400_000)}`],
    ['200,000 control characters, too many for a page marker', `${canary}${'\u0001'.repeat(200_000)}`],
    ['500,000 letters', `${canary}${'x'.repeat(500_000)}`],
  ])('under a name as protobuf has it, with %s', async (_, name) => {
    const { object, holder, user } = await issued();
    for (const namespace of [undefined, 'default'])
      await plant(holder, { name, users: [user], ...(namespace === undefined ? {} : { namespace }) });
    await expectRevoked(object, holder, largeLists);
  });

  it('under several such names side by side, each beyond the one before', async () => {
    const { object, holder, user } = await issued();
    for (const name of [
      bytes(canary, 'a', 0xc2),
      bytes(canary, 'a', 0xfe),
      bytes(canary, 'a', 0xff),
      bytes(canary, 'a', 0xff, 'b'),
      `${canary}ähidden`,
    ])
      await plant(holder, { name, users: [user] });
    await expectRevoked(object, holder, largeLists);
  });

  it('behind a name that pages cannot go past, when the list is too large for one answer', async () => {
    const { object, holder, user } = await issued();
    const large = Array.from({ length: 3 }, () => `nobody-${'\u0001'.repeat(350_000)}`);
    const names = ['zz-large-1', 'zz-large-2', 'zz-large-3'];
    for (const name of names)
      await inside.create(clusterRoleBindings, bindingOf({ name, subjects: large.slice(0, 1).map(asUser) }));
    await plant(holder, { name: bytes('zz-large-4', 0xc2), users: ['somebody-else'] });
    await plant(holder, { name: 'zz-large-4ähidden', users: [user] });
    await expectRevoked(object, holder, largeLists);
    // Every list of the tests that follow would be slow.
    for (const name of names) await inside.delete(clusterRoleBindings, { name });
  });
});

const asUser = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name });

describe('bindings of others', () => {
  it('stay, whatever their names, also beside one that goes', async () => {
    const { object, holder, user } = await issued();
    const others = [bytes('b', 0xc2), bytes('b', 0xff, 'd'), 'b\ufffd'];
    for (const name of others) await plant(holder, { name, users: ['somebody-else'] });
    await plant(holder, { name: bytes('c', 0xff), users: [user] });
    const before = (await namesOf()).filter((name) => name.startsWith('b'));
    expect(before).toHaveLength(3);
    await expectRevoked(object, holder, largeLists);
    expect((await namesOf()).filter((name) => name.startsWith('b'))).toEqual(before);
  });
});

describe.concurrent('a binding that no request can remove', () => {
  // They wait until the finalizer gives up.
  beforeAll(async () => {
    await world.operator.end();
    await world.startOperator({ env: { LATCHKEY_FINALIZER_LIMIT: '3s' } });
  });

  it.each<[string, Omit<ProtobufBinding, 'users'>, readonly string[], Omit<ProtobufBinding, 'users'>?]>([
    ['is held by a finalizer', { name: bytes('d', 0xff), finalizers: ['example.com/never'] }, []],
    ['names somebody else too', { name: bytes('e', 0xff) }, ['somebody-else']],
    ['stands behind one of a stranger', { name: bytes('f', 0xff) }, [], { name: bytes('f', 0xfe) }],
  ])(
    'because it %s is never taken for removed',
    async (_, binding, others, shield) => {
      const { object, holder, user } = await issued();
      if (shield !== undefined) await plant(holder, { ...shield, users: ['somebody-else'] });
      await plant(holder, { ...binding, users: [user, ...others] });
      await admin.delete(object);
      await admin.untilGone(object, { timeoutMs: 120_000 });
      expect(await isOnRecord(object)).toBe(true);
      const refused = bindingOf({ subjects: [subjectOf(object, 'User')] });
      let seen: number | undefined;
      const isRefused = async () => {
        seen = await holder.call(bindingsPath(), { method: 'POST', body: refused });
        return seen === 422 || seen === 403;
      };
      // Each record has its turn at the virtual cluster, and large lists are read slowly; then its API server reads the policy.
      await until('the certificate cannot be bound again', isRefused, {
        timeoutMs: 120_000,
        seen: () => seen,
      });
      const isLogged = (line: string) =>
        line.includes(object.metadata.uid) && line.includes('revocation failed');
      const says = async () => (await world.operator.log()).split('\n').some(isLogged);
      // The record is tried with a back-off.
      await until('the log says so', says, { timeoutMs: 120_000 });
      expect(await isOnRecord(object)).toBe(true);
    },
    300_000,
  );
});

function deepFields(levels: number): object {
  let fieldsV1 = {};
  for (let level = 0; level < levels; level++) fieldsV1 = { 'f:a': fieldsV1 };
  return {
    manager: 'x',
    operation: 'Update',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1,
  };
}
