import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group } from '../../../src/api/names.ts';
import { clusterRoleBindings } from '../../../src/api/resources.ts';
import { makeCluster } from '../targets/target-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder, untilReached } from './known-holder.ts';

const world = await gatewayWorld({ LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8', LATCHKEY_LOG_LEVEL: 'debug' });
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
      ...headers,
      '',
      '',
    ].join('\r\n');
  const protocols = (key: string) =>
    `Sec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${Buffer.from(key).toString('base64url')}`;

  it('passes the gate of every request: a key, its scope, and then it is not served', async () => {
    const key = await keyOf();
    const scoped = await keyOf({ scope: { rules: [{ verbs: ['get'] }] } });
    expect(statusOf(await exchange(upgrade(protocols(key))))).toBe(501);
    expect(await exchange(upgrade(protocols(scoped)))).toMatch(/^HTTP\/1\.1 403 [\s\S]*ERR_SCOPE/);
    expect(statusOf(await exchange(upgrade(protocols(`${key}x`))))).toBe(401);
    expect(statusOf(await exchange(upgrade(`Authorization: Bearer ${key}`, protocols(key))))).toBe(400);
  });

  it('of kubectl ends with a message that says what to do', async () => {
    const kubeconfig = await gateway.kubeconfig(await keyOf());
    const { stderr } = await world.plane.kubectl(['exec', 'none', '--', 'id'], { kubeconfig });
    expect(stderr).toMatch(/not served yet|pods "none" not found/);
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

  it('is what kubectl asks with, and who a scoped key is works as well', async () => {
    const kubeconfig = await gateway.kubeconfig(await keyOf({ scope }));
    const kubectl = async (...args: string[]) => (await world.plane.kubectl(args, { kubeconfig })).stdout;
    expect(await kubectl('auth', 'can-i', 'get', 'configmaps/a')).toBe('yes\n');
    expect(await kubectl('auth', 'can-i', 'delete', 'configmaps/a')).toMatch(/^no/);
    expect(await kubectl('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).toBe(alice);
  });
});

describe('the right to use a target', () => {
  it('that is taken away ends what is open there', async () => {
    const inside = await virtualCluster();
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
