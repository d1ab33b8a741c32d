import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { clusterRoleBindings } from '../../../src/api/resources.ts';
import {
  bindingOf,
  bindingsPath,
  Holder,
  Project,
  subjectOf,
  tracesOf,
} from '../../e2e/kubeconfigs/kubeconfig-world.ts';

const canary = 'CANARY7f3a';
const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
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

async function issued(): Promise<{ object: Stored; holder: Holder }> {
  const object = await project.issued();
  const holder = new Holder(object.status.kubeConfig, cluster);
  holders.push(holder);
  await holder.untilAllowed();
  return { object, holder };
}

/** Deletes the kubeconfig. Its holder may do nothing any more, and no reader of logs, events or objects sees what they wrote. */
async function expectRevoked(object: Stored, holder: Holder): Promise<void> {
  await admin.delete(object);
  await admin.untilGone(object, { timeoutMs: 55_000 });
  expect(await holder.refusals()).toEqual(new Set([403]));
  expect(await holder.call('/api/v1/namespaces/default/pods')).toBe(403);
  expect(await tracesOf(object, cluster)).toEqual([]);
  expect(await world.operator.log()).not.toContain(canary);
  const { stdout } = await world.plane.kubectl(['get', 'events,vcik,vci', '-A', '-o', 'json']);
  expect(stdout).not.toContain(canary);
}

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
