import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { targetSettings, untilLeading } from '../../../lab/operator/world.ts';
import type { Write } from '../../../lab/operator/write.ts';
import { type Fate, WriteGate } from '../../../lab/operator/write-gate.ts';
import { credentialResources, virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { untilReached } from '../../e2e/gateway/known-holder.ts';
import {
  credential,
  management,
  type OwnAnswer,
  OwnClient,
  ownAPI,
  ownClient,
  ownKeys,
  ownTokens,
} from '../../e2e/gateway/own-client.ts';
import { Project, readingOf } from '../../e2e/kubeconfigs/kubeconfig-world.ts';

const world = await gatewayWorld({ LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' }, targetSettings);
const { admin } = world;
const project = await Project.ready(world, await sharedVirtualCluster());
const { namespace } = project;
const instance = project.instance.metadata.name;
const owner = await ownClient(world, { user: 'alice' });
await untilReached(world.gateway, owner.key, `project/${project.name}/virtualcluster/${instance}`);
await world.killOperator();
const gate = await WriteGate.start(world.plane);
const operator = await RunningOperator.start(gate.access, world.guard, {
  name: world.name('slow'),
  env: targetSettings,
});
await untilLeading(operator);
afterAll(async () => {
  await operator.end();
  await gate.close();
});

const kubeConfigs = `${ownAPI}/namespaces/${namespace}/virtualclusterinstancekubeconfigs`;
const ofInstance = `${ownAPI}/namespaces/${namespace}/virtualclusterinstances/${instance}/kubeconfig`;
const declared = [
  [ownKeys, { ttl: 600 }],
  [ownTokens, { ttl: 600 }],
  [kubeConfigs, { virtualClusterInstance: instance, certificateTTL: 600 }],
] as const;
const creates = [...declared, [ofInstance, {}] as const];
const plurals = new Set(Object.values(credentialResources).map(({ plural }) => plural));
/** Tells a write that makes a credential work. */
const isConfirmation = ({ plural, subresource }: Write) => subresource === 'status' && plurals.has(plural);
const notYet = 'the credential does not work yet: the operator has not confirmed it yet';

afterEach(() => {
  gate.judge = () => 'pass';
});

const post = async ([place, spec]: readonly [string, object]) =>
  await owner.send('POST', place, { body: { spec } });

/** A token is for other servers. */
async function expectToWork({ body, text }: OwnAnswer): Promise<void> {
  expect(text).toMatch(credential);
  const opening =
    body.kind === 'OwnedAccessKey'
      ? ([`${management}/version`, body.spec.key] as const)
      : body.status.kubeConfig && ([inside, readingOf(body.status.kubeConfig).token ?? ''] as const);
  if (!opening) return;
  const [path, secret] = opening;
  expect((await new OwnClient(world, secret).send('GET', path)).status).toBe(200);
}
const inside = `/kubernetes/project/${project.name}/virtualcluster/${instance}/api/v1/namespaces/default`;

async function kubeConfigNames(): Promise<readonly string[]> {
  const { items } = await admin.client.list<Stored>(virtualClusterInstanceKubeConfigs, { namespace });
  return items.map(({ metadata }) => metadata.name);
}

describe('a POST while the operator is slow', () => {
  it('waits for it, and is answered with what works', async () => {
    const held = new Set<string>();
    gate.judge = async (write): Promise<Fate> => {
      if (!isConfirmation(write)) return 'pass';
      held.add(write.name);
      await until('all four wait', async () => held.size >= creates.length);
      return 'pass';
    };
    const answers = await Promise.all(creates.map(post));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 200]);
    for (const answer of answers) await expectToWork(answer);
  });

  it.each<[string, Fate]>([
    ['429', { status: 429, headers: { 'retry-after': '1' }, body: 'Too many requests\n' }],
    ['503', { status: 503, headers: { 'retry-after': '1' }, body: 'the server is stopping\n' }],
    ['no answer', 'unanswered'],
  ])('as its first writes get %s, waits as well', async (_, fate) => {
    const refused = new Set<string>();
    gate.judge = (write): Fate => {
      if (!isConfirmation(write) || refused.has(write.name)) return 'pass';
      refused.add(write.name);
      return fate;
    };
    const answers = await Promise.all(creates.map(post));
    expect(refused.size).toBeGreaterThanOrEqual(creates.length);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 200]);
    for (const answer of answers) await expectToWork(answer);
  });

  it('and slower than a client waits, says so, and leaves nothing but what its owner can use', async () => {
    const before = await kubeConfigNames();
    const released = Promise.withResolvers<Fate>();
    gate.judge = (write) => (isConfirmation(write) ? released.promise : 'pass');
    const [key, token, kubeConfig, posted] = (await Promise.all(creates.map(post))) as [
      OwnAnswer,
      OwnAnswer,
      OwnAnswer,
      OwnAnswer,
    ];
    for (const { status, headers } of [key, token, kubeConfig])
      expect([status, String(headers['warning'])]).toEqual([201, expect.stringContaining(notYet)]);
    expect([token, kubeConfig].map(({ text }) => credential.test(text))).toEqual([false, false]);
    expect([posted.status, posted.headers['retry-after']]).toEqual([503, '5']);
    expect(posted.text).not.toMatch(credential);
    released.resolve('pass');
    for (const { body } of [key, token, kubeConfig]) await admin.untilReady(body);
    await until('the key works', async () => {
      const { status } = await new OwnClient(world, key.body.spec.key).send('GET', `${management}/version`);
      return status === 200;
    });
    const expected = [...before, kubeConfig.body.metadata.name].sort();
    const isAlone = async () =>
      JSON.stringify([...(await kubeConfigNames())].sort()) === JSON.stringify(expected);
    await until('what no one has got is gone', isAlone, { seen: kubeConfigNames });
  });
});
