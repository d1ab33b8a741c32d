import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { get as httpsGet } from 'node:https';
import { type AddressInfo, connect as tcpConnect } from 'node:net';
import path from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { base64 } from '../../../lab/controlplane/kubeconfig.ts';
import type { KubectlResult } from '../../../lab/controlplane/kubectl.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { configMaps, secrets } from '../../../src/api/resources.ts';
import {
  createAuthority as createOwnAuthority,
  createServingCertificate,
} from '../../../src/credentials/certificates/serving-certificate.ts';
import { lives } from '../../../src/operator/gateway-certificate/plan-certificate.ts';
import { authorityName } from '../../../src/operator/gateway-certificate/stored-certificate.ts';
import { Project, readingOf } from '../../e2e/kubeconfigs/kubeconfig-world.ts';

const world = await operatorWorld();
const { admin, guard, plane } = world;
const cluster = await sharedVirtualCluster();
const serving = secretAt(systemNamespace, systemObjects.gatewayCertificate);
const authority = secretAt(systemNamespace, systemObjects.gatewayAuthority);
const host = new URL(baseURL).hostname;
const folder = path.join(guard.folder, 'own-tls');
await mkdir(folder);
const files = ['tls.crt', 'tls.key'].map((file) => path.join(folder, file)) as [string, string];

const project = await Project.ready(world, cluster);
let kubeConfig = await project.issued({ clientCert: false });
await mount();
const gateway = await RunningGateway.start(plane, guard, {
  name: world.name('gateway'),
  env: {
    LATCHKEY_TLS_FOLDER: folder,
    LATCHKEY_TARGET_ADDRESSES: targetSettings.LATCHKEY_TARGET_ADDRESSES,
  },
});
afterAll(async () => void (await gateway.end()));
const proxy = await nameServer();

function certificateIn(secret: Stored): X509Certificate {
  return new X509Certificate(entryOf(secret, 'tls.crt'));
}

/** Updates the volume as the kubelet does: the Secret as it is now stands in the files. Resolves with its certificate. */
async function mount(): Promise<string> {
  const secret = await admin.get(serving);
  await writeFile(files[0], entryOf(secret, 'tls.crt'));
  await writeFile(files[1], entryOf(secret, 'tls.key'), { mode: 0o600 });
  return certificateIn(secret).fingerprint256;
}

