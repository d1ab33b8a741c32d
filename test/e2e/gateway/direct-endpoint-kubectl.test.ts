import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { giveRight } from '../../../lab/operator/rights.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { TokenIssuer } from '../../../lab/provider/token-issuer.ts';
import { group } from '../../../src/api/names.ts';
import { directClusterEndpointTokens } from '../../../src/api/resources.ts';
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
const object = { kind: 'Cluster', metadata: { name: cluster } };

/** Before the Cluster says where its endpoint is. */
const early = await person();
const withoutEndpoint = await early.shell.latchkey(`kubeconfig cluster/${cluster} --direct`);

const served = await servedDirectly(direct);
const endpoint = await served.start();
const host = `127.0.0.1:${endpoint.port}`;
await admin.patch(object, {
  spec: { directEndpoint: { host, caData: Buffer.from(endpoint.ca).toString('base64') } },
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

afterAll(async () => {
  process.kill(gateway.process.pid, 'SIGCONT');
  await removeExchangedKeys(plane);
  await ci.stop();
});
