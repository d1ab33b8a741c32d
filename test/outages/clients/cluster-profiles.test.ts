import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { installDirectEndpoint } from '../../../lab/gateway/direct-endpoint.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { group } from '../../../src/api/names.ts';
import {
  clusterProfiles,
  namespaces,
  type Resource,
  roleBindings,
  roles,
} from '../../../src/api/resources.ts';
import { ignoreNotFound } from '../../../src/kube/kube-error.ts';
import { readDocument } from '../../../tools/reference/document.ts';
import { installCommandLine } from '../../e2e/gateway/installed-command-line.ts';
import { untilReached } from '../../e2e/gateway/known-holder.ts';
import { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { makeCluster } from '../../e2e/targets/target-world.ts';
import { clusterProfileDefinition } from '../../fixtures/cluster-profile-definition.ts';

const plane = await startInstalled({ name: 'cluster-profiles' });
afterAll(async () => await plane.stop());
const world = await operatorWorld({ plane, operator: false, clear: false });
const { admin, guard } = world;
const gateway = await RunningGateway.start(plane, guard, {
  env: { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' },
});
afterAll(async () => void (await gateway.end()));
const authority = path.join(guard.folder, 'platform.crt');
writeFileSync(authority, gateway.ca);
const namespace = 'cluster-inventory';
const operatorSettings = {
  ...targetSettings,
  LATCHKEY_BASE_URL: gateway.url,
  LATCHKEY_BASE_URL_CA_FILE: authority,
  LATCHKEY_CLUSTER_PROFILES_NAMESPACE: namespace,
};
await world.startOperator({ env: operatorSettings });
const inside = await sharedVirtualCluster();
const personAt = await installCommandLine(guard.folder, plane.binaries.kubectl);
const { cluster } = await makeCluster(world, await inside.adminKubeConfig(), {}, 'edge');
const project = await Project.make(world, inside);
const target = `virtualcluster/${project.name}/${project.instance.metadata.name}`;

const definitions: Resource = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', namespaced: false },
  ...{ plural: 'customresourcedefinitions', kind: 'CustomResourceDefinition' },
};
const get = async (name: string): Promise<Stored | undefined> =>
  await admin.client.get<Stored>(clusterProfiles, { namespace, name }).catch(() => undefined);
const profileOf = async (name: string, is = (one: Stored) => providersOf(one).length > 0): Promise<Stored> =>
  await until(
    `the profile ${name}`,
    async () => {
      const found = await get(name);
      return found !== undefined && is(found) ? found : undefined;
    },
    { timeoutMs: 90_000 },
  );
interface Said {
  /** Of the manager. */
  readonly name: string;
  readonly displayName?: string;
}
const make = async (
  name: string,
  over: object = {},
  { name: manager, ...spec }: Said = { name: 'another' },
) =>
  await admin.client.create<Stored>(
    clusterProfiles,
    {
      ...{ apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' },
      metadata: { name, namespace, ...over },
      spec: { ...spec, clusterManager: { name: manager } },
    },
    { namespace },
  );

/** Takes away all by which the operator would know that it is ours. */
const strip = async (name: string): Promise<unknown> =>
  await admin.client
    .mergePatch(
      clusterProfiles,
      { namespace, name },
      { metadata: { labels: null, annotations: null, ownerReferences: null } },
    )
    .catch(ignoreNotFound);
const isWhole = ({ metadata }: Stored): boolean =>
  metadata.labels !== undefined &&
  metadata.annotations !== undefined &&
  metadata.ownerReferences !== undefined;

interface Provider {
  readonly name: string;
  readonly cluster: { readonly server: string };
}

const providersOf = ({ status }: Stored): readonly Provider[] =>
  (status?.['accessProviders'] ?? []) as readonly Provider[];

it('a missing definition, and missing rights, keep nothing else from its work', async () => {
  await Promise.all([cluster, project.instance].map(async (one) => await admin.untilReady(one)));
  await until('the log says what is missing', async () =>
    /"kind":"ClusterProfile".*watch failed/.test(await world.operator.log()),
  );
  await admin.client.create(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  await admin.client.create(definitions, clusterProfileDefinition);
  const shipped = parseAllDocuments(readDocument('config/cluster-profiles/role.yaml'));
  for (const document of shipped) {
    const object = document.toJS();
    await admin.client.create(object.kind === 'Role' ? roles : roleBindings, object, { namespace });
  }
  await profileOf('cluster.edge');
});

describe('fleet tools find', () => {
  it('each target in one namespace, as Latchkey manages it', async () => {
    const found = await profileOf('cluster.edge');
    const role = await admin.client.get(roles, { namespace, name: 'latchkey-cluster-profiles' });
    expect(found).toMatchObject({
      metadata: {
        labels: { 'x-k8s.io/cluster-manager': 'latchkey' },
        ownerReferences: [{ kind: 'Role', name: 'latchkey-cluster-profiles', uid: role.metadata.uid }],
      },
      spec: { displayName: 'cluster/edge', clusterManager: { name: 'latchkey' } },
    });
    const [condition] = (found.status['conditions'] ?? []) as readonly object[];
    expect(condition).toMatchObject({ type: 'ControlPlaneHealthy', status: 'True' });
    await profileOf(target.replaceAll('/', '.'));
  });

  it('a way in: one program for all of them, as client-go runs it', async () => {
    const consumer = await Consumer.make();
    for (const name of ['cluster.edge', target.replaceAll('/', '.')]) {
      const [provider] = providersOf(await profileOf(name));
      expect(await consumer.ask(provider as Provider)).toMatchObject({
        ...{ code: 0, stdout: expect.stringContaining('kube-system') },
      });
    }
  });

  it('no way to have a key sent elsewhere, by a profile that somebody changed', async () => {
    const consumer = await Consumer.make();
    const evil = await EvilServer.start();
    const [provider] = providersOf(await profileOf('cluster.edge')) as [Provider];
    const { cluster: place } = provider;
    const ca = Buffer.from(evil.ca).toString('base64');
    const server = place.server.replace(gateway.url, evil.url);
    const changes: object[] = [
      { server, 'certificate-authority-data': ca },
      { server, 'certificate-authority-data': ca, extensions: [] },
      { 'certificate-authority-data': ca, 'proxy-url': evil.url },
      { 'insecure-skip-tls-verify': true, 'certificate-authority-data': undefined, 'proxy-url': evil.url },
    ];
    for (const change of changes) {
      const answer = await consumer.ask({ ...provider, cluster: { ...place, ...change } });
      expect(answer).toMatchObject({ code: 1, stdout: '' });
      expect(answer.stderr).toMatch(/latchkey|exec/);
    }
    expect(evil.seen.filter((one) => one !== undefined)).toEqual([]);
  });
});

describe('the direct endpoint of a cluster', () => {
  const directOf = (one: Stored) => providersOf(one).find(({ name }) => name === 'latchkey-direct');

  it('is a way in past the gateway, with a token that client-go gets for it, and for no other place', async () => {
    const endpoint = await startEndpoint();
    const consumer = await Consumer.make();
    const profile = await profileOf('cluster.edge', (one) => directOf(one) !== undefined);
    const provider = directOf(profile) as Provider;
    expect(provider.cluster.server).toBe(`https://127.0.0.1:${endpoint.port}/kubernetes/cluster/edge`);
    expect(await consumer.ask(provider)).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('kube-system') },
    });
    const evil = await EvilServer.start();
    const server = provider.cluster.server.replace(endpoint.url, evil.url);
    const place = {
      ...provider.cluster,
      ...{ server, 'certificate-authority-data': Buffer.from(evil.ca).toString('base64') },
    };
    expect(await consumer.ask({ ...provider, cluster: place })).toMatchObject({ code: 1, stdout: '' });
    expect(evil.seen.filter((one) => one !== undefined)).toEqual([]);
  });

  /** As its page installs it, with an agent of its own. */
  async function startEndpoint(): Promise<RunningGateway> {
    const user = world.name('agent');
    const resources = ['clusters/livecredentials'];
    await giveRight(admin, user, { apiGroups: [group], resources, verbs: ['get'], resourceNames: ['edge'] });
    const scope = { roles: [{ role: 'agent' }], clusters: [{ cluster: 'edge' }] };
    const key = keyIn(await admin.untilReady(await admin.createKey({ user, scope })));
    const installed = await installDirectEndpoint(inside.plane);
    const endpoint = await installed.start(guard, {
      ...{ name: world.name('endpoint'), cluster: 'edge', key, platform: gateway },
    });
    afterAll(async () => void (await endpoint.end()));
    const caData = Buffer.from(endpoint.ca).toString('base64');
    await admin.patch(cluster, { spec: { directEndpoint: { host: `127.0.0.1:${endpoint.port}`, caData } } });
    return endpoint;
  }
});

