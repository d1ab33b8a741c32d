import { afterAll, describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { collectionPath, objectPath } from '../../../src/kube/resource-path.ts';
import { adminClient, contentTypes } from '../../integration/admission/api-client.ts';

const world = await operatorWorld();
const { admin } = world;
const master = await adminClient(world.plane);
afterAll(async () => await master.close());

const stampOf = ({ metadata }: Stored): string => `${metadata.name}/${metadata.uid}`;

const alice = master.withHeaders({ 'impersonate-user': 'alice', 'impersonate-group': 'system:masters' });

/** Creates an object as alice, by a request that came with this credential: as the gateway sends it on. */
async function createWith(credential: string, resource: Resource, spec: object): Promise<Stored> {
  const extra = 'impersonate-extra-management.platform.sh%2Faccess-key';
  const client = alice.withHeaders({ [extra]: credential });
  const body = manifestOf(resource, spec);
  const path = collectionPath(resource, body.metadata.namespace);
  const { status, body: created } = await client.send('POST', path, { body });
  if (status !== 201) throw new Error(`${status} ${created.message}`);
  return admin.track(created);
}

const readyKey = async (spec: object): Promise<Stored> => await admin.untilReady(await admin.createKey(spec));
const scope = { virtualClusters: [{ project: 'red', virtualCluster: 'shop' }] };

const kinds = [
  [ownedAccessKeys, { user: 'alice' }],
  [directClusterEndpointTokens, {}],
  [virtualClusterInstanceKubeConfigs, {}],
] as const;

describe.each(kinds)('a $kind created with', (resource, spec) => {
  it('a scoped key gets nothing unless it is below that key', async () => {
    const scoped = await readyKey({ user: 'alice', scope });
    const wide = await readyKey({ user: 'alice' });
    for (const refusedSpec of [spec, { accessKey: wide.metadata.name }]) {
      const made = await createWith(stampOf(scoped), resource, refusedSpec);
      const { status } = await admin.untilRefused(made, reasons.accessKeyRequired);
      expect(conditionOf({ ...made, status }, 'Stalled')?.message).toContain('spec.accessKey');
      expect(status).not.toHaveProperty('credentialHash');
    }
    const below = await createWith(stampOf(scoped), resource, { accessKey: scoped.metadata.name });
    if (resource === virtualClusterInstanceKubeConfigs)
      await admin.untilRefused(below, reasons.instanceNotFound);
    else await admin.untilReady(below);
  });

  it('a key below a scoped one gets nothing of its own', async () => {
    const scoped = await readyKey({ user: 'alice', scope });
    const child = await readyKey({ accessKey: scoped.metadata.name });
    await admin.untilRefused(await createWith(stampOf(child), resource, spec), reasons.accessKeyRequired);
  });

  it('a key that is gone gets nothing, because no one knows what that was limited to', async () => {
    const made = await createWith('gone/5c7e1f0e-0000-4000-8000-000000000000', resource, spec);
    await admin.untilRefused(made, reasons.requesterUnknown);
  });
});

it('a token outlives the login that it was created with, once it was issued', async () => {
  const login = await readyKey({ user: 'alice' });
  const token = await admin.untilReady(await createWith(stampOf(login), directClusterEndpointTokens, {}));
  await admin.delete(login);
  await admin.untilGone(login);
  const path = objectPath(directClusterEndpointTokens, { name: token.metadata.name });
  const body = { metadata: { annotations: { [annotations.rotate]: 'now' } } };
  const { status } = await alice.send('PATCH', path, { body, contentType: contentTypes.mergePatch });
  expect(status).toBe(200);
  await admin.until(token, 'rotated', (object) => object.status.serial === 2);
  await admin.untilReady(token);
});
