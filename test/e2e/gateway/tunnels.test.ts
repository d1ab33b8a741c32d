import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group } from '../../../src/api/names.ts';
import { openClient, upgradeText, webSocketHeaders } from '../../builders/upgrades.ts';
import { makePod, startKubelet } from '../../kubelet/kubelet.ts';
import { fourTargets } from './four-targets.ts';
import { knownHolder, untilKnown, untilReached } from './known-holder.ts';

const { world, user, paths } = await fourTargets();
const { gateway, guard, admin } = world;
const inside = await sharedVirtualCluster();
const kubelet = await startKubelet(guard);
const sessions = ['pods/exec', 'pods/attach', 'pods/portforward', 'pods/log', 'pods'];
const rights = { apiGroups: [''], resources: sessions, verbs: ['get', 'create', 'list'] };
for (const place of [admin, inside.admin]) await giveRight(place, user, rights);
const [onPlatform, insidePod] = await Promise.all([admin, inside.admin].map((api) => makePod(api, kubelet)));
const podIn = (kind: string) => (kind === 'platform' ? onPlatform : insidePod) as string;
const { key } = await knownHolder(world, { user });
for (const target of Object.values(paths)) await untilReached(gateway, key, target);

const spdy = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' };
const protocols = [
  ['websocket', {}],
  ['SPDY', spdy],
] as const;
const text = randomBytes(750_000).toString('base64');
const page = createServer((_, response) => response.end(text));
page.listen(0, '127.0.0.1');
afterAll(() => void page.close());

const rows = Object.entries(paths).flatMap(([kind, target]) =>
  protocols.map(([protocol, env]) => ({ kind, target, protocol, env })),
);

async function forwarded(
  kubectl: Kubectl,
  pod: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { port } = page.address() as AddressInfo;
  const forwarding = await kubectl.begin(['port-forward', `pod/${pod}`, `:${port}`], env);
  const lines = await forwarding.until('the local port', (all) => /127\.0\.0\.1:\d+/.test(all.join()));
  const local = /127\.0\.0\.1:(\d+)/.exec(lines.join())?.[1];
  const answer = await fetch(`http://127.0.0.1:${local}/`);
  const body = await answer.text();
  await forwarding.end();
  return body;
}

describe.each(rows)('kubectl in the target $kind over $protocol', async ({ kind, target, protocol, env }) => {
  const pod = podIn(kind);
  const kubectl = new Kubectl(world, await gateway.kubeconfig(key, target));

  it('execs, with both outputs and the exit code of the command', async () => {
    const command = ['exec', pod, '--', 'sh', '-c', 'echo out; echo problem >&2; exit 3'];
    const { stdout, stderr, exitCode } = await kubectl.run(command, { env });
    expect([stdout, exitCode]).toEqual(['out\n', 3]);
    expect(stderr).toMatch(/^problem\n/);
  });

  it('sends and gets a megabyte, attaches, shows the log and forwards a port', async () => {
    const attach = kubectl.run(['attach', '-i', pod], { env, input: 'typed\n' });
    const cat = kubectl.run(['exec', '-i', pod, '--', 'cat'], { env, input: text });
    const log = kubectl.run(['logs', pod], { env });
    const body = forwarded(kubectl, pod, env);
    expect((await cat).stdout === text).toBe(true);
    expect((await attach).stdout).toBe('attached\ntyped\n');
    expect((await log).stdout).toBe('a line of the log\n');
    expect((await body) === text).toBe(true);
  });

  it('copies a file there and back', async () => {
    const [from, there, back] = ['from', 'there', 'back'].map((file) =>
      path.join(guard.folder, `${file}-${kind.replace(' ', '-')}-${protocol}`),
    ) as [string, string, string];
    await writeFile(from, text);
    await kubectl.ok(['cp', from, `${pod}:${there}`], { env });
    await kubectl.ok(['cp', `${pod}:${there}`, back], { env });
    expect((await readFile(back, 'utf8')) === text).toBe(true);
  });
});

