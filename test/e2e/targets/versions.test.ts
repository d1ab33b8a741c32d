import { describe, expect, it } from 'vitest';
import { type VirtualCluster, virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { serviceAccounts } from '../../../src/api/names.ts';
import { checkInstallation } from '../../../src/process/installation-check.ts';
import { accessOf, callAs, inTarget, makeInstance } from './target-world.ts';

const world = await operatorWorld();
const { admin } = world;
const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const extra = 'impersonate-extra-management.platform.sh%2faccess-key';
const alice = {
  'impersonate-user': 'alice',
  'impersonate-group': ['dev', 'ops'],
  [extra]: 'ci/uid',
  [`${extra}-limited`]: 'true',
};

const connected = async (cluster: VirtualCluster) => {
  const { instance } = await makeInstance(world, cluster);
  await admin.untilReady(instance);
  return await accessOf(world, instance);
};
const verbsIn = async (cluster: VirtualCluster): Promise<readonly string[]> => {
  const role = (await cluster.admin.get(inTarget.role)) as unknown as { rules: { verbs: string[] }[] };
  return role.rules.flatMap(({ verbs }) => verbs);
};

describe('a target that works as Kubernetes 1.35', async () => {
  const cluster = await virtualCluster({ name: 'older', extraApiServerArgs: ['--emulated-version=1.35'] });

  it('is spoken to in the older form, which it understands', async () => {
    const access = await connected(cluster);
    expect(await verbsIn(cluster)).toEqual(['impersonate', 'impersonate']);
    const { status, body } = await callAs(access, 'POST', review, alice);
    expect(status).toBe(201);
    expect(body.status.userInfo).toMatchObject({
      username: 'alice',
      groups: ['dev', 'ops', expect.any(String)],
    });
  });

  it('is no platform for Latchkey itself', async () => {
    const operator = { component: 'operator', account: serviceAccounts.operator };
    const { signal } = new AbortController();
    await expect(checkInstallation(cluster.admin.client, operator, signal)).rejects.toMatchObject({
      code: 'ERR_KUBERNETES_VERSION',
      message: expect.stringMatching(/v1\.3\d\S*, which works as 1\.35$/),
    });
  });

  it('lets the impersonator speak for no ServiceAccount either', async () => {
    const access = await connected(cluster);
    const headers = { 'impersonate-user': 'system:serviceaccount:kube-system:default' };
    expect((await callAs(access, 'POST', review, headers)).status).toBe(403);
  });
});

describe('a target that has constrained impersonation switched off', async () => {
  const extraApiServerArgs = ['--feature-gates=ConstrainedImpersonation=false'];
  const cluster = await virtualCluster({ name: 'switched-off', extraApiServerArgs });

  it('refuses requests for users, and gets no role with the older verb', async () => {
    const access = await connected(cluster);
    expect((await callAs(access, 'POST', review, alice)).status).toBe(403);
    expect(await verbsIn(cluster)).toContain('impersonate:user-info');
    expect(await verbsIn(cluster)).not.toContain('impersonate');
  });
});
