import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { TokenIssuer } from '../../../lab/provider/token-issuer.ts';
import { annotations, group, labels } from '../../../src/api/names.ts';
import { clusterRoleBindings, clusters, directClusterEndpointTokens } from '../../../src/api/resources.ts';
import { ignoreNotFound } from '../../../src/kube/kube-error.ts';
import { buildArgoCDCluster } from '../../argocd-cluster/argocd-cluster.ts';
import { directWorld } from './direct-world.ts';
import { removeExchangedKeys } from './exchanged-keys.ts';
import { installCommandLine } from './installed-command-line.ts';
import { untilKnown, untilReached } from './known-holder.ts';
import { servedDirectly } from './served-directly.ts';
import { sessionRights } from './session-world.ts';

const ci = await TokenIssuer.start();
const { issuer, certificateAuthority } = ci;
const trusted = [{ issuer, algorithms: ['ES256'], certificateAuthority }];
const direct = await directWorld({ gateway: { LATCHKEY_TRUSTED_ISSUERS: JSON.stringify(trusted) } });
const { world, inside, cluster, project, space } = direct;
const { admin, gateway, guard, plane } = world;
const personAt = await installCommandLine(guard.folder, plane.binaries.kubectl);
const authority = path.join(guard.folder, 'platform.crt');
writeFileSync(authority, gateway.ca);
const place = `--base-url ${gateway.url} --certificate-authority ${authority}`;
const ask = await buildArgoCDCluster(guard.folder);
const connected = { kind: 'Cluster', metadata: { name: cluster } };

/** Before the Cluster says where its endpoint is. */
const early = await person();
const withoutEndpoint = await early.shell.latchkey(`kubeconfig cluster/${cluster} --direct`);

const served = await servedDirectly(direct);
const endpoint = await served.start();
const host = `127.0.0.1:${endpoint.port}`;
const caData = Buffer.from(endpoint.ca).toString('base64');
const address = { host, caData };
await admin.patch(connected, { spec: { directEndpoint: address } });

afterAll(async () => {
  process.kill(gateway.process.pid, 'SIGCONT');
  await removeExchangedKeys(plane);
  await ci.stop();
});

/** Logged in with a key; their user may enter the cluster, and work with pods in it. */
async function person(spec: object = {}) {
  const user = await direct.user();
  await giveRight(inside.admin, user, sessionRights);
  const holder = await world.holder({ user, ...spec });
  await untilKnown(gateway, holder.key);
  await untilReached(gateway, holder.key, `cluster/${cluster}`);
  const shell = personAt(user);
  const { code, stderr } = await shell.latchkey(`login --with-key ${place}`, { input: holder.key });
  if (code !== 0) throw new Error(stderr);
  return { user, ...holder, shell };
}

/** Their tokens, by the key above them. */
const tokensBelow = async (name: string) => {
  const { items } = await admin.client.list(directClusterEndpointTokens);
  return items.filter((item) => (item as { spec?: { accessKey?: string } }).spec?.accessKey === name);
};

