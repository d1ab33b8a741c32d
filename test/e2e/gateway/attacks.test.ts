import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Stored } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group } from '../../../src/api/names.ts';
import { clusterRoleBindings, configMaps, namespaces, type Resource } from '../../../src/api/resources.ts';
import { makeCluster } from '../targets/target-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder, untilReached } from './known-holder.ts';

const world = await gatewayWorld({ LATCHKEY_LOG_LEVEL: 'debug' });
const { gateway, admin } = world;
const alice = world.name('alice');
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps', 'pods'], verbs: ['*'] });

/** Sends the bytes over a connection of its own, and resolves with all that comes back. */
async function exchange(text: string): Promise<string> {
  const socket = connect({ port: gateway.port, host: '127.0.0.1', servername: 'localhost', ca: gateway.ca });
  const chunks: Buffer[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  socket
    .on('data', (chunk) => void chunks.push(chunk))
    .on('error', () => undefined)
    .on('close', () => resolve());
  socket.once('secureConnect', () => void socket.write(text, 'latin1'));
  await promise;
  return Buffer.concat(chunks).toString('utf8');
}

const review = '/kubernetes/management/apis/authentication.k8s.io/v1/selfsubjectreviews';
const accessReview = '/kubernetes/management/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';
const text = (line: string, headers: readonly string[], body = '') =>
  [`${line} HTTP/1.1`, 'Host: localhost', ...headers, `Content-Length: ${body.length}`, '', body].join(
    '\r\n',
  );
const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

/** A key of alice that the gateway knows. */
const keyOf = async (spec: object = {}): Promise<string> =>
  (await knownHolder(world, { user: alice, ...spec })).key;

describe('the API server takes a request for that of the user of the key', () => {
  it.each<[string, readonly string[]]>([
    [
      'Connection names our headers',
      ['Connection: close, Impersonate-User, Impersonate-Group, Authorization'],
    ],
    ['a front proxy speaks', ['Connection: close', 'X-Remote-User: admin', 'X-Remote-Group: system:masters']],
    ['a name has an underscore', ['Connection: close', 'X_Remote_User: admin', 'X-Remote_User: admin']],
    ['another name has one', ['Connection: close', 'Content_Type: text/plain', 'A_Name: a']],
  ])('when %s', async (_, headers) => {
    const key = await keyOf();
    const body = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}';
    const own = [
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      'Accept: application/json',
    ];
    const answer = await exchange(text(`POST ${review}`, [...own, ...headers], body));
    expect(statusOf(answer)).toBe(201);
    expect(answer).toContain(`"username":"${alice}","groups":["system:authenticated"]`);
  });
});

describe('an upgrade', () => {
  const exec = 'GET /kubernetes/management/api/v1/namespaces/default/pods/none/exec?command=id';
  const upgrade = (...headers: string[]) =>
    [
      `${exec} HTTP/1.1`,
      'Host: localhost',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13',
      ...headers,
      '',
      '',
    ].join('\r\n');
  const protocols = (key: string) =>
    `Sec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${Buffer.from(key).toString('base64url')}`;

  it('passes the gate of every request: a key, its scope, and then the rights of the user', async () => {
    const key = await keyOf();
    const scoped = await keyOf({ scope: { rules: [{ verbs: ['get'] }] } });
    expect(await exchange(upgrade(protocols(key)))).toMatch(
      /^HTTP\/1\.1 403 [\s\S]*cannot (?:get|create) resource \\"pods\/exec\\"/,
    );
    expect(await exchange(upgrade(protocols(scoped)))).toMatch(/^HTTP\/1\.1 403 [\s\S]*ERR_SCOPE/);
    expect(statusOf(await exchange(upgrade(protocols(`${key}x`))))).toBe(401);
    expect(statusOf(await exchange(upgrade(`Authorization: Bearer ${key}`, protocols(key))))).toBe(400);
  });
});

