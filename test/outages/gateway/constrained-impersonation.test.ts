import { expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group, targetObjects } from '../../../src/api/names.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { makeCluster } from '../../e2e/targets/target-world.ts';

const world = await gatewayWorld({ LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' });
const { admin, gateway } = world;
const inside = await virtualCluster({
  extraApiServerArgs: ['--feature-gates=ConstrainedImpersonation=false'],
});

it('a target that switched constrained impersonation off refuses all requests, and gets no wider role for it', async () => {
  const alice = world.name('alice');
  const { cluster } = await makeCluster(world, await inside.adminKubeConfig());
  await admin.untilReady(cluster);
  await giveRight(admin, alice, { apiGroups: [group], resources: ['clusters'], verbs: ['use'] });
  await giveRight(inside.admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
  const { key } = await world.holder({ user: alice });
  const path = `/kubernetes/cluster/${cluster.metadata.name}/api/v1/namespaces/default/configmaps`;
  const message = await until('the target is reached', async () => {
    const { statusCode, body } = await gateway.send(path, { key });
    const text = await body.text();
    return statusCode === 403 && text.includes('cannot impersonate') ? text : undefined;
  });
  expect(message).toContain(`users \\"${alice}\\" is forbidden`);
  const role = await inside.admin.get({
    kind: 'ClusterRole',
    metadata: { name: targetObjects.impersonator },
  });
  const verbs = (role as Stored & { rules: { verbs: string[] }[] }).rules.flatMap((rule) => rule.verbs);
  expect(verbs).toContain('impersonate:user-info');
  expect(verbs).not.toContain('impersonate');
});