describe('a ClusterProfile of a target', () => {
  it('is repaired when somebody changes it', async () => {
    const before = await profileOf('cluster.edge');
    const accessProviders = [{ name: 'latchkey', cluster: { server: 'https://evil.example.com' } }];
    await admin.client.mergePatch(
      clusterProfiles,
      { namespace, name: 'cluster.edge' },
      { status: { accessProviders } },
      { subresource: 'status' },
    );
    const after = await profileOf('cluster.edge', (one) => !JSON.stringify(one).includes('evil'));
    expect(after.status).toEqual(before.status);
  });

  it('is made again when it was deleted, and goes with its target', async () => {
    const before = await profileOf('cluster.edge');
    await admin.client.delete(clusterProfiles, { namespace, name: 'cluster.edge' });
    await profileOf('cluster.edge', ({ metadata }) => metadata.uid !== before.metadata.uid);
    const { cluster: short } = await makeCluster(world, await inside.adminKubeConfig(), {}, 'short');
    await profileOf('cluster.short');
    await admin.delete(short);
    await until('it is gone', async () => (await get('cluster.short')) === undefined);
  });

  it('takes no object of another manager, and deletes no copy that somebody made', async () => {
    const { metadata } = await profileOf('cluster.edge');
    await make('cluster.taken');
    await make('copy', { labels: metadata.labels, annotations: metadata.annotations }, { name: 'latchkey' });
    await makeCluster(world, await inside.adminKubeConfig(), {}, 'taken');
    await until('the log says so', async () =>
      (await world.operator.log()).includes('ERR_CLUSTER_PROFILE_TAKEN'),
    );
    expect((await get('cluster.taken'))?.spec).toEqual({ clusterManager: { name: 'another' } });
    expect(await get('copy')).toBeDefined();
    const saidOfCopy = async () =>
      (await world.operator.log())
        .split('\n')
        .filter((line) => line.includes('"copy"') && line.includes('is left as it is'));
    await until('the log names the copy', async () => (await saidOfCopy()).length > 0);
    await admin.client.delete(clusterProfiles, { namespace, name: 'cluster.taken' });
    await profileOf('cluster.taken');
    expect(await saidOfCopy()).toHaveLength(1);
  });

  it('gets its marks back, as the same object, and goes with its target though somebody strips them again', async () => {
    const { cluster: bare } = await makeCluster(world, await inside.adminKubeConfig(), {}, 'bare');
    const { metadata } = await profileOf('cluster.bare');
    await strip('cluster.bare');
    const { metadata: after } = await profileOf('cluster.bare', isWhole);
    expect(after.uid).toBe(metadata.uid);
    expect(after.ownerReferences).toEqual(metadata.ownerReferences);
    expect(after.labels).toEqual(metadata.labels);
    const uid = (await admin.client.get<Stored>(namespaces, { name: namespace })).metadata.uid;
    const other = { apiVersion: 'v1', kind: 'Namespace', name: namespace, uid };
    await admin.client.mergePatch(
      clusterProfiles,
      { namespace, name: 'cluster.bare' },
      { metadata: { ownerReferences: [other] } },
    );
    const isOwnedByBoth = (one: Stored) => (one.metadata.ownerReferences ?? []).length === 2;
    const both = await profileOf('cluster.bare', isOwnedByBoth);
    expect(both.metadata.ownerReferences).toEqual([other, ...(metadata.ownerReferences ?? [])]);
    await Promise.all([strip('cluster.bare'), admin.delete(bare)]);
    await until('it is gone', async () => (await get('cluster.bare')) === undefined);
  });

  it('whose marks were stripped while no operator ran gets them back, and goes where its target went meanwhile', async () => {
    const { cluster: kept } = await makeCluster(world, await inside.adminKubeConfig(), {}, 'kept');
    const { metadata } = await profileOf('cluster.kept');
    await world.operator.end();
    await make('cluster.gone', {}, { name: 'latchkey', displayName: 'cluster/gone' });
    await make('cluster.nameless', {}, { name: 'latchkey' });
    await strip('cluster.kept');
    await world.startOperator({ env: operatorSettings });
    expect((await profileOf('cluster.kept', isWhole)).metadata.uid).toBe(metadata.uid);
    await until('it is gone', async () => (await get('cluster.gone')) === undefined);
    expect(await get('cluster.nameless')).toBeDefined();
    await admin.delete(kept);
    await until('it is gone', async () => (await get('cluster.kept')) === undefined);
  });

  it('is not called that of somebody else after quick changes: the watch may be older than its own creation', async () => {
    const before = ((await world.operator.log()).match(/ERR_CLUSTER_PROFILE_TAKEN/g) ?? []).length;
    const { cluster: quick } = await makeCluster(world, await inside.adminKubeConfig(), {}, 'quick');
    for (let change = 0; change < 20; change += 1)
      await admin.patch(quick, { spec: { directEndpoint: { host: `quick-${change}.example.com` } } });
    await profileOf('cluster.quick', (one) => JSON.stringify(one).includes('quick-19.'));
    const after = ((await world.operator.log()).match(/ERR_CLUSTER_PROFILE_TAKEN/g) ?? []).length;
    expect(after).toBe(before);
  });

  it('goes with the Role that lets the operator write it, and comes back with it', async () => {
    const { metadata } = await profileOf('cluster.edge');
    const key = { namespace, name: 'latchkey-cluster-profiles' };
    const { metadata: found, rules } = await admin.client.get<Stored & { rules: unknown }>(roles, key);
    await admin.client.delete(roles, key);
    await until('it is gone', async () => (await get('cluster.edge')) === undefined, { timeoutMs: 90_000 });
    const { name, labels } = found;
    await admin.client.create(
      roles,
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name, labels }, rules },
      { namespace },
    );
    await profileOf('cluster.edge', (one) => one.metadata.uid !== metadata.uid);
  });

  it('holds no secret', async () => {
    const { items } = await admin.client.list<Stored>(clusterProfiles, { namespace });
    expect(items.length).toBeGreaterThan(1);
    expect(JSON.stringify(items)).not.toMatch(/lk_|eyJ|PRIVATE/);
  });
});

