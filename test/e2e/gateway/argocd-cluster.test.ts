import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { annotations, labels } from '../../../src/api/names.ts';
import { buildArgoCDCluster } from '../../argocd-cluster/argocd-cluster.ts';

import { Project } from '../kubeconfigs/kubeconfig-world.ts';
import { untilReached } from './known-holder.ts';

const baseURL = 'https://latchkey.example.com';
const authority = createAuthority('gateway-ca');
const served = { ...createServer(authority, ['latchkey.example.com']), ca: authority.certificate };
const folder = await mkdtemp(path.join(tmpdir(), 'argocd-cluster-'));
afterAll(async () => await rm(folder, { recursive: true }));
const caFile = path.join(folder, 'gateway-ca.crt');
await writeFile(caFile, authority.certificate);

const world = await operatorWorld({ env: { ...targetSettings, LATCHKEY_BASE_URL_CA_FILE: caFile } });
const { admin, guard } = world;
const gateway = await RunningGateway.start(world.plane, guard, {
  name: world.name('gateway'),
  certificate: served,
  env: { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' },
});
afterAll(async () => void (await gateway.end()));

/** The way to the base URL, whose name no one here resolves. */
const proxy = createHttpServer().on('connect', (_request, client, head) => {
  const onward = connect(gateway.port, '127.0.0.1', () => {
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    onward.write(head);
    onward.pipe(client).pipe(onward);
  });
  for (const socket of [client, onward]) socket.on('error', () => socket.destroy());
});
proxy.listen(0, '127.0.0.1');
await once(proxy, 'listening');
afterAll(() => void proxy.close());

const ask = await buildArgoCDCluster(guard.folder, {
  HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
});
const inside = await sharedVirtualCluster();
const project = await Project.ready(world, inside);
const instance = project.instance.metadata.name;
const server = `${baseURL}/kubernetes/project/${project.name}/virtualcluster/${instance}`;

const format = 'argocd-cluster';
const type = 'argocd.argoproj.io/secret-type';

interface Place {
  readonly namespace: string;
  readonly name: string;
}

const read = async ({ namespace, name }: Place): Promise<Stored> =>
  await admin.get(secretAt(namespace, name));
const tokenIn = (secret: Stored): string => JSON.parse(entryOf(secret, 'config')).bearerToken;

async function keySecret(template: object = {}): Promise<{ owner: Stored; at: Place; secret: Stored }> {
  const at = { namespace: 'default', name: world.name('cluster') };
  const target = `virtualcluster/${project.name}/${instance}`;
  const secretRef = { ...at, format, target, template };
  const owner = await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 3600, secretRef }));
  const secret = await read(at);
  await untilReached(
    gateway,
    entryOf(secret, 'key'),
    target.replace('virtualcluster/', 'project/').replace(`/${instance}`, `/virtualcluster/${instance}`),
  );
  return { owner, at, secret };
}

describe('Argo CD takes the Secret for a cluster, and lists what is there,', () => {
  it('of an access key, through the gateway', async () => {
    const { owner, secret } = await keySecret({ labels: { app: 'x' }, entries: { project: 'demo' } });
    expect(secret.metadata.labels).toMatchObject({ [type]: 'cluster', app: 'x' });
    expect(tokenIn(secret)).toBe(entryOf(secret, 'key'));
    const answer = await ask(secret);
    expect(answer).toMatchObject({ name: owner.metadata.name, server, project: 'demo' });
    expect(answer.namespaces).toContain('kube-system');
  });

  it('of a kubeconfig with a token, through the gateway', async () => {
    const name = world.name('kc');
    await project.issued({ clientCert: false, secretRef: { name, format } });
    const secret = await read({ namespace: project.namespace, name });
    const answer = await until(
      'the gateway knows the token',
      async () => await ask(secret).catch(() => undefined),
    );
    expect(answer.server).toBe(server);
    expect(answer.namespaces).toContain('kube-system');
    expect(Object.keys(secret.data ?? {}).sort()).toEqual(['config', 'kubeconfig', 'name', 'server']);
  });

  it('of a kubeconfig with a certificate, past the gateway', async () => {
    const name = world.name('kc');
    const ca = inside.plane.server;
    await project.issued({ secretRef: { name, format } });
    const secret = await read({ namespace: project.namespace, name });
    const answer = await until(
      'the certificate is bound',
      async () => await ask(secret).catch(() => undefined),
    );
    expect(answer.server).toBe(ca);
    expect(answer.namespaces).toContain('kube-system');
  });
});

describe('the Secret of a cluster of Argo CD', () => {
  it('is renewed in place, and what was in it before opens nothing', async () => {
    const { owner, at, secret } = await keySecret();
    await admin.annotate(owner, { [annotations.rotate]: 'now' });
    // Before the status confirms it, the operator may write another one.
    await admin.until(owner, 'a successor', ({ status }) => status.serial === 2);
    const renewed = await read(at);
    expect(renewed.metadata.labels?.[labels.serial]).toBe('2');
    expect(renewed.metadata.uid).toBe(secret.metadata.uid);
    expect(renewed.metadata.labels?.[type]).toBe('cluster');
    expect(tokenIn(renewed)).not.toBe(tokenIn(secret));
    const answer = await until('the gateway knows it', async () => await ask(renewed).catch(() => undefined));
    expect(answer.server).toBe(server);
    await expect(ask(secret)).rejects.toThrow('Unauthorized');
  });

  it.each<[string, object]>([
    [
      'the server, to have the key sent elsewhere',
      { server: Buffer.from('https://attacker.example.com').toString('base64') },
    ],
    [
      'the config, to have Argo CD run a program',
      { config: Buffer.from('{"execProviderConfig":{"command":"sh"}}').toString('base64') },
    ],
  ])('is repaired when somebody changes %s', async (_, data) => {
    const { at, secret } = await keySecret();
    await admin.patch(secretAt(at.namespace, at.name), { data });
    const repaired = await admin.until(
      secretAt(at.namespace, at.name),
      'the same again',
      (present) => JSON.stringify(present.data) === JSON.stringify(secret.data),
    );
    expect(repaired.data).toEqual(secret.data);
  });

  it('is no cluster any more without the format, with the same key', async () => {
    const { owner, at, secret } = await keySecret();
    await admin.patch(owner, { spec: { secretRef: { format: null, target: null, template: null } } });
    const plain = await admin.until(
      secretAt(at.namespace, at.name),
      'no label',
      ({ metadata }) => metadata.labels?.[type] === undefined,
    );
    expect(plain.data).toEqual({ key: secret.data?.['key'] });
  });
});