describe('latchkey kubeconfig --direct', () => {
  it('says that a cluster has no direct endpoint', () => {
    expect(withoutEndpoint).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringContaining(`the cluster ${cluster} has no direct endpoint`),
    });
  });

  it('lets kubectl in past the gateway, with one token for many calls, and also while the gateway is away', async () => {
    const { shell, object: key } = await person();
    const written = await shell.latchkey(`kubeconfig cluster/${cluster} --direct --merge`);
    expect(written).toMatchObject({ code: 0, stderr: expect.stringContaining(`cluster-${cluster}@${host}`) });
    const first = await shell.kubectl('get pods');
    expect(first).toMatchObject({ code: 0 });
    const all = await Promise.all(Array.from({ length: 4 }, () => shell.kubectl('get pods')));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(await tokensBelow(key.metadata.name)).toHaveLength(1);
    expect((await shell.kubectl('get secrets')).stderr).toMatch(/cannot list resource .*secrets/);
    // The gateway answers nothing at all: no request of kubectl went there.
    process.kill(gateway.process.pid, 'SIGSTOP');
    try {
      expect(await shell.kubectl('get pods')).toMatchObject({ code: 0 });
    } finally {
      process.kill(gateway.process.pid, 'SIGCONT');
    }
  });

  it('ends with the key: the endpoint refuses within a second, and the next call of kubectl says why', async () => {
    const { shell, object: key } = await person();
    await shell.latchkey(`kubeconfig cluster/${cluster} --direct --merge`);
    expect(await shell.kubectl('get pods')).toMatchObject({ code: 0 });
    const { stdout } = await shell.latchkey(`credential ${place} --direct cluster/${cluster}`);
    const { token } = JSON.parse(stdout).status;
    const statusNow = async () => {
      const { statusCode, body } = await endpoint.send(`/kubernetes/cluster/${cluster}/version`, {
        key: token,
      });
      await body.dump();
      return statusCode;
    };
    expect(await statusNow()).toBe(200);
    await admin.patch(key, { spec: { disabled: true } });
    const began = performance.now();
    await until('the endpoint refuses the token', async () => (await statusNow()) === 401, { everyMs: 10 });
    expect(performance.now() - began).toBeLessThan(1_000);
    const refused = await shell.kubectl('get pods');
    expect(refused.code).not.toBe(0);
    expect((await shell.kubectl('get pods')).stderr).toContain('disabled');
  });

  it('leads into a space of the cluster, for those who may use it', async () => {
    const { shell, user } = await person();
    await giveRight(admin, user, {
      ...{ apiGroups: [group], resources: ['spaceinstances'], verbs: ['use'], resourceNames: [space] },
    });
    const target = `space/${project}/${space}`;
    await until('the gateway shows the space', async () =>
      (await shell.latchkey('targets -o name')).stdout.includes(target),
    );
    expect(await shell.latchkey(`kubeconfig ${target} --direct --merge`)).toMatchObject({ code: 0 });
    expect(await shell.kubectl('get pods -n default')).toMatchObject({ code: 0 });
    expect((await shell.kubectl('get pods -n kube-system')).code).not.toBe(0);
  });
});

describe('a pipeline with one token for the whole job', () => {
  let count = 0;
  const nextToken = async () => ({
    LATCHKEY_ID_TOKEN: await ci.sign({
      ...{ aud: baseURL, sub: 'job', jti: world.name(`job-${++count}`), project_id: '20' },
    }),
  });

  it('writes the kubeconfig, and lets kubectl in: the gateway takes the token once', async () => {
    const user = await direct.user();
    await giveRight(inside.admin, user, sessionRights);
    const exchange = { maxTTL: 900, tokens: [{ issuer, claims: { project_id: '20' } }] };
    const key = await admin.untilReady(await admin.createKey({ user, exchange }));
    const trust = `--trust ${key.metadata.name} ${place}`;
    const shell = personAt(user);
    const exchanged = async (env: { LATCHKEY_ID_TOKEN: string }) =>
      await shell.latchkey(`exchange ${trust}`, { env });
    await until(
      'the gateway takes tokens for it',
      async () => (await exchanged(await nextToken())).code === 0,
    );
    const env = await nextToken();
    await until('the gateway shows the cluster', async () => {
      const { code } = await shell.latchkey(`kubeconfig cluster/${cluster} --direct --merge ${trust}`, {
        env,
      });
      return code === 0;
    });
    const all = await Promise.all(Array.from({ length: 4 }, () => shell.kubectl('get pods', { env })));
    expect(all.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(
      Array(4).fill(expect.stringMatching(/^0 /)),
    );
    expect((await exchanged(env)).stderr).toContain('was exchanged before');
  });
});

const type = 'argocd.argoproj.io/secret-type';

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