// The last one: the gateway does not come back.
describe('in an outage of the platform', () => {
  it('a tool that starts goes on at the direct endpoint with its token, to no other place, and with no other key', async () => {
    const provider = providersOf(await profileOf('cluster.edge')).find(
      ({ name }) => name === 'latchkey-direct',
    ) as Provider;
    const [consumer, stranger] = [await Consumer.make(), await Consumer.make()];
    const works = { code: 0, stdout: expect.stringContaining('kube-system') };
    expect(await consumer.ask(provider)).toMatchObject(works);
    const evil = await EvilServer.start();
    await gateway.end();
    expect(await consumer.ask(provider)).toMatchObject(works);
    const server = provider.cluster.server.replace(/https:\/\/[^/]+/, evil.url);
    const ca = Buffer.from(evil.ca).toString('base64');
    const place = { ...provider.cluster, server, 'certificate-authority-data': ca };
    expect(await consumer.ask({ ...provider, cluster: place })).toMatchObject({ code: 1, stdout: '' });
    expect(evil.seen.filter((one) => one !== undefined)).toEqual([]);
    expect(await stranger.ask(provider)).toMatchObject({ code: 1, stdout: '' });
    expect(await consumer.ask(provider)).toMatchObject(works);
  });
});

const keyIn = (object: unknown): string => String((object as { spec: { key?: unknown } }).spec.key);

