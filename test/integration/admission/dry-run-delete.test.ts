import { describe, expect, it } from 'vitest';
import { group } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { withoutNames } from '../ownership/answers.ts';
import { credentialKinds, objectOf, pathOf, uniqueName, unreadObjectOf } from './objects.ts';
import { admissionWorld, create, writers } from './world.ts';

const refusal = 'a dry-run delete shows the object and so needs the verb get on it; delete without dry run';
const secret = 'plainplainplainplainplain';
const dryRun = { dryRun: 'All' };

describe('a dry-run delete', async () => {
  const world = await admissionWorld();
  const writer = await world.user('dave', [writers]);

  describe.each(credentialKinds)('of a $kind', (resource) => {
    const spec = resource === ownedAccessKeys ? { user: 'alice', key: secret } : {};
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] };

    it.each([
      ['with the parameter', { query: dryRun }],
      ['with a body', { body: options }],
      ['with both', { query: dryRun, body: options }],
      ['in the foreground', { body: { ...options, propagationPolicy: 'Foreground' } }],
      ['that orphans', { body: { ...options, propagationPolicy: 'Orphan' } }],
      ['of a certain version only', { body: { ...options, gracePeriodSeconds: 0 } }],
    ])('is refused without the verb get, %s', async (_, request) => {
      const created = await create(world.alice, objectOf(resource, spec));
      const answer = await writer.send('DELETE', pathOf(resource, created.metadata.name), request);
      expect(answer).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
      expect(withoutNames(answer.body.message)).toBe(refusal);
      expect(JSON.stringify(answer.body)).not.toContain(secret);
    });

    it.each([
      ['with the parameter', { query: dryRun }],
      ['with a body', { body: options }],
      ['of labelled objects', { query: { ...dryRun, labelSelector: 'latchkey-admission-test' } }],
    ])('of the collection is refused without the verb get, %s', async (_, request) => {
      await create(world.alice, objectOf(resource, spec));
      const answer = await writer.send('DELETE', pathOf(resource), request);
      expect(answer.status).toBe(403);
      expect(answer.body.message).toContain(refusal);
      expect(JSON.stringify(answer.body)).not.toContain(secret);
    });

    it('answers who may get the object', async () => {
      const created = await create(world.alice, objectOf(resource, spec));
      const one = await world.bob.send('DELETE', pathOf(resource, created.metadata.name), { query: dryRun });
      expect(one).toMatchObject({ status: 200, body: { metadata: { name: created.metadata.name } } });
      const all = await world.bob.send('DELETE', pathOf(resource), { query: dryRun });
      expect(all.status).toBe(200);
      expect(
        (await world.admin.send('GET', pathOf(resource, created.metadata.name))).body.metadata,
      ).not.toHaveProperty('deletionTimestamp');
    });

    it('stands in no way of a real delete', async () => {
      const created = await create(
        writer,
        unreadObjectOf(resource, resource === ownedAccessKeys ? {} : spec),
      );
      const answer = await writer.send('DELETE', pathOf(resource, created.metadata.name));
      expect(answer.status).toBe(200);
      const stored = await world.admin.send('GET', pathOf(resource, created.metadata.name));
      expect(stored.body.metadata).toHaveProperty('deletionTimestamp');
    });
  });

  it('is judged object by object', async () => {
    const mine = await create(world.alice, objectOf(ownedAccessKeys));
    const other = await create(world.alice, objectOf(ownedAccessKeys));
    const name = uniqueName('one-reader');
    await grantGet(name, mine.metadata.name);
    const client = await world.user(name, [writers]);
    const answer = async (target: string): Promise<number> =>
      (await client.send('DELETE', pathOf(ownedAccessKeys, target), { query: dryRun })).status;
    expect(await answer(mine.metadata.name)).toBe(200);
    expect(await answer(other.metadata.name)).toBe(403);
  });

  /** Lets a user get one key by name. */
  async function grantGet(user: string, key: string): Promise<void> {
    const rbac = { apiGroup: 'rbac.authorization.k8s.io' };
    const meta = { apiVersion: `${rbac.apiGroup}/v1`, metadata: { name: user } };
    const rules = [
      { apiGroups: [group], resources: ['ownedaccesskeys'], resourceNames: [key], verbs: ['get'] },
    ];
    const items = [
      { ...meta, kind: 'ClusterRole', rules },
      {
        ...meta,
        kind: 'ClusterRoleBinding',
        roleRef: { ...rbac, kind: 'ClusterRole', name: user },
        subjects: [{ ...rbac, kind: 'User', name: user }],
      },
    ];
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await world.plane.kubectl(['apply', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
  }
});
