import { describe, expect, it } from 'vitest';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { annotations, labels } from '../../../src/api/names.ts';
import { clusterRoleBindings, clusters } from '../../../src/api/resources.ts';
import { ignoreNotFound } from '../../../src/kube/kube-error.ts';
import { buildArgoCDCluster } from '../../argocd-cluster/argocd-cluster.ts';
import { directWorld } from './direct-world.ts';
import { servedDirectly } from './served-directly.ts';

const direct = await directWorld({ spec: { directEndpoint: { host: 'not-yet.example.com' } } });
const { world, inside, cluster } = direct;
const { admin, guard } = world;
const served = await servedDirectly(direct);
const endpoint = await served.start();
const ask = await buildArgoCDCluster(guard.folder);

const connected = { kind: 'Cluster', metadata: { name: cluster } };
const type = 'argocd.argoproj.io/secret-type';
const { host } = new URL(endpoint.url);
const caData = Buffer.from(endpoint.ca).toString('base64');
const address = { host, caData };
await admin.patch(connected, { spec: { directEndpoint: address } });

interface Asked {
  readonly user?: string;
  readonly scope?: object | undefined;
  /** Of the key above. */
  readonly above?: object;
}

/** A token in a Secret for Argo CD, of a user who may list the namespaces of the cluster. */
async function tokenFor({ user, scope = { clusters: [{ cluster }] }, above }: Asked = {}) {
  const name = user ?? (await direct.user());
  await giveRight(inside.admin, name, { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list'] });
  const { object: parent } = await world.holder({ user: name, ...(above && { scope: above }) });
  const at = { namespace: 'default', name: world.name('cluster') };
  const accessKey = parent.metadata.name;
  const secretRef = { ...at, format: 'argocd-cluster' };
  const owner = await admin.createToken({ accessKey, ttl: 3600, scope, secretRef });
  return { owner, user: name, read: async () => await admin.get(secretAt(at.namespace, at.name)) };
}

const tokenIn = (secret: Stored): string => JSON.parse(entryOf(secret, 'config')).bearerToken;
const answerOf = async (secret: Stored) =>
  await until('the endpoint knows the token', async () => await ask(secret).catch(() => undefined));
const saying = (reason: string, text: string) => (object: Stored) =>
  object.status.conditions.some(
    (each: { type: string; reason: string; message: string }) =>
      each.type === 'Ready' && each.reason === reason && each.message.includes(text),
  );

describe('Argo CD takes the Secret of a token for a cluster,', () => {
  it('and lists what is there past the gateway, also when the token is renewed in place', async () => {
    const { owner, read } = await tokenFor();
    await admin.untilReady(owner);
    const secret = await read();
    expect(secret.metadata.labels?.[type]).toBe('cluster');
    expect(Object.keys(secret.data ?? {}).sort()).toEqual(['config', 'name', 'server', 'token']);
    expect(tokenIn(secret)).toBe(entryOf(secret, 'token'));
    const server = `https://${host}/kubernetes/cluster/${cluster}`;
    const answer = await answerOf(secret);
    expect(answer).toMatchObject({ name: owner.metadata.name, server });
    expect(answer.namespaces).toContain('kube-system');

    await admin.annotate(owner, { [annotations.rotate]: 'now' });
    await admin.until(owner, 'a successor', ({ status }) => status.serial === 2);
    const renewed = await read();
    expect(renewed.metadata.uid).toBe(secret.metadata.uid);
    expect(renewed.metadata.labels?.[labels.serial]).toBe('2');
    expect(tokenIn(renewed)).not.toBe(tokenIn(secret));
    expect((await answerOf(renewed)).namespaces).toContain('kube-system');
    await expect(ask(secret)).rejects.toThrow('Unauthorized');
  });

  it('which follows the address and the authority of the endpoint, with the same token', async () => {
    const { owner, read } = await tokenFor();
    await admin.untilReady(owner);
    const before = await read();
    const rewritten = async (
      what: string,
      directEndpoint: object,
      server: string,
      ca: string | undefined,
    ) => {
      await admin.patch(connected, { spec: { directEndpoint } });
      const secret = await until(what, async () => {
        const present = await read();
        const { tlsClientConfig } = JSON.parse(entryOf(present, 'config'));
        return entryOf(present, 'server').startsWith(server) && tlsClientConfig.caData === ca && present;
      });
      expect(tokenIn(secret as Stored)).toBe(tokenIn(before));
    };
    await rewritten('another host', { host: 'other.example.com' }, 'https://other.example.com/', caData);
    await rewritten('no authority', { caData: null }, 'https://other.example.com/', undefined);
    await rewritten('the first address', address, `https://${host}/`, caData);
  });
});

describe('a Cluster that is made again under its name', () => {
  const remove = async (one: Stored): Promise<void> => {
    await admin.delete(one);
    const { name } = one.metadata;
    await until(
      'it is gone',
      async () => (await admin.client.get(clusters, { name }).catch(ignoreNotFound)) === undefined,
    );
  };

  it('gets no token that was issued for the one before: the right to use it is asked about first', async () => {
    const name = world.name('again');
    const user = world.name('user');
    const right = await bindRole(admin, user, 'latchkey-use-cluster');
    const { kubeConfigSecretRef } = (await admin.get(connected)).spec;
    const make = async (endpoint: string) =>
      await admin.create(clusters, { kubeConfigSecretRef, directEndpoint: { host: endpoint } }, { name });
    const first = await make('first.example.com');
    const { owner, read } = await tokenFor({ user, scope: { clusters: [{ cluster: name }] } });
    const { status } = await admin.untilReady(owner);
    expect(status.clusterUID).toBe(first.metadata.uid);
    const before = await read();
    const token = tokenIn(before);

    await admin.client.delete(clusterRoleBindings, { name: right.metadata.name });
    await remove(first);
    await make('evil.example.com');
    await admin.until(owner, 'a refusal', saying('UseNotAllowed', `lacks the verb "use" on the Cluster`));
    const left = await read().catch(ignoreNotFound);
    expect(JSON.stringify(left ?? {})).not.toContain(
      Buffer.from('https://evil').toString('base64').slice(0, 12),
    );

    await bindRole(admin, user, 'latchkey-use-cluster');
    await admin.annotate(owner, { [annotations.rotate]: 'now' });
    await admin.untilReady(owner);
    const after = await read();
    expect(entryOf(after, 'server')).toBe(`https://evil.example.com/kubernetes/cluster/${name}`);
    expect(tokenIn(after)).not.toBe(token);
  });

  it('gets another token, for the rest of the same life, where the user may use it', async () => {
    const name = world.name('remade');
    const user = world.name('user');
    await bindRole(admin, user, 'latchkey-use-cluster');
    const { kubeConfigSecretRef } = (await admin.get(connected)).spec;
    const make = async (endpoint: string) =>
      await admin.create(clusters, { kubeConfigSecretRef, directEndpoint: { host: endpoint } }, { name });
    const first = await make('first.example.com');
    const { owner, read } = await tokenFor({ user, scope: { clusters: [{ cluster: name }] } });
    const ready = await admin.untilReady(owner);
    const token = tokenIn(await read());
    await remove(first);
    const second = await make('second.example.com');
    const { status } = await admin.until(owner, 'a successor', (one) => one.status.serial === 2);
    expect(status).toMatchObject({ clusterUID: second.metadata.uid, notAfter: ready.status.notAfter });
    const after = await read();
    expect(entryOf(after, 'server')).toContain('second.example.com');
    expect(tokenIn(after)).not.toBe(token);
  });
});

describe('a token that asks for a cluster of Argo CD', () => {
  it.each<[string, object, string]>([
    ['names none', {}, 'names exactly one cluster'],
    ['names several', { clusters: [{ cluster }, { cluster: 'other' }] }, 'names exactly one cluster'],
    ['names all', { clusters: [{ cluster: '*' }] }, 'names exactly one cluster'],
    [
      'opens more than one cluster',
      { clusters: [{ cluster }], projects: [{ project: 'red' }] },
      'names exactly one cluster',
    ],
    [
      'opens the platform, which the cluster could then ask',
      { clusters: [{ cluster }], roles: [{ role: 'platform-cli' }] },
      'names exactly one cluster',
    ],
    ['names one that is not there', { clusters: [{ cluster: 'gone' }] }, 'needs the Cluster "gone"'],
  ])('is not issued where its scope %s', async (_, scope, message) => {
    const { owner } = await tokenFor({ scope });
    const told = await admin.until(owner, 'a refusal', saying('SecretFailed', message));
    expect(told.status.credentialHash).toBeUndefined();
  });

  it('is not issued where the key above does not name the cluster', async () => {
    const { owner } = await tokenFor({ above: { clusters: [{ cluster: 'other' }] } });
    await admin.until(owner, 'a refusal', saying('SecretFailed', 'the scope of the access key'));
  });

  it('waits for the Cluster and its direct endpoint', async () => {
    const name = world.name('late');
    const user = world.name('user');
    await bindRole(admin, user, 'latchkey-use-cluster');
    const { owner, read } = await tokenFor({ user, scope: { clusters: [{ cluster: name }] } });
    await admin.until(owner, 'no Cluster', saying('SecretFailed', `needs the Cluster "${name}"`));
    const kubeConfigSecretRef = (await admin.get(connected)).spec.kubeConfigSecretRef;
    const late = await admin.create(clusters, { kubeConfigSecretRef }, { name });
    await admin.until(owner, 'no endpoint', saying('SecretFailed', 'needs a direct endpoint of the Cluster'));
    await admin.patch(late, { spec: { directEndpoint: { host: 'late.example.com' } } });
    await admin.untilReady(owner);
    expect(entryOf(await read(), 'server')).toBe(`https://late.example.com/kubernetes/cluster/${name}`);
  });

  it('is not issued to a user who may not use the cluster', async () => {
    const { owner, user } = await tokenFor({ user: world.name('stranger') });
    await admin.until(owner, 'a refusal', saying('UseNotAllowed', `lacks the verb "use" on the Cluster`));
    await bindRole(admin, user, 'latchkey-use-cluster');
    await admin.annotate(owner, { [annotations.rotate]: 'now' });
    await admin.untilReady(owner);
  });
});
