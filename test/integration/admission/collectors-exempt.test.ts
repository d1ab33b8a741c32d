import { afterAll, describe, expect, it, vi } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { type ApiAnswer, contentTypes } from './api-client.ts';
import { objectOf, pathOf, type TestObject } from './objects.ts';
import { admissionWorld, create, expectOk } from './world.ts';

const collector = 'system:serviceaccount:kube-system:generic-garbage-collector';
const standIn = 'system:serviceaccount:kube-system:not-the-garbage-collector';
/** It waits longer after each refusal. */
const eventually = { timeout: 120_000, interval: 200 };

/** Why the accounts of Kubernetes' own controllers are exempt from the rules of ownership. */
describe('the garbage collector without its exemption', async () => {
  const world = await admissionWorld();
  const { plane } = world;
  let child: TestObject;
  // The files after this one meet the same control plane.
  afterAll(async () => {
    await exempt(collector, standIn);
    await vi.waitFor(async () => expect(await annotateAs(collector, child)).toBe(200), eventually);
  });

  const stored = async (object: TestObject): Promise<ApiAnswer> =>
    await world.admin.send('GET', pathOf(ownedAccessKeys, object.metadata.name));
  const annotateAs = async (user: string, object: TestObject): Promise<number> => {
    const client = world.admin.withHeaders({
      'impersonate-user': user,
      'impersonate-group': 'system:masters',
    });
    const body = { metadata: { annotations: { seen: 'yes' } } };
    const path = pathOf(ownedAccessKeys, object.metadata.name);
    return (
      await client.send('PATCH', path, {
        body,
        contentType: contentTypes.mergePatch,
        query: { dryRun: 'All' },
      })
    ).status;
  };
  const refusals = async (): Promise<number> => {
    const { stdout } = await plane.kubectl(['get', '--raw', '/metrics']);
    const lines = stdout
      .split('\n')
      .filter((line) => line.startsWith('apiserver_validating_admission_policy_check_total'));
    const denials = lines.filter(
      (line) => line.includes('"latchkey-ownership"') && line.includes('enforcement_action="deny"'),
    );
    return denials.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };

  it('tries again and again to orphan a child, in vain', async () => {
    const parent = await create(world.alice, objectOf(ownedAccessKeys));
    const { apiVersion, kind, metadata } = parent;
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata['uid'] }];
    child = await create(
      world.alice,
      objectOf(ownedAccessKeys, { accessKey: metadata.name }, { ownerReferences }),
    );
    await exempt(standIn, collector);
    await vi.waitFor(async () => expect(await annotateAs(collector, child)).toBe(403), eventually);

    const path = pathOf(ownedAccessKeys, metadata.name);
    expectOk(await world.alice.send('DELETE', path, { query: { propagationPolicy: 'Orphan' } }));
    const before = await refusals();
    await vi.waitFor(async () => expect(await refusals()).toBeGreaterThan(before + 3), eventually);
    expect((await stored(child)).body.metadata.ownerReferences).toHaveLength(1);
    expect((await stored(parent)).body.metadata.finalizers).toContain('orphan');
  });

  /** Puts one name in the place of the other among those that the policies of ownership exempt. */
  async function exempt(name: string, other: string): Promise<void> {
    const policies = [
      'mutatingadmissionpolicy/latchkey-ownership',
      'validatingadmissionpolicy/latchkey-ownership',
    ];
    const { stdout } = await plane.kubectl(['get', ...policies, '-o', 'json']);
    const list = JSON.parse(stdout.replaceAll(other, name));
    // As a manifest: kubectl keeps what it sends as "last applied", and no apply after it would take a resourceVersion back.
    const items = list.items.map(({ status: _, metadata, ...rest }: TestObject) => ({
      ...rest,
      metadata: { name: metadata.name, labels: metadata['labels'], annotations: metadata['annotations'] },
    }));
    const input = JSON.stringify({ ...list, items });
    expect(input).toContain(name);
    expect(await plane.kubectl(['replace', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
  }
});