/** A fleet tool: it has a key, and turns what a profile says into a client of client-go, which kubectl is. */
class Consumer {
  readonly #keyFile: string;
  readonly #shell = personAt(world.name('fleet'));

  static async make(): Promise<Consumer> {
    const user = world.name('fleet');
    for (const [resource, verb] of [
      ['clusters', 'use'],
      ['virtualclusterinstances', 'use'],
    ] as const)
      await giveRight(admin, user, { apiGroups: [group], resources: [resource], verbs: [verb] });
    await giveRight(inside.admin, user, {
      apiGroups: [''],
      resources: ['namespaces'],
      verbs: ['get', 'list'],
    });
    const key = keyIn(await admin.untilReady(await admin.createKey({ user })));
    for (const one of [
      'cluster/edge',
      `project/${target.slice('virtualcluster/'.length).replace('/', '/virtualcluster/')}`,
    ])
      await untilReached(gateway, key, one);
    return new Consumer(key);
  }

  private constructor(key: string) {
    this.#keyFile = path.join(guard.folder, `${world.name('key')}`);
    writeFileSync(this.#keyFile, key, { mode: 0o600 });
  }

  async ask({ cluster: place }: Provider) {
    const args = ['credential', '--cluster-profile', '--base-url', gateway.url];
    const files = ['--certificate-authority', authority, '--key-file', this.#keyFile];
    const exec = {
      ...{ apiVersion: 'client.authentication.k8s.io/v1', command: 'latchkey', args: [...args, ...files] },
      ...{ provideClusterInfo: true, interactiveMode: 'Never' },
    };
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'a' },
      clusters: [{ name: 'a', cluster: place }],
      users: [{ name: 'a', user: { exec } }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    };
    writeFileSync(this.#shell.kubeconfig, JSON.stringify(config));
    return await this.#shell.kubectl('get namespaces --request-timeout=20s');
  }
}

/** Poses as an API server, and as a proxy. */
class EvilServer {
  readonly ca: string;
  /** The credential of each request. */
  readonly seen: (string | undefined)[] = [];
  #url = '';

  static async start(): Promise<EvilServer> {
    const issuer = createAuthority('evil');
    const { certificate, key } = createServer(issuer, ['127.0.0.1']);
    const evil = new EvilServer(issuer.certificate);
    const server = createTlsServer({ cert: certificate, key }, (request, response) => {
      evil.seen.push(request.headers.authorization);
      response.writeHead(403).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterAll(() => void server.close());
    evil.#url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return evil;
  }

  private constructor(ca: string) {
    this.ca = ca;
  }

  get url(): string {
    return this.#url;
  }
}
