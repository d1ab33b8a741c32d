import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyKustomization } from '../../../lab/operator/kustomization.ts';
import { until } from '../../../lab/operator/until.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { contentTypes } from '../admission/api-client.ts';
import { objectOf, pathOf, type TestObject } from '../admission/objects.ts';
import { admissionWorld, create, strip, type World } from '../admission/world.ts';
import { render } from '../config/render.ts';
import { describeRows, type Row } from './rows.ts';
import { clearPolicy, dropPolicy, policyOf, policyPath, setPolicy, writePolicy } from './site-policy.ts';

afterAll(clearPolicy);

const keys = ownedAccessKeys;
const tokens = directClusterEndpointTokens;
const kubeConfigs = virtualClusterInstanceKubeConfigs;
const year = 31_536_000;
const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const life = `spec.ttl: must be set, and at most ${year} seconds, by maxKeyTTL ${config}`;
const noScope = `spec.scope: must be set on a key for another user, by requireScope ${config}`;

/** As an overlay adds it, and waits until the API server acts on it. */
async function adopt(world: World): Promise<void> {
  await applyKustomization(world.plane, 'site-policy');
  const body = objectOf(keys, { user: 'alice', scope: {} });
  const acts = async () =>
    (await world.admin.send('POST', pathOf(keys), { body, query: { dryRun: 'All' } })).status === 403;
  await until('the recommended site policy acts', acts, { everyMs: 5 });
}

type Creation = readonly [
  who: 'alice' | 'master',
  does: string,
  resource: Row['resource'],
  spec: Record<string, unknown>,
  answer: string | 'allowed',
];

const creation = (...[who, does, resource, spec, answer]: Creation): Row => ({
  ...{ who, does, resource, attempt: { verb: 'create' }, content: { spec } },
  answer: answer === 'allowed' ? answer : [403, answer],
});

describeRows(
  'under the recommended site policy',
  [
    creation('alice', 'makes no key without an end', keys, {}, life),
    creation('alice', 'makes no key whose ttl is 0', keys, { ttl: 0 }, life),
    creation('alice', 'makes no key for more than a year', keys, { ttl: year + 1 }, life),
    creation('alice', 'makes no key without an end below another', keys, { accessKey: 'p' }, life),
    creation('master', 'makes no key for alice without a scope', keys, { user: 'alice', ttl: year }, noScope),
    creation('alice', 'makes a key for a year for herself', keys, { ttl: year }, 'allowed'),
    creation('alice', 'makes an idle key', keys, { ttl: 600, ttlAfterLastActivity: true }, 'allowed'),
    creation('alice', 'makes a plain key', keys, { ttl: 600, key: 'x'.repeat(40) }, 'allowed'),
    creation(
      'master',
      'makes a key for alice with a scope',
      keys,
      { user: 'alice', ttl: 600, scope: { clusters: [{ cluster: 'a' }] } },
      'allowed',
    ),
    creation('alice', 'makes a token of nothing', tokens, {}, 'allowed'),
    creation('master', 'makes a kubeconfig of nothing', kubeConfigs, {}, 'allowed'),
    creation('master', 'makes a kubeconfig of a year', kubeConfigs, { certificateTTL: 0 }, 'allowed'),
  ],
  adopt,
);

describe('a key from before the recommended site policy', async () => {
  const world = await admissionWorld();
  let before: TestObject;
  const patch = async (body: object) =>
    await world.admin.send('PATCH', pathOf(keys, before.metadata.name), {
      body,
      contentType: contentTypes.mergePatch,
    });

  beforeAll(async () => {
    await dropPolicy(world);
    before = await create(world.admin, objectOf(keys, { user: 'alice' }));
    await adopt(world);
  });

  it('is one that could not be made now, and is not prolonged', async () => {
    const again = { body: objectOf(keys, { user: 'alice' }) };
    expect((await world.admin.send('POST', pathOf(keys), again)).status).toBe(403);
    expect((await patch({ spec: { ttl: year + 1 } })).status).toBe(403);
  });

  it('is described, disabled, deleted, and its finalizers come off', async () => {
    expect((await patch({ spec: { description: 'old' } })).status).toBe(200);
    expect((await patch({ spec: { disabled: true } })).status).toBe(200);
    const path = pathOf(keys, before.metadata.name);
    expect((await world.admin.send('DELETE', path)).status).toBe(200);
    expect((await strip(world.admin, before)).status).toBe(200);
    expect((await world.admin.send('GET', path)).status).toBe(404);
  });
});

describe('the site policy of a site', async () => {
  const world = await admissionWorld();

  it('is not written by an upgrade', async () => {
    await writePolicy(world, policyOf({ maxKeyTTL: '6000' }));
    const stored = (await world.admin.send('GET', policyPath)).body;
    await applyKustomization(world.plane, 'default');
    expect((await world.admin.send('GET', policyPath)).body).toEqual(stored);
    const shipped = await render(world.plane, 'default');
    expect(shipped.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).not.toContain(
      'ConfigMap/latchkey-site-policy',
    );
  });

  it('takes the place of the recommended one, and the other way round', async () => {
    await setPolicy(world, { maxKeyTTL: '6000' });
    await adopt(world);
    const body = objectOf(keys, { user: 'alice', scope: {}, ttl: year });
    const allowed = async () => (await world.admin.send('POST', pathOf(keys), { body })).status === 201;
    await until('a year is allowed', allowed);
  });
});

describe('what the demo installs', async () => {
  const world = await admissionWorld();

  it('is config/default and the recommended site policy', async () => {
    const demo = await render(world.plane, new URL('../../../tools/demo/platform', import.meta.url).pathname);
    const recommended = await render(world.plane, 'site-policy');
    expect(recommended).toHaveLength(1);
    expect(demo).toEqual(expect.arrayContaining(recommended));
    expect(demo).toHaveLength((await render(world.plane, 'default')).length + 1);
  });
});
