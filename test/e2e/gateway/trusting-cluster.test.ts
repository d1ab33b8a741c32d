import { describe, expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { trustingCluster, trustingClusterName } from './trusting-cluster.ts';

const { world, whoAmI } = await trustingCluster();
const { admin } = world;
const alice = world.name('alice');
const clusters = (...names: string[]) => ({ clusters: names.map((cluster) => ({ cluster })) });
const narrow = { rules: [{ verbs: ['get'], cluster: trustingClusterName }] };

/** A token of a key for alice. */
async function tokenWith(scope: object | undefined, keyScope?: object): Promise<string> {
  const groups = keyScope === undefined ? {} : { groups: ['dev'] };
  const key = await admin.createKey({ user: alice, ...groups, ...(keyScope && { scope: keyScope }) });
  const token = await admin.createToken({ accessKey: key.metadata.name, ttl: 600, ...(scope && { scope }) });
  return (await admin.untilReady(token)).status.token;
}

describe('an API server that is pointed at the discovery of the gateway', () => {
  it.each<[string, object | undefined, object | undefined]>([
    ['for this cluster', clusters(trustingClusterName), clusters(trustingClusterName)],
    ['for this cluster among others', clusters('other', trustingClusterName), clusters('*')],
    ['for all clusters', undefined, clusters('*')],
  ])('takes a token %s, as its user', async (_, scope, keyScope) => {
    const token = await tokenWith(scope, keyScope);
    const user = await until('the API server knows the issuer', async () => await whoAmI(token), {
      timeoutMs: 30_000,
    });
    expect(user).toMatchObject({ username: alice, groups: ['dev', 'system:authenticated'] });
  });

  it('names the token in its audit log', async () => {
    const user = await whoAmI(await tokenWith(clusters(trustingClusterName)));
    expect(user).toHaveProperty(
      ['extra', 'authentication.kubernetes.io/credential-id'],
      [expect.stringMatching(/^JTI=[0-9a-f-]{36}\.1$/)],
    );
  });

  it.each<[string, object | undefined, object | undefined]>([
    ['for another cluster', clusters('other'), clusters('*')],
    ['that is narrower than a cluster', narrow, clusters('*')],
    ['below a key that is narrower', clusters(trustingClusterName), narrow],
    ['for a project', { projects: [{ project: 'red' }] }, undefined],
    ['for nothing', {}, undefined],
  ])('refuses a token %s', async (_, scope, keyScope) => {
    const good = await tokenWith(clusters(trustingClusterName));
    await until('the API server knows the issuer', async () => await whoAmI(good), { timeoutMs: 30_000 });
    expect(await whoAmI(await tokenWith(scope, keyScope))).toBeUndefined();
  });

  it('refuses an access key', async () => {
    const { key } = await world.holder({ user: alice });
    expect(await whoAmI(key)).toBeUndefined();
  });
});
