import { describe, expect, it } from 'vitest';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { collectionPath, objectPath } from '../../../src/kube/resource-path.ts';
import { type ApiClient, contentTypes } from '../admission/api-client.ts';
import { uniqueName } from '../admission/objects.ts';
import { admissionWorld, serviceAccountUser } from '../admission/world.ts';

const purpose = 'management.platform.sh/purpose';
const refusal = {
  status: 403,
  body: { message: expect.stringContaining('the operator alone writes latchkey-oidc-discovery') },
};

describe('ConfigMaps in latchkey-system', async () => {
  const world = await admissionWorld();
  const operator = world.admin.withHeaders({ 'impersonate-user': serviceAccountUser('latchkey-operator') });
  const make = async (client: ApiClient, metadata: object, namespace: string = systemNamespace) =>
    await client.send('POST', collectionPath(configMaps, namespace), {
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } },
    });
  const patch = async (client: ApiClient, name: string, body: object) =>
    await client.send('PATCH', objectPath(configMaps, { namespace: systemNamespace, name }), {
      body,
      contentType: contentTypes.mergePatch,
    });
  const remove = async (name: string) =>
    await world.admin.send('DELETE', objectPath(configMaps, { namespace: systemNamespace, name }));
  const record = () => uniqueName('latchkey-revocation');
  const labels = { [purpose]: 'revocation' };

  it.each([
    ['a record', () => ({ name: record(), labels })],
    ['a record without its label', () => ({ name: record() })],
    ['something else with the label', () => ({ name: uniqueName('other'), labels })],
    ['a record with a generated name', () => ({ generateName: 'latchkey-revocation-' })],
    ['the label under a generated name', () => ({ generateName: 'other-', labels })],
    ['the published key set', () => ({ name: systemObjects.discovery })],
  ])('%s is made by no one but the operator', async (_, metadata) => {
    expect(await make(world.admin, metadata())).toMatchObject(refusal);
  });

  it('of the operator are changed by no one else, not even out of sight', async () => {
    const name = record();
    expect(await make(operator, { name, labels })).toMatchObject({ status: 201 });
    for (const change of [{ data: { a: 'c' } }, { metadata: { labels: { [purpose]: null } } }])
      expect(await patch(world.admin, name, change)).toMatchObject(refusal);
    expect(await patch(operator, name, { data: { a: 'c' } })).toMatchObject({ status: 200 });
    expect(await remove(name)).toMatchObject({ status: 200 });
  });

  it('of others do not become records', async () => {
    const name = uniqueName('other');
    expect(await make(world.admin, { name })).toMatchObject({ status: 201 });
    expect(await patch(world.admin, name, { metadata: { labels } })).toMatchObject(refusal);
    expect(await patch(world.admin, name, { data: { a: 'c' } })).toMatchObject({ status: 200 });
    await remove(name);
  });

  it('elsewhere are no matter of ours', async () => {
    const name = record();
    expect(await make(world.admin, { name, labels }, 'default')).toMatchObject({ status: 201 });
    await world.admin.send('DELETE', objectPath(configMaps, { namespace: 'default', name }));
  });
});