/** Leads the host of the base URL to the gateway, as DNS would. */
async function nameServer(): Promise<string> {
  const server = createHttpServer().on('connect', ({ url }, client, head) => {
    if (url !== `${host}:443`) return void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const upstream = tcpConnect(gateway.port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on('error', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => server.closeAllConnections());
  afterAll(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The real kubectl, with the kubeconfig exactly as it was issued. */
async function kubectl(document: string, ...args: readonly string[]): Promise<KubectlResult> {
  const kubeconfig = path.join(guard.folder, `${world.name('issued')}.yaml`);
  await writeFile(kubeconfig, document, { mode: 0o600 });
  const env = { HTTPS_PROXY: proxy, NO_PROXY: '', no_proxy: '' };
  return await plane.kubectl([...args, '--request-timeout=20s'], { kubeconfig, env });
}

const works = async (document: string): Promise<boolean> =>
  (await kubectl(document, 'get', 'namespace', 'default')).exitCode === 0;

function dial(servername: string, ca: string): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', servername, ca }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

const untilServed = async (fingerprint: string, ca: string): Promise<void> => {
  const isServed = async () => (await dial(host, ca)).fingerprint256 === fingerprint;
  await until('the gateway serves with it', isServed, { timeoutMs: 90_000 });
};

const caOf = ({ status }: Stored): string => readingOf(status.kubeConfig).ca ?? '';
const isSignedBy = (secret: Stored, ca: string): boolean =>
  certificateIn(secret).verify(new X509Certificate(ca).publicKey);

/** Until the kubeconfig names what vouches for the gateway now. */
const untilNamed = async (ca: string): Promise<Stored> => {
  kubeConfig = await admin.until(kubeConfig, 'another authority', (object) => caOf(object) === ca);
  return kubeConfig;
};

/** Until the Secret is there again after it was deleted. */
const untilMade = async (secret: typeof serving): Promise<Stored> =>
  await until('made again', async () => await admin.find(secret));

describe('the gateway with the certificate of the operator', () => {
  it('is trusted by kubectl with nothing but the issued kubeconfig', async () => {
    const { status } = await admin.untilReady(kubeConfig);
    await until('the kubeconfig is known', async () => await works(status.kubeConfig));
    const found = await kubectl(status.kubeConfig, 'get', 'namespaces', '--output=name');
    expect(found).toMatchObject({ exitCode: 0, stderr: '' });
    expect(found.stdout).toContain('namespace/kube-system');
  });

  it('is not trusted by kubectl with another authority', async () => {
    const other = base64(createAuthority('other').certificate);
    const document = kubeConfig.status.kubeConfig.replace(base64(caOf(kubeConfig)), other);
    const { exitCode, stderr } = await kubectl(document, 'get', 'namespaces');
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('certificate signed by unknown authority');
  });

  it.each([
    host,
    'latchkey-gateway',
    'latchkey-gateway.latchkey-system',
    'latchkey-gateway.latchkey-system.svc',
    'latchkey-gateway.latchkey-system.svc.cluster.local',
  ])('is trusted as %s', async (name) => {
    expect(await dial(name, caOf(kubeConfig))).toMatchObject({ subject: { CN: 'latchkey-gateway' } });
  });

  it('is trusted under no other name', async () => {
    await expect(dial('other.example.com', caOf(kubeConfig))).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  it('takes the next one into use under open watches, when the Secret was deleted and made again', async () => {
    const ca = caOf(kubeConfig);
    const watch = await openWatch();
    const before = certificateIn(await admin.get(serving)).fingerprint256;
    await admin.delete(serving);
    await untilMade(serving);
    const after = await mount();
    expect(after).not.toBe(before);
    expect(entryOf(await admin.get(serving), 'ca.crt')).toBe(ca);
    await untilServed(after, ca);
    const name = world.name('seen');
    await cluster.admin.createObject(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default' },
    });
    await until('the watch goes on', async () => watch.text().includes(name));
    expect(await works(kubeConfig.status.kubeConfig)).toBe(true);
    watch.end();
  });
});

describe('the gateway with a certificate that no client accepts', () => {
  const readiness = async () => await gateway.health('/readyz');

  it('is not ready while it has ended, and ready again with the next one', async () => {
    expect(await readiness()).toMatchObject({ status: 200 });
    const day = 86_400_000;
    const validity = { from: Date.now() - 2 * day, until: Date.now() - day };
    const signer = { ...createOwnAuthority(authorityName, validity), name: authorityName };
    const ended = createServingCertificate(signer, { subject: authorityName, hosts: [host], validity });
    await writeFile(files[0], ended.certificate);
    await writeFile(files[1], ended.privateKey);
    const isNotReady = async () => (await readiness()).status === 503;
    await until('it is not ready', isNotReady, { timeoutMs: 60_000 });
    expect((await readiness()).text).toMatch(/certificate failed: it ended at \d/);
    await untilServed(await mount(), caOf(kubeConfig));
    expect(await readiness()).toMatchObject({ status: 200 });
  });

  it('keeps the one before where the next one cannot be used, stays ready, and says so', async () => {
    await writeFile(files[0], 'no certificate');
    const isSaid = async () => (await gateway.log()).includes('the new serving certificate cannot be used');
    await until('the log says so', isSaid, { timeoutMs: 60_000 });
    expect(await readiness()).toMatchObject({ status: 200 });
    await untilServed(certificateIn(await admin.get(serving)).fingerprint256, caOf(kubeConfig));
    await mount();
  });
});

/** A watch of ConfigMaps in the virtual cluster, on a connection of its own. */
async function openWatch() {
  const { server, token, ca } = readingOf(kubeConfig.status.kubeConfig);
  const { pathname } = new URL(server);
  const request = httpsGet({
    ...{ host: '127.0.0.1', port: gateway.port, servername: host, ca, agent: false },
    path: `${pathname}/api/v1/namespaces/default/configmaps?watch=true`,
    headers: { authorization: `Bearer ${token}` },
  });
  const [answer] = await once(request, 'response');
  expect(answer.statusCode).toBe(200);
  let text = '';
  let problem: Error | undefined;
  const end = () => request.destroy();
  request.on('error', () => undefined);
  answer.on('error', (error: Error) => {
    problem = error;
  });
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return {
    end,
    text: () => {
      if (problem !== undefined) throw problem;
      return text;
    },
  };
}

describe('the Secret of the gateway', () => {
  it('is whole again after it was damaged, and kubeconfigs stay as they are', async () => {
    await admin.patch(serving, { data: { 'tls.crt': base64('garbage') } });
    await admin.until(serving, 'whole', (secret) => entryOf(secret, 'tls.crt') !== 'garbage');
    const { serial } = kubeConfig.status;
    expect(isSignedBy(await admin.get(serving), caOf(kubeConfig))).toBe(true);
    expect(entryOf(await admin.get(serving), 'ca.crt')).toBe(caOf(kubeConfig));
    expect((await admin.get(kubeConfig)).status.serial).toBe(serial);
  });

  it('and that of its authority survive a new leader unchanged', async () => {
    const before = await Promise.all([serving, authority].map((secret) => admin.get(secret)));
    await world.killOperator();
    await world.startOperator();
    await admin.untilReady(await project.create({ clientCert: false }));
    const after = await Promise.all([serving, authority].map((secret) => admin.get(secret)));
    const version = ({ metadata }: Stored) => metadata.resourceVersion;
    expect(after.map(version)).toEqual(before.map(version));
    expect((await admin.get(kubeConfig)).status.serial).toBe(kubeConfig.status.serial);
  });

  it('gets another authority when that of the operator is deleted, and kubeconfigs follow', async () => {
    const { serial } = kubeConfig.status;
    await admin.delete(authority);
    const ca = entryOf(await untilMade(authority), 'tls.crt');
    await admin.until(serving, 'of the new authority', (secret) => isSignedBy(secret, ca));
    expect((await untilNamed(ca)).status.serial).toBe(serial + 1);
  });

  it('gets a planned authority, and kubeconfigs that name it already stay as they are', async () => {
    const end = Date.now() + lives.serving + 5_000;
    const ending = createOwnAuthority(authorityName, { from: Date.now() - lives.backdate, until: end });
    const entries = { 'tls.crt': base64(ending.certificate), 'tls.key': base64(ending.privateKey) };
    await admin.patch(authority, { data: entries });
    const announced = await admin.until(authority, 'announced', ({ data = {} }) => 'next.crt' in data);
    const next = entryOf(announced, 'next.crt');
    const { serial } = (await untilNamed(ending.certificate + next)).status;
    const changed = await admin.until(authority, 'changed', ({ data = {} }) => 'former.crt' in data);
    expect([entryOf(changed, 'former.crt'), entryOf(changed, 'tls.crt')]).toEqual([ending.certificate, next]);
    await admin.until(serving, 'of the next authority', (secret) => isSignedBy(secret, next));
    await untilServed(await mount(), caOf(kubeConfig));
    await until('the kubeconfig is known', async () => await works(kubeConfig.status.kubeConfig));
    expect((await admin.get(kubeConfig)).status.serial).toBe(serial);
  });

  it('stays as the site applies it over that of the operator, and kubeconfigs name no authority then', async () => {
    const { certificate, key } = createServer(createAuthority('site'), [host]);
    await apply(certificate, key);
    const { resourceVersion } = (await admin.get(serving)).metadata;
    await untilNamed('');
    const { data, metadata } = await admin.get(serving);
    expect(data).toMatchObject({ 'tls.crt': base64(certificate), 'tls.key': base64(key) });
    expect(metadata.resourceVersion).toBe(resourceVersion);
    expect(await world.operator.log()).toContain('the gateway has a certificate of your own');
    await admin.delete(serving);
    await untilNamed(entryOf(await untilMade(serving), 'ca.crt'));
  });

  it('that the site makes itself is not touched', async () => {
    const { certificate, key } = createServer(createAuthority('site'), [host]);
    const made = await replace({ 'tls.crt': base64(certificate), 'tls.key': base64(key) });
    await untilNamed('');
    await admin.patch(serving, { metadata: { annotations: { seen: 'twice' } } });
    await admin.untilReady(await project.create({ clientCert: false }));
    const { metadata, data } = await admin.get(serving);
    expect(data).toEqual(made.data);
    expect(metadata.labels).toBeUndefined();
    await admin.delete(serving);
    await untilNamed(entryOf(await untilMade(serving), 'ca.crt'));
  });

  it('is the only place of its keys: no log holds one', async () => {
    const logs = (await world.operator.log()) + (await gateway.log());
    expect(logs).not.toContain('PRIVATE KEY');
    for (const secret of [serving, authority])
      expect(logs).not.toContain((await admin.get(secret)).data?.['tls.key']);
  });
});

/** By the command of the guide. */
async function apply(certificate: string, key: string): Promise<void> {
  const [certFile, keyFile] = ['site.crt', 'site.key'].map((file) => path.join(guard.folder, file));
  await writeFile(certFile ?? '', certificate);
  await writeFile(keyFile ?? '', key, { mode: 0o600 });
  const { name, namespace } = serving.metadata;
  const pair = [`--namespace=${namespace}`, `--cert=${certFile}`, `--key=${keyFile}`];
  const written = ['--dry-run=client', '--output=yaml'];
  const { stdout } = await plane.kubectl(['create', 'secret', 'tls', name, ...pair, ...written]);
  expect(await plane.kubectl(['apply', '-f', '-'], { input: stdout })).toMatchObject({ exitCode: 0 });
}

/** The Secret with nothing of ours left in it. */
async function replace(data: Readonly<Record<string, string>>): Promise<Stored> {
  const { metadata } = await admin.get(serving);
  const { resourceVersion, uid } = metadata;
  const place = { namespace: systemNamespace, name: systemObjects.gatewayCertificate };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', data };
  return await admin.client.replace<Stored>(secrets, place, {
    ...secret,
    metadata: { ...place, resourceVersion, uid },
  });
}