describe.each(protocols)('over %s', async (protocol, env) => {
  const pod = podIn('platform');
  /** A command that writes, and so notices its end. */
  const endless = (name: string) => [
    'exec',
    pod,
    '--',
    'sh',
    '-c',
    `: ${name}; while echo running; do sleep 0.05; done`,
  ];

  it('a scope without "create" refuses exec and port-forward, and kubectl shows why', async () => {
    const scope = { rules: [{ verbs: ['get', 'list', 'watch'], requestTargets: ['Management'] }] };
    const holder = await world.holder({ user, scope });
    await untilKnown(gateway, key);
    const kubectl = new Kubectl(world, await gateway.kubeconfig(holder.key));
    await until('the key is known', async () => (await kubectl.run(['get', 'pod', pod])).exitCode === 0);
    for (const args of [
      ['exec', pod, '--', 'true'],
      ['port-forward', pod, ':80'],
    ])
      expect((await kubectl.run(args, { env })).stderr).toMatch(
        /out of scope: cannot create "pods\/(?:exec|portforward)"/,
      );
  });

  type Holder = Awaited<ReturnType<typeof world.holder>>;
  it.concurrent.each<[string, (holder: Holder) => Promise<unknown>]>([
    ['is disabled', async ({ object }) => await admin.patch(object, { spec: { disabled: true } })],
    ['is deleted', async ({ object }) => await admin.delete(object)],
    ['gets an end that is over', async ({ object }) => await admin.patch(object, { spec: { ttl: 1 } })],
    ['gets another scope', async ({ object }) => await admin.patch(object, { spec: { scope: {} } })],
  ])('a shell ends, and its command, when its key %s; that of another key goes on', async (_, change) => {
    const name = world.name('shell');
    const [holder, other] = await Promise.all([knownHolder(world, { user }), knownHolder(world, { user })]);
    const [shell, another] = await Promise.all(
      [holder, other].map(async (one) => {
        const kubectl = new Kubectl(world, await gateway.kubeconfig(one.key));
        const begun = await kubectl.begin(endless(one === holder ? name : `${name}-other`), env);
        await begun.until('output', (lines) => lines.includes('running'));
        return begun;
      }),
    );
    await change(holder);
    const isOver = async () => (await kubelet.ended()).some((command) => command.includes(`${name};`));
    await until('the end of the command', isOver, { timeoutMs: 10_000 });
    if (protocol === 'websocket')
      await shell?.until('the reason', (lines) =>
        /close 1008 \(policy violation\): the credential/.test(lines.join()),
      );
    expect((await kubelet.ended()).some((command) => command.includes(`${name}-other`))).toBe(false);
    await another?.end();
  });

  it('a gateway that stops ends shells within its grace, and exits with 0', async () => {
    const stopping = await RunningGateway.start(world.plane, guard, {
      name: world.name('stopping'),
      env: { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8', LATCHKEY_SHUTDOWN_GRACE: '1s' },
    });
    await untilKnown(stopping, key);
    const kubectl = new Kubectl(world, await stopping.kubeconfig(key));
    const shell = await kubectl.begin(endless('stopping'), env);
    await shell.until('output', (lines) => lines.includes('running'));
    const told = performance.now();
    expect(await stopping.end()).toBe(0);
    expect(performance.now() - told).toBeLessThan(5_000);
    if (protocol === 'websocket')
      await shell.until('the reason', (lines) => lines.join().includes('the gateway stops: connect again'));
  });
});

describe('a request for another protocol shows no byte that a plain one does not show', () => {
  const own = `/apis/${group}/v1`;
  const lists = [
    ...['ownedaccesskeys', 'directclusterendpointtokens', 'clusters', 'selves', 'projects'].map(
      (name) => `${own}/${name}`,
    ),
    ...['virtualclusterinstancekubeconfigs', 'virtualclusterinstances', 'spaceinstances'].flatMap((name) => [
      `${own}/${name}`,
      `${own}/namespaces/default/${name}`,
    ]),
  ];
  const others = ['/api', '/apis', own, '/version', '/api/v1/namespaces/default/configmaps', '/openapi/v3'];
  const reviews = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'].map(
    (name) => `/apis/authorization.k8s.io/v1/${name}`,
  );
  const all = [
    ...lists.flatMap((list) =>
      ['', '/a', '/a/status', '/a/kubeconfig', '/a/exec', '/a/proxy'].map((end) => list + end),
    ),
    ...[...others, ...reviews],
  ];

  async function exchange(line: string, headers: readonly string[], isUpgrade: boolean): Promise<string> {
    const text = upgradeText(headers, { line, protocol: line.startsWith('GET') ? 'websocket' : 'SPDY/3.1' });
    const plain = text.replace('Connection: Upgrade', 'Connection: close').replace(/Upgrade: \S+\r\n/, '');
    const client = openClient(gateway.port, isUpgrade ? text : plain, true);
    await client.closed();
    return client.state.received
      .replace(/^Date: .*\r\n/im, '')
      .replace(/^audit-id: .*\r\n/im, '')
      .replace(/"resourceVersion":"\d+"/g, '');
  }

  const asked = [...webSocketHeaders, 'Origin: https://example.com'];
  const listRights = { apiGroups: [group], resources: ['*'], verbs: ['get', 'list', 'watch', 'create'] };

  it.each<[string, (answer: string) => string]>([
    ['GET', (answer) => answer],
    // Objects that are made twice have two names.
    ['POST', (answer) => answer.replace(/"[^"]*"(?=[,}\]])/g, '""')],
  ])('by %s', async (method, compared) => {
    const { key: full, object } = await knownHolder(world, { user });
    await giveRight(admin, user, listRights);
    const headers = [`Authorization: Bearer ${full}`, ...asked];
    const dryRun = method === 'POST' ? '?dryRun=All' : '';
    for (const place of [...all, `${own}/ownedaccesskeys/${object.metadata.name}`]) {
      const line = `${method} /kubernetes/management${place}${dryRun}`;
      const [plain, upgraded] = await Promise.all([false, true].map((is) => exchange(line, headers, is)));
      expect(compared(upgraded ?? '')).toBe(compared(plain ?? ''));
      expect(upgraded).not.toContain(full);
      expect(upgraded).toMatch(/^HTTP\/1\.1 [2-5]\d\d /);
    }
  });

  it('nor does a watch of what is ours, which is one over plain HTTP', async () => {
    const { key: full, object } = await knownHolder(world, { user });
    const query = `watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D${object.metadata.name}`;
    const line = `GET /kubernetes/management${own}/ownedaccesskeys?${query}`;
    const answer = await exchange(line, [`Authorization: Bearer ${full}`, ...asked], true);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*"type":"ADDED"/);
    expect(answer).not.toContain(full);
  });

  it('and a watch of other kinds is a websocket, as at the API server', async () => {
    const line = 'GET /kubernetes/management/api/v1/namespaces/default/pods?watch=true';
    await giveRight(admin, user, { apiGroups: [''], resources: ['pods'], verbs: ['watch'] });
    const client = openClient(
      gateway.port,
      upgradeText([`Authorization: Bearer ${key}`, ...asked], { line }),
      true,
    );
    await client.until('"type":"ADDED"');
    expect(client.state.received).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    client.socket.destroy();
  });
});
