import { beforeAll, describe, expect, it } from 'vitest';
import { secretAt, type Target } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { systemNamespace } from '../../../src/api/names.ts';
import { secrets, virtualClusterInstances } from '../../../src/api/resources.ts';
import {
  type Access,
  accessOf,
  accessSecretOf,
  callAs,
  foundInTarget,
  inTarget,
  type Made,
  makeInstance,
} from './target-world.ts';

const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
const { admin } = world;
const expires = 'management.platform.sh/token-expires';
const ownerUID = 'management.platform.sh/owner-uid';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the access to a target', () => {
  let made: Made;
  let secret: Target;
  let before: Access;

  beforeAll(async () => {
    made = await makeInstance(world, cluster);
    await admin.untilReady(made.instance);
    secret = accessSecretOf(made.instance);
  });

  const inASecond = () => new Date(Date.now() + 1_000).toISOString().replace(/\.\d+/, '');
  const alterations: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['when half of the life of its token is gone', () => admin.annotate(secret, { [expires]: inASecond() })],
    ['when the end of its token is not known', () => admin.annotate(secret, { [expires]: null })],
    ['when its Secret was deleted', () => admin.delete(secret)],
    ['when its token was altered', () => admin.patch(secret, { data: { token: base64('x'.repeat(100)) } })],
    [
      'when its server was altered',
      () => admin.patch(secret, { data: { server: base64('https://127.0.0.1') } }),
    ],
    ['when something was added to it', () => admin.patch(secret, { data: { more: base64('x') } })],
    ['when the account was deleted', () => cluster.admin.delete(inTarget.account)],
  ];

  it.each(alterations)('is replaced %s', async (_when, alter) => {
    before = await accessOf(world, made.instance);
    const age = Date.parse((await admin.get(secret)).metadata.annotations?.[expires] ?? '');

    await alter();

    const access = await until('another token', async () => {
      const present = await accessOf(world, made.instance);
      return present.token !== before.token && present.token.length > 100 && present;
    });
    expect({ ...access, token: before.token }).toEqual(before);
    const { metadata, data } = await admin.get(secret);
    expect(Object.keys(data ?? {}).toSorted()).toEqual(['ca.crt', 'server', 'token']);
    expect(Date.parse(metadata.annotations?.[expires] ?? '')).toBeGreaterThanOrEqual(age);
    const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { body } = await callAs(access, 'POST', review);
    expect(body.status.userInfo.username).toBe('system:serviceaccount:kube-system:latchkey-impersonator');
  });

  it('is never written into a Secret that somebody else has made', async () => {
    const uid = made.instance.metadata.uid;
    const taken = await admin.patch(secret, {
      metadata: { labels: { [ownerUID]: null } },
      data: { token: base64('of somebody else') },
    });
    await admin.untilRefused(made.instance, 'SecretConflict');
    expect((await admin.get(secret)).data).toEqual(taken.data);
    await admin.patch(secret, { metadata: { labels: { [ownerUID]: uid } } });
    await admin.untilReady(made.instance);
  });

  it('goes with its object, and another object of the same name gets its own', async () => {
    await admin.delete(made.instance);
    await admin.untilGone(made.instance);
    const { name } = made.instance.metadata;
    const next = await admin.create(virtualClusterInstances, {}, { name });
    await admin.untilReady(next);
    expect(await admin.find(secret)).toBeUndefined();
    expect((await accessOf(world, next)).token).not.toBe(before.token);
  });
});

describe('what a former operator has left', () => {
  /** As releases kept it that had no namespace for it. */
  const storeFormerAccess = async ({ instance }: Made): Promise<Target> => {
    const { metadata, data } = await admin.get(accessSecretOf(instance));
    const { name, labels } = metadata;
    const place = { namespace: systemNamespace, name, labels };
    await admin.createObject(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: place, data });
    return secretAt(systemNamespace, name);
  };

  it('is swept when the next one begins, and nothing else', async () => {
    const [left, kept] = [await makeInstance(world, cluster), await makeInstance(world, cluster)];
    for (const { instance } of [left, kept]) await admin.untilReady(instance);
    await world.operator.end();
    await admin.delete(left.instance);
    await admin.patch(left.instance, { metadata: { finalizers: null } });
    await admin.untilGone(left.instance);
    const { metadata } = await admin.get(accessSecretOf(left.instance));
    const former = await storeFormerAccess(kept);
    const copy = { namespace: metadata.namespace ?? '', name: world.name('copy'), labels: metadata.labels };
    await admin.createObject(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: copy });

    await world.startOperator();

    await admin.untilGone(accessSecretOf(left.instance));
    await admin.untilGone(former);
    expect(await admin.find(accessSecretOf(kept.instance))).toBeDefined();
    expect(await admin.find(secretAt(copy.namespace, copy.name))).toBeDefined();
  });
});

describe('the namespace of a project', () => {
  it('goes away with everything in it, and leaves nothing', async () => {
    const namespace = world.name('p');
    const { plane } = world;
    await plane.kubectl(['create', 'namespace', namespace]);
    const { instance } = await makeInstance(world, cluster, { namespace });
    await admin.untilReady(instance);

    await plane.kubectl(['delete', 'namespace', namespace, '--wait=false']);

    await admin.untilGone({ kind: 'Namespace', metadata: { name: namespace } }, { timeoutMs: 120_000 });
    expect(await admin.find(accessSecretOf(instance))).toBeUndefined();
  });

  it('leaves an instance of another one untouched', async () => {
    expect(await foundInTarget(cluster)).toEqual(['account', 'role', 'binding', 'users']);
  });
});

describe('an operator that was told of no addresses', () => {
  beforeAll(async () => {
    await world.operator.end();
    await world.startOperator({ env: { LATCHKEY_TARGET_ADDRESSES: '0.0.0.0/0,::/0' } });
  });

  it.each(['127.0.0.1', 'localhost'])('does not dial %s', async (host) => {
    const kubeConfig = (await cluster.adminKubeConfig()).replace('127.0.0.1', host);
    const { instance } = await makeInstance(world, cluster, { kubeConfig });
    await admin.untilRefused(instance, 'AddressRefused');
    await admin.untilEvent(instance, 'AddressRefused');
    expect(await admin.find(accessSecretOf(instance))).toBeUndefined();
  });
});