describe('an access review', () => {
  const scope = { rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['configmaps'] }] }] };
  const yaml = (verb: string) =>
    `apiVersion: authorization.k8s.io/v1\nkind: SelfSubjectAccessReview\nspec:\n  resourceAttributes: {verb: ${verb}, resource: configmaps, namespace: default}\n`;

  it.each([
    ['get', true],
    ['delete', false],
  ])('in YAML of "%s" is answered in YAML', async (verb, allowed) => {
    const key = await keyOf({ scope });
    const type = ['Content-Type: application/yaml', 'Accept: application/yaml', 'Connection: close'];
    const answer = await exchange(
      text(`POST ${accessReview}`, [`Authorization: Bearer ${key}`, ...type], yaml(verb)),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 201 [\s\S]*content-type: application\/yaml/i);
    expect(parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ status: { allowed } });
  });

  it('in CBOR is refused with the types that are read', async () => {
    const key = await keyOf({ scope });
    const type = ['Content-Type: application/cbor', 'Connection: close'];
    const answer = await exchange(
      text(`POST ${accessReview}`, [`Authorization: Bearer ${key}`, ...type], '\xd9\xd9\xf7\xa0'),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 415 [\s\S]*UnsupportedMediaType/);
  });
});

describe('the right to use a target', () => {
  it('that is taken away ends what is open there', async () => {
    const inside = await sharedVirtualCluster();
    const bob = world.name('bob');
    const { cluster } = await makeCluster(world, await inside.adminKubeConfig());
    await giveRight(inside.admin, bob, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
    const api = 'rbac.authorization.k8s.io';
    const binding = await admin.createObject(clusterRoleBindings, {
      apiVersion: `${api}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: world.name('may-enter') },
      roleRef: { apiGroup: api, kind: 'ClusterRole', name: 'latchkey-use-cluster' },
      subjects: [{ apiGroup: api, kind: 'User', name: bob }],
    });
    await admin.untilReady(cluster);
    const { key } = await world.holder({ user: bob });
    const path = `/kubernetes/cluster/${cluster.metadata.name}/api/v1/namespaces/default/configmaps`;
    const get = async () => {
      const { statusCode, body } = await gateway.send(path, { key });
      await body.dump();
      return statusCode;
    };
    await until('bob may enter', async () => (await get()) === 200);
    const { body } = await gateway.send(`${path}?watch=true`, { key });
    const ended = (async () => {
      for await (const _ of body);
    })().catch(() => 'cut' as const);
    await admin.delete(binding);
    await until('a new request is refused', async () => (await get()) === 403);
    expect(await ended).toBe('cut');
  });
});

describe('a cluster that is the platform itself', () => {
  it('shows and changes no credential, whatever its user may do there', async () => {
    const carol = world.name('carol');
    await giveRight(admin, carol, { apiGroups: [group], resources: ['*'], verbs: ['*'] });
    const { cluster } = await makeCluster(world, await readFile(world.plane.adminKubeconfig, 'utf8'));
    await admin.untilReady(cluster);
    const { object, key: stranger } = await world.holder({ user: alice });
    const { key } = await knownHolder(world, { user: carol });
    const target = `cluster/${cluster.metadata.name}`;
    await untilReached(gateway, key, target);
    const send = async (method: string, path: string, type = 'application/json') => {
      const full = `/kubernetes/${target}/apis/${group}/v1/${path}`;
      const headers = { 'content-type': type };
      const sent = method === 'GET' ? { key } : { method, key, headers, body: '{}' };
      const { statusCode, body } = await gateway.send(full, sent);
      return { statusCode, text: await body.text() };
    };
    expect(await send('GET', 'clusters')).toMatchObject({ statusCode: 200 });
    const one = `ownedaccesskeys/${object.metadata.name}`;
    for (const [method, path, type] of [
      ['GET', 'ownedaccesskeys'],
      ['GET', 'ownedaccesskeys?watch=true'],
      ['GET', 'watch/ownedaccesskeys'],
      ['GET', one],
      ['PATCH', one, 'application/merge-patch+json'],
      ['PATCH', `${one}/status`, 'application/merge-patch+json'],
      ['DELETE', `${one}?dryRun=All`],
      ['DELETE', 'ownedaccesskeys?dryRun=All'],
      ['POST', 'directclusterendpointtokens'],
      ['GET', 'virtualclusterinstancekubeconfigs'],
    ] as const) {
      const answer = await send(method, path, type);
      expect([method, path, answer.statusCode]).toEqual([method, path, 403]);
      expect(answer.text).toContain('ERR_CREDENTIAL_KIND');
      expect(answer.text.includes(stranger)).toBe(false);
    }
    await admin.delete(cluster);
    await admin.untilGone(cluster);
  });

  it('keeps what protects the platform from a scope that names it whole', async () => {
    const dave = world.name('dave');
    await giveRight(admin, dave, { apiGroups: ['*'], resources: ['*'], verbs: ['*'] });
    const { cluster } = await makeCluster(world, await readFile(world.plane.adminKubeconfig, 'utf8'));
    await admin.untilReady(cluster);
    const target = `cluster/${cluster.metadata.name}`;
    const scope = { clusters: [{ cluster: cluster.metadata.name }] };
    const { key } = await world.holder({ user: dave, scope });
    await untilReached(gateway, key, target);
    for (const path of [
      'api/v1/namespaces/default/secrets?dryRun=All',
      'apis/rbac.authorization.k8s.io/v1/clusterrolebindings?dryRun=All',
      'api/v1/namespaces/default/serviceaccounts/default/token',
      `apis/${group}/v1/ownedaccesskeys`,
    ]) {
      const sent = { method: 'POST', key, headers: { 'content-type': 'application/json' }, body: '{}' };
      const { statusCode, body } = await gateway.send(`/kubernetes/${target}/${path}`, sent);
      expect([path, statusCode]).toEqual([path, 403]);
      expect(await body.text()).toContain('without a wildcard');
    }
    await admin.delete(cluster);
    await admin.untilGone(cluster);
  });
});

describe('after all of this', () => {
  it('no key, no hash of one and no header stands in log or metrics, at the level of debug', async () => {
    const { key, object } = await knownHolder(world, { user: alice });
    const bad = `${key.slice(0, -1)}_`;
    for (const credential of [key, bad, 'a.token.of-no-one'])
      await exchange(text(`GET ${maps}`, ['Connection: close', `Authorization: Bearer ${credential}`]));
    await exchange(text(`GET ${maps}?access_token=${key}`, ['Connection: close']));
    await admin.patch(object, { spec: { disabled: true } });
    await until('the key is refused', async () => {
      const { statusCode, body } = await gateway.send(maps, { key });
      await body.dump();
      return statusCode === 401;
    });
    const hash = createHash('sha256').update(key).digest('hex');
    const port = await gateway.listeningPort('metrics');
    const metrics = await (await request(`http://127.0.0.1:${port}/metrics`)).body.text();
    const log = await gateway.log();
    for (const output of [log, metrics]) {
      for (const secret of [key, key.slice(3, 40), bad, 'a.token.of-no-one', hash, hash.slice(0, 16)])
        expect(output.includes(secret)).toBe(false);
      expect(output).not.toMatch(/authorization|Bearer |lk_[0-9A-Za-z]{20}/i);
    }
    expect(metrics).not.toContain(alice);
  });
});

describe('a credential in the body of a TokenReview', () => {
  it('goes no further than the gateway, and those who may not ask are told so', async () => {
    const root = world.name('root');
    await bindRole(admin, root, 'cluster-admin');
    const [asking, powerless] = [
      await knownHolder(world, { user: root }),
      await knownHolder(world, { user: world.name('eve') }),
    ];
    const path = '/kubernetes/management/apis/authentication.k8s.io/v1/tokenreviews';
    const ask = async (key: string, token: string) => {
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
      const { statusCode: status, body } = await gateway.send(path, {
        ...{ method: 'POST', key, body: JSON.stringify(review) },
        headers: { 'content-type': 'application/json' },
      });
      return { status, text: await body.text() };
    };
    for (const token of [asking.key, powerless.key]) {
      const { status, text } = await ask(asking.key, token);
      expect([status, text]).toEqual([201, expect.stringContaining(`"token":"${'x'.repeat(token.length)}"`)]);
      expect(text).not.toContain('"authenticated":true');
    }
    const { status, text } = await ask(powerless.key, asking.key);
    expect([status, text]).toEqual([403, expect.not.stringContaining(asking.key)]);
    expect((await ask(asking.key, 'something-else-altogether')).text).toContain('something-else-altogether');
  });
});

describe('what a scope protects by name is in no list and no watch', async () => {
  const root = world.name('root');
  await bindRole(admin, root, 'cluster-admin');
  const { cluster } = await makeCluster(world, await readFile(world.plane.adminKubeconfig, 'utf8'));
  const loop = `/kubernetes/cluster/${cluster.metadata.name}`;
  const platform = '/kubernetes/management';
  const marker = world.name('marker');
  const project = world.name('listed');
  await admin.createObject(namespaces, {
    ...{ apiVersion: 'v1', kind: 'Namespace' },
    metadata: { name: `p-${project}`, labels: { [`${group}/project`]: project } },
  });
  const kinds = uniqueName('gizmos');
  await admin.createObject(customResourceDefinitions, gizmos(kinds, 'Namespaced'));
  await admin.createObject(customResourceDefinitions, gizmos(`global${kinds}`, 'Cluster'));
  for (const namespace of ['latchkey-system', 'latchkey-targets', 'default']) {
    const metadata = { namespace, name: marker };
    await admin.createObject(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  }
  const everything = { rules: [{}] };
  const scopes = {
    everything,
    stars: { rules: [{ resources: [{ group: '', resources: ['*'] }, { group: 'coordination.k8s.io' }] }] },
    cluster: { clusters: [{ cluster: cluster.metadata.name }] },
  };
  const keys = Object.fromEntries(
    await Promise.all(
      Object.entries(scopes).map(async ([what, scope]) => [
        what,
        (await knownHolder(world, { user: root, scope })).key,
      ]),
    ),
  ) as Record<keyof typeof scopes, string>;
  const free = (await knownHolder(world, { user: root })).key;
  const naming = { rules: [{ resources: [{ group: '', resources: ['configmaps', 'namespaces'] }] }] };
  const named = (await knownHolder(world, { user: root, scope: naming })).key;
  await untilReached(gateway, keys.cluster, `cluster/${cluster.metadata.name}`);
  const ways: readonly (readonly [string, string])[] = [
    [platform, keys.everything],
    [platform, keys.stars],
    [loop, keys.cluster],
  ];

  /** An API server that has just learned of a kind answers 429 until it serves it. */
  async function get(key: string, path: string, accept = 'application/json') {
    return await until(`an answer of ${path}`, async () => {
      const { statusCode: status, body } = await gateway.send(path, { key, headers: { accept } });
      const text = Buffer.from(await body.arrayBuffer()).toString('latin1');
      return status === 429 ? undefined : { status, text };
    });
  }
  async function eachWay(
    paths: readonly string[],
    ask: (target: string, key: string, path: string) => Promise<void>,
  ) {
    await Promise.all(ways.flatMap(([target, key]) => paths.map((path) => ask(target, key, path))));
  }
  const hidden = /"namespace":"latchkey-(?:system|targets)"/;
  /** Everyone sees the targets that they may use, and none is in these namespaces. */
  const targetList = /\/management\.platform\.sh\/v1\/(?:virtualclusterinstances|spaceinstances)$/;

  it.each([
    '',
    '?limit=500',
    '?fieldSelector=metadata.namespace=latchkey-system',
    '?fieldSelector=metadata.namespace=latchkey-targets',
    '?fieldSelector=metadata.namespace!=default',
    `?fieldSelector=metadata.name=${marker}`,
    `?fieldSelector=metadata.name=${marker},metadata.namespace=latchkey-system`,
    '?fieldSelector=metadata.name!=a&fieldSelector=metadata.name!=b',
    '?a;b&fieldSelector=%zz&fieldSelector=metadata.name!=a',
    '?resourceVersion=0&resourceVersionMatch=NotOlderThan',
    '?watch=1&timeoutSeconds=1',
    '?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    '?watch=1&timeoutSeconds=1&fieldSelector=metadata.namespace=latchkey-system',
  ])('GET configmaps%s', async (query) => {
    const isWatch = query.includes('timeoutSeconds');
    const paths = isWatch ? ['/api/v1/configmaps', '/api/v1/watch/configmaps'] : ['/api/v1/configmaps'];
    const isSelected = /namespace(?:=|!=default)/.test(query);
    await eachWay(paths, async (target, key, path) => {
      const { status, text } = await get(key, target + path + query);
      expect.soft({ path, status, shown: hidden.exec(text)?.[0] }).toEqual({ path, status: 200 });
      expect.soft(text.includes(`"name":"${marker}","namespace":"default"`)).toBe(!isSelected);
    });
  });

  it('nor behind a selector that hides what follows it', async () => {
    await eachWay(['/api/v1/configmaps', '/api/v1/secrets'], async (target, key, path) => {
      const { text } = await get(key, `${target}${path}?fieldSelector=metadata.name!=a%5C`);
      expect.soft(JSON.parse(text)).toMatchObject({ kind: 'Status' });
    });
  });

  it('in whatever form the answer comes', async () => {
    const forms = [
      'application/vnd.kubernetes.protobuf',
      'application/json;as=Table;v=v1;g=meta.k8s.io',
      'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
      'application/yaml',
    ];
    for (const [target, key] of ways) {
      for (const form of forms) {
        const path = `${target}/api/v1/configmaps?fieldSelector=metadata.name=${marker}`;
        const { status, text } = await get(key, path, form);
        expect.soft({ form, status }).toEqual({ form, status: 200 });
        expect.soft(text).toContain('default');
        expect.soft(text).not.toMatch(/latchkey-(?:system|targets)/);
      }
    }
  });

  it('in no page', async () => {
    const seen: string[] = [];
    let next = '';
    do {
      const { text } = await get(keys.cluster, `${loop}/api/v1/configmaps?limit=1&continue=${next}`);
      const { metadata, items } = JSON.parse(text);
      seen.push(...items.map(({ metadata: { namespace } }: Stored) => namespace));
      next = encodeURIComponent(metadata.continue ?? '');
    } while (next !== '');
    expect(seen).toContain('default');
    expect(seen).not.toContain('latchkey-system');
    expect(seen).not.toContain('latchkey-targets');
  });

  it('of whatever resource, and all of them are served', async () => {
    const paths = await namespacedPaths();
    expect(paths.length).toBeGreaterThan(25);
    await eachWay(paths, async (target, key, path) => {
      if (key === keys.stars) return;
      const { status, text } = await get(key, target + path);
      expect.soft({ path, status, shown: hidden.exec(text)?.[0] }).toEqual({ path, status: 200 });
      const byName = await get(key, target + path.replace(/\/(\w+)$/, '/namespaces/latchkey-system/$1'));
      const found = { path, status: byName.status, shown: hidden.exec(byName.text)?.[0] };
      const isNarrowed = target === platform && targetList.test(path);
      expect.soft(found).toEqual({ path, status: isNarrowed ? 200 : 403 });
    });
  });

  it('of leases and of candidates for them, by list and watch', async () => {
    const candidate = {
      ...{ leaseName: 'web', strategy: 'OldestEmulationVersion' },
      ...{ binaryVersion: '1.0.0', emulationVersion: '1.0.0' },
    };
    await Promise.all([
      expectCoordinationHidden('v1', 'leases', { kind: 'Lease', spec: {} }),
      expectCoordinationHidden('v1beta1', 'leasecandidates', { kind: 'LeaseCandidate', spec: candidate }),
    ]);
  });

  async function expectCoordinationHidden(
    version: string,
    plural: string,
    object: Pick<Stored, 'kind' | 'spec'>,
  ) {
    const apiVersion = `coordination.k8s.io/${version}`;
    const resource = {
      group: 'coordination.k8s.io',
      version,
      plural,
      kind: object.kind ?? '',
      namespaced: true,
    };
    for (const namespace of ['latchkey-system', 'default'])
      await admin.createObject(resource, { apiVersion, ...object, metadata: { namespace, name: marker } });
    const root = `/apis/${apiVersion}`;
    const watch = '?watch=1&timeoutSeconds=1';
    const queries = ['', `?fieldSelector=metadata.name=${marker}`, watch];
    const paths = [...queries.map((query) => `/${plural}${query}`), `/watch/${plural}${watch}`];
    await eachWay(paths, async (target, key, path) => {
      const { status, text } = await get(key, target + root + path);
      expect.soft({ path, status, shown: hidden.exec(text)?.[0] }).toEqual({ path, status: 200 });
      expect.soft(text).toContain(`"name":"${marker}","namespace":"default"`);
      const ofSystem = path.replace(plural, `namespaces/latchkey-system/${plural}`);
      expect.soft((await get(key, target + root + ofSystem)).status).toBe(403);
    });
    expect((await get(free, `${platform}${root}/${plural}`)).text).toMatch(hidden);
  }

  it('of a custom resource, and those without a namespace are served', async () => {
    const path = `${platform}/apis/${kinds}.example.com/v1`;
    const metadata = { name: marker, namespace: 'latchkey-system' };
    const gizmo = { apiVersion: `${kinds}.example.com/v1`, kind: 'Gizmo', metadata };
    await until('the kind is served', async () => (await get(free, `${path}/gizmos`)).status === 200);
    await admin.createObject(
      { group: `${kinds}.example.com`, version: 'v1', plural: 'gizmos', kind: 'Gizmo', namespaced: true },
      gizmo,
    );
    expect((await get(free, `${path}/gizmos`)).text).toContain(marker);
    expect(await get(keys.everything, `${path}/gizmos`)).toMatchObject({
      status: 200,
      text: expect.not.stringContaining(marker),
    });
    const whole = `${platform}/apis/global${kinds}.example.com/v1/gizmos`;
    await until('the other is served', async () => (await get(free, whole)).status === 200);
    expect((await get(keys.everything, whole)).status).toBe(200);
  });

  it('of namespaces themselves; a role that reads projects sees projects', async () => {
    const scope = { roles: [{ role: 'platform-cli' }] };
    const { key: cli } = await knownHolder(world, { user: root, scope });
    const namesIn = (text: string) => [...text.matchAll(/"name":"([^"]+)","uid"/g)].map(([, name]) => name);
    const look = async (path: string) => {
      const isOfSystem = path.includes('metadata.name%20in');
      await eachWay([path], async (target, key) => {
        const names = namesIn((await get(key, target + path)).text);
        expect.soft(names.filter((name) => name?.startsWith('latchkey-'))).toEqual([]);
        expect.soft(names).toContain('kube-system');
      });
      const names = namesIn((await get(cli, platform + path)).text);
      expect.soft(names.includes(`p-${project}`)).toBe(!isOfSystem);
      expect.soft(names.filter((name) => !name?.startsWith('p-'))).toEqual([]);
    };
    const queries = [
      '',
      '?watch=1&timeoutSeconds=1',
      '?fieldSelector=metadata.name!=a',
      '?labelSelector=!a',
      '?labelSelector=kubernetes.io/metadata.name%20in%20(kube-system,latchkey-system)',
    ];
    await Promise.all(queries.map((query) => look(`/api/v1/namespaces${query}`)));
    await look('/api/v1/watch/namespaces?timeoutSeconds=1');
    for (const limit of [`${'0'.repeat(31)}1`, `%2B${'0'.repeat(40)}5`]) {
      const path = `${platform}/api/v1/namespaces?fieldSelector=metadata.name=kube-system`;
      expect((await get(cli, `${path}&limit=${limit}`)).status).toBe(403);
      expect((await get(cli, `${path}&timeoutSeconds=${limit}`)).status).toBe(403);
    }
  });

  it('and everything is shown to a key without a scope, and to one whose rule names the resource', async () => {
    for (const key of [free, named]) {
      const { text } = await get(key, `${platform}/api/v1/configmaps?fieldSelector=metadata.name=${marker}`);
      expect(text).toContain('"namespace":"latchkey-system"');
      expect((await get(key, `${platform}/api/v1/namespaces/latchkey-system/configmaps`)).status).toBe(200);
      expect((await get(key, `${platform}/api/v1/namespaces`)).text).toContain('"name":"latchkey-system"');
    }
  });
});

const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** The lists over all namespaces of everything that is served, but of what no one may list through the gateway with a scope. */
async function namespacedPaths(): Promise<readonly string[]> {
  const { groups } = await admin.client.request<{ groups: { preferredVersion: { groupVersion: string } }[] }>(
    'GET',
    '/apis',
  );
  const versions = groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`);
  const lists = await Promise.all(
    ['/api/v1', ...versions].map(async (root) => {
      const { resources } = await admin.client.request<{
        resources: { name: string; namespaced: boolean; verbs: string[] }[];
      }>('GET', root);
      return resources
        .filter(({ namespaced, verbs }) => namespaced && verbs.includes('list'))
        .map(({ name }) => `${root}/${name}`);
    }),
  );
  return lists.flat().filter((path) => !/\/(?:secrets|virtualclusterinstancekubeconfigs)$/.test(path));
}

/** A kind of somebody else, in a group of its own. */
const gizmos = (name: string, scope: 'Namespaced' | 'Cluster') => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `gizmos.${name}.example.com` },
  spec: {
    group: `${name}.example.com`,
    scope,
    names: { plural: 'gizmos', singular: 'gizmo', kind: 'Gizmo', listKind: 'GizmoList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});
