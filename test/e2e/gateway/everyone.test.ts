import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { group } from '../../../src/api/names.ts';
import { clusterRoleBindings, clusterRoles } from '../../../src/api/resources.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder } from './known-holder.ts';

const world = await gatewayWorld();
const { admin, gateway } = world;
const api = '/kubernetes/management/apis/management.platform.sh/v1';

interface Answer {
  readonly items?: readonly Stored[];
  readonly metadata?: { readonly continue?: string };
  readonly message?: string;
}

async function ask(key: string, path: string, method: 'GET' | 'DELETE' = 'GET') {
  const { statusCode, body } = await gateway.send(`${api}/${path}`, { key, method });
  const text = await body.text();
  const { items = [], metadata, message } = JSON.parse(text) as Answer;
  return { status: statusCode, text, items, next: metadata?.continue ?? '', message: message ?? '' };
}

const kinds = ['ownedaccesskeys', 'directclusterendpointtokens', 'virtualclusterinstancekubeconfigs'];
const list = (resources = kinds) => ({ apiGroups: [group], resources, verbs: ['list'] });

/** The holder of a key whose user may list all credentials at the API server. */
async function auditor(spec: object = {}) {
  const user = uniqueName('auditor');
  await giveRight(admin, user, list());
  return await knownHolder(world, { user, ...spec });
}

describe('a list of the credentials of everyone', () => {
  it.each(kinds)(
    'of %s is refused as the API server refuses it, if the user may not list them',
    async (plural) => {
      const { key } = await knownHolder(world, { user: uniqueName('eve') });
      const { status, message } = await ask(key, `${plural}?everyone=true`);
      expect(status).toBe(403);
      expect(message).toMatch(
        /^\w+\.management\.platform\.sh is forbidden: User "eve-.*" cannot list resource/,
      );
    },
  );

  it('holds those of others, and neither a key, a hash, a token nor a manifest', async () => {
    const { key } = await auditor();
    const other = await world.holder({ user: uniqueName('bob'), displayName: 'of bob', ttl: 3_600 });
    const token = await admin.untilReady(await admin.createToken({ ttl: 3_600 }));
    const keys = await ask(key, 'ownedaccesskeys?everyone=true');
    const tokens = await ask(key, 'directclusterendpointtokens?everyone=true');
    const found = keys.items.find(({ metadata }) => metadata.name === other.object.metadata.name);
    expect(found).toMatchObject({
      kind: 'OwnedAccessKey',
      spec: { displayName: 'of bob', user: other.object.spec.user, ttl: 3_600 },
      status: { state: 'Ready', expirationTimestamp: expect.any(String) },
    });
    expect(tokens.items.map(({ metadata }) => metadata.name)).toContain(token.metadata.name);
    const both = keys.text + tokens.text;
    expect(both).not.toMatch(
      /sha256:|[0-9a-f]{64}|lk_|eyJ|managedFields|last-applied|secretRef|fingerprint/i,
    );
    expect(both).not.toContain(token.status.token);
  });

  it('comes in pages, and each is judged by the rights of its time', async () => {
    const user = uniqueName('former');
    await giveRight(admin, user, list(['directclusterendpointtokens']));
    const { key } = await knownHolder(world, { user });
    const role = uniqueName('lists-keys');
    await admin.createObject(clusterRoles, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: role },
      rules: [list(['ownedaccesskeys'])],
    });
    const binding = await bindRole(admin, user, role);
    await Promise.all([1, 2].map(async () => await world.holder({ user: uniqueName('many') })));
    const first = 'ownedaccesskeys?everyone=true&limit=1';
    await until('the right counts', async () => (await ask(key, first)).status === 200);
    const page = await ask(key, first);
    expect(page.items).toHaveLength(1);
    const next = `${first}&continue=${encodeURIComponent(page.next)}`;
    expect((await ask(key, next)).items).toHaveLength(1);
    await admin.client.delete(clusterRoleBindings, { name: binding.metadata.name });
    await until('the right is gone', async () => (await ask(key, next)).status === 403);
  });

  it('is out of the scope of every key that has one, whatever the scope says', async () => {
    const rule = { cluster: '*', verbs: ['*'], resources: [{ group, resources: kinds }] };
    for (const scope of [{ rules: [rule] }, { rules: [{}] }, { projects: [{ project: '*' }] }]) {
      const { key } = await auditor({ scope });
      const { status, message } = await ask(key, 'ownedaccesskeys?everyone=true');
      expect([status, message]).toEqual([403, expect.stringContaining('lists its own credentials only')]);
    }
  });

  it.each<[string, string, 'GET' | 'DELETE']>([
    ['a watch', 'ownedaccesskeys?watch=true&everyone=true', 'GET'],
    ['a get', 'ownedaccesskeys/any?everyone=true', 'GET'],
    ['a delete of all', 'ownedaccesskeys?everyone=true', 'DELETE'],
    ['another value', 'ownedaccesskeys?everyone=1', 'GET'],
    ['two values', 'ownedaccesskeys?everyone=true&everyone=false', 'GET'],
  ])('is no %s, which does nothing', async (_, path, method) => {
    const { key, object } = await auditor();
    const { status, message } = await ask(key, path, method);
    expect([status, message]).toEqual([400, expect.stringContaining('everyone')]);
    expect((await admin.find(object))?.metadata.deletionTimestamp).toBeUndefined();
  });
});
