import { afterAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import { sessionProtocols } from '../../../lab/kubelet/session-protocols.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { Kubectl, type Watching } from '../../../lab/operator/kubectl.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { leastMs, timeUntil, until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group } from '../../../src/api/names.ts';
import { issuerDocuments } from '../../../src/credentials/tokens/discovery.ts';
import { discoveryEndpoints } from '../../../src/gateway/endpoints/discovery/discovery.ts';
import { everywhere } from '../../../src/gateway/endpoints/endpoints.ts';
import { resourceMetadataPath } from '../../../src/gateway/endpoints/resource-metadata.ts';
import { openClient, upgradeText, webSocketHeaders } from '../../builders/upgrades.ts';
import { fourTargets } from '../../e2e/gateway/four-targets.ts';
import { knownHolder, untilKnown, untilReached } from '../../e2e/gateway/known-holder.ts';
import { socketsOf } from '../../e2e/gateway/process-sockets.ts';
import { sessionEnds } from '../../e2e/gateway/session-ends.ts';
import { sessionRights } from '../../e2e/gateway/session-world.ts';

const targets = await fourTargets();
const { world, user, paths } = targets;
const { gateway, guard, admin } = world;
const inside = await sharedVirtualCluster();
const kubelet = await startKubelet(guard, world.plane, inside.plane);
const bob = world.name('bob');
for (const api of [admin, inside.admin])
  for (const one of [user, bob]) await giveRight(api, one, sessionRights);
const [pod, podInside] = [await makePod(admin, kubelet), await makePod(inside.admin, kubelet)];
const { key } = await knownHolder(world, { user });

describe.each(sessionProtocols)('over %s', async (protocol, env) => {
  interface Shell {
    readonly client: Watching;
    readonly isOver: () => Promise<boolean>;
  }

  /** Opens one with a command that writes, and so notices its end. */
  async function openShell(kubeconfig: string, where = pod): Promise<Shell> {
    const name = world.name('shell');
    const script = `: ${name}; while echo running; do sleep 0.05; done`;
    const client = await new Kubectl(world, kubeconfig).begin(['exec', where, '--', 'sh', '-c', script], env);
    await client.until('output', (lines) => lines.includes('running'));
    const isOver = async () => (await kubelet.ended()).some((command) => command.includes(`${name};`));
    return { client, isOver };
  }

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

  describe('a shell ends within a quarter of a second, and its command within a second,', async () => {
    const other = await openShell(await gateway.kubeconfig(key));

    const ends = Object.entries(sessionEnds(targets, bob));
    // The gateway asks for a right every five seconds. From there on both protocols go the same way.
    const isQuick = ([cause]: (typeof ends)[number]) => !cause.includes('may no longer use');

    it.concurrent.each(protocol === 'websocket' ? ends : ends.filter(isQuick))(
      'when %s; that of another key goes on',
      async (_, prepare) => {
        const round = async (): Promise<number> => {
          const session = await prepare();
          const kubeconfig = await gateway.kubeconfig(session.key, session.path);
          const { client, isOver } = await openShell(
            kubeconfig,
            session.path === paths.platform ? pod : podInside,
          );
          await session.end();
          const [untilClient, untilCommand] = await Promise.all([
            timeUntil('the end of kubectl', async () => client.hasExited, { everyMs: 5 }),
            timeUntil('the end of the command', isOver, { everyMs: 5 }),
          ]);
          if (protocol === 'websocket')
            expect((await client.lines()).join()).toMatch(
              /close 1008 \(policy violation\): the (?:parent of the )?credential/,
            );
          return Math.max(4 * untilClient, untilCommand);
        };
        expect(await leastMs(1_000, round)).toBeLessThan(1_000);
        expect([other.client.hasExited, await other.isOver()]).toEqual([false, false]);
      },
    );

    afterAll(async () => await other.client.end());
  });

  it('a gateway that stops ends shells within its grace, and exits with 0', async () => {
    const stopping = await RunningGateway.start(world.plane, guard, {
      name: world.name('stopping'),
      env: { LATCHKEY_SHUTDOWN_DELAY: '0s', LATCHKEY_SHUTDOWN_GRACE: '1s' },
    });
    await untilKnown(stopping, key);
    const { client } = await openShell(await stopping.kubeconfig(key));
    const told = performance.now();
    expect(await stopping.end()).toBe(0);
    // Its grace is one second; where nothing is set it is ten.
    expect(performance.now() - told).toBeLessThan(7_000);
    if (protocol === 'websocket')
      await client.until('the reason', (lines) => lines.join().includes('the gateway stops: connect again'));
  });
});

const asks = { websocket: 'GET', 'SPDY/3.1': 'POST' } as const;
type Asked = keyof typeof asks;

/** Asks for a session with a command that stays. `place`: behind `/api/v1/`; some lead to the API server, some to a kubelet. */
function askForSession(place: string, bearer: string, protocol: Asked) {
  const offered = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
  const headers =
    protocol === 'websocket'
      ? [...webSocketHeaders, 'Origin: https://a', `Sec-WebSocket-Protocol: ${offered.join(', ')}`]
      : offered.map((version) => `X-Stream-Protocol-Version: ${version}`);
  const query = 'command=cat&stdin=true&stdout=true&input=1&output=1';
  const line = `${asks[protocol]} /kubernetes/management/api/v1/${place}?${query}`;
  const text = upgradeText([`Authorization: Bearer ${bearer}`, ...headers], { line, protocol });
  return openClient(gateway.port, text, true);
}

const exec = `namespaces/default/pods/${pod}/exec`;

it.each(['websocket', 'SPDY/3.1'] as const)(
  'the system asks both sides of a silent session over %s whether they are still there',
  async (protocol) => {
    const { pid } = gateway.process;
    const former = new Set(socketsOf(pid).map(({ inode }) => inode));
    const client = askForSession(exec, key, protocol);
    await client.until('HTTP/1.1 101 ');
    const serverPort = Number(new URL(world.plane.server).port);
    const isAsked = ({ keepAliveIn = Number.NaN }) => keepAliveIn <= 30;
    await until('timers of both', async () => {
      const sockets = socketsOf(pid);
      const ofClient = sockets.filter(({ remotePort }) => remotePort === client.socket.localPort);
      const ofTarget = sockets.filter((one) => one.remotePort === serverPort && !former.has(one.inode));
      return ofClient.length === 1 && ofTarget.length > 0 && [...ofClient, ...ofTarget].every(isAsked);
    });
    client.socket.destroy();
  },
);

describe('a command of a pod', async () => {
  const root = world.name('root');
  await bindRole(admin, root, 'cluster-admin');
  const keyWith = async (spec: object) => (await knownHolder(world, { user: root, ...spec })).key;
  const free = await keyWith({});
  const { spec } = await admin.client.request<Stored>('GET', `/api/v1/namespaces/default/pods/${pod}`);
  const [onNode, { port }] = [`exec/default/${pod}/main`, kubelet];
  const behindNode = `nodes/${spec.nodeName}/proxy/${onNode}`;

  /** An API server would dial the node, were it not on loopback. */
  const reached = /address not allowed/;

  const begun = async () => (await kubelet.sessions()).filter((session) => session.pod === pod).length;

  async function answerTo(place: string, bearer: string, protocol: Asked): Promise<string> {
    const client = askForSession(place, bearer, protocol);
    const isWhole = async () => /^HTTP\/1\.1 101|"code":/.test(client.state.received);
    await until(`an answer of ${place}`, isWhole, { seen: () => client.state.received });
    client.socket.destroy();
    return client.state.received;
  }

  async function expectOneMore(before: number): Promise<void> {
    const client = askForSession(exec, free, 'SPDY/3.1');
    await until('the session', async () => (await begun()) > before);
    expect(await begun()).toBe(before + 1);
    client.socket.destroy();
  }

  it('runs without a scope, also by way of its node, which is out of reach for API servers here alone', async () => {
    await expectOneMore(await begun());
    for (const protocol of ['websocket', 'SPDY/3.1'] as const)
      expect(await answerTo(behindNode, free, protocol)).toMatch(reached);
  });

  const resources = ['pods', 'pods/log', 'services', 'nodes', 'nodes/status'];
  it.each([
    ['names no session', { rules: [{ resources: [{ group: '', resources }] }] }],
    ['only reads', { rules: [{ verbs: ['get', 'list', 'watch'] }] }],
  ])('does not run by any path with a scope that %s', async (_, scope) => {
    const [scoped, before] = [await keyWith({ scope }), await begun()];
    for (const place of [
      exec,
      exec.replace('exec', '%65xec'),
      `${exec}/`,
      exec.replace('pods/', 'pods//'),
      exec.replace('pods/', 'pods/none/../'),
      `namespaces/default/services/https:kubernetes:https/proxy/api/v1/${exec}`,
      `namespaces/default/pods/https:${pod}:${port}/proxy/${onNode}`,
      behindNode,
      behindNode.replace('/proxy', `:${port}/proxy`),
      behindNode.replace(/nodes.(.*).proxy/, `nodes/https:$1:${port}/proxy`),
      behindNode.replace(/(nodes.*).proxy/, 'proxy/$1'),
    ])
      for (const protocol of ['websocket', 'SPDY/3.1'] as const) {
        const answer = await answerTo(place, scoped, protocol);
        // Pods and services are dialled without the certificate that a kubelet asks for.
        const isOfNode = place.includes('nodes/') && reached.test(answer);
        const isRefused = /^HTTP\/1\.1 [45]/.test(answer) && !isOfNode;
        expect({ place, protocol, isRefused }).toEqual({ place, protocol, isRefused: true });
      }
    // It is in the log behind all that began before.
    await expectOneMore(before);
  });
});

describe('a request for another protocol shows no byte that a plain one does not show', () => {
  const own = `/apis/${group}/v1`;
  const lists = [
    ...['ownedaccesskeys', 'directclusterendpointtokens', 'credentiallocks'].map((name) => `${own}/${name}`),
    ...['clusters', 'selves', 'projects'].map((name) => `${own}/${name}`),
    ...['virtualclusterinstancekubeconfigs', 'virtualclusterinstances', 'spaceinstances'].flatMap((name) => [
      `${own}/${name}`,
      `${own}/namespaces/default/${name}`,
    ]),
  ];
  const inEachTarget = [
    ...Object.keys(everywhere({} as never)).map((question) =>
      question.replace(/^create ([^.]+)\.(.+)$/, '/apis/$2/v1/$1'),
    ),
    ...['/api', '/version', '/openapi/v2', '/api/v1/namespaces/default/configmaps'],
    ...Object.keys(discoveryEndpoints()).map((question) => question.replace('get ', '')),
  ];
  const all = [
    ...lists.flatMap((list) =>
      ['', '/a', '/a/status', '/a/kubeconfig', '/a/livecredentials', '/a/exec', '/a/proxy'].map(
        (end) => list + end,
      ),
    ),
    ...inEachTarget,
  ];
  const withoutCredential = [
    ...Object.values(issuerDocuments).map(({ path }) => path),
    ...[resourceMetadataPath, '/oauth/token', '/version'],
  ];

  async function exchange(line: string, headers: readonly string[], isUpgrade: boolean): Promise<string> {
    const text = upgradeText(headers, { line, protocol: line.startsWith('GET') ? 'websocket' : 'SPDY/3.1' });
    const plain = text.replace('Connection: Upgrade', 'Connection: close').replace(/Upgrade: \S+\r\n/, '');
    const client = openClient(gateway.port, isUpgrade ? text : plain, true);
    await client.closed();
    return (
      client.state.received
        .replace(/^Date: .*\r\n/im, '')
        .replace(/^audit-id: .*\r\n/im, '')
        // A body comes in other chunks each time.
        .replace(/\r\n[0-9a-f]+\r\n/g, '')
        .replace(/"resourceVersion":"\d+"/g, '')
    );
  }

  type Compared = (answer: string) => string;

  /** Between two answers an object may change, as by the time of its last use: then both are asked for again. */
  async function bothAnswers(line: string, headers: readonly string[], compared: Compared) {
    for (let tries = 0; ; tries += 1) {
      const ask = async (isUpgrade: boolean) => await exchange(line, headers, isUpgrade);
      const [plain, upgraded] = await Promise.all([ask(false), ask(true)]);
      const isEqual = compared(plain) === compared(upgraded);
      if (isEqual || tries === 10 || compared(plain) === compared(await ask(false)))
        return { plain, upgraded };
    }
  }

  const asked = [...webSocketHeaders, 'Origin: https://example.com'];
  const listRights = { apiGroups: [group], resources: ['*'], verbs: ['get', 'list', 'watch', 'create'] };

  it.each<[string, Compared]>([
    ['GET', (answer) => answer],
    // Objects that are made twice have two names.
    ['POST', (answer) => answer.replace(/"[^"]*"(?=[,}\]])/g, '""')],
  ])('by %s', async (method, compared) => {
    const { key: full, object } = await knownHolder(world, { user });
    await giveRight(admin, user, listRights);
    const headers = [`Authorization: Bearer ${full}`, ...asked];
    const dryRun = method === 'POST' ? '?dryRun=All' : '';
    for (const target of Object.values(paths)) await untilReached(gateway, full, target);
    const ofPlatform = [...all, `${own}/ownedaccesskeys/${object.metadata.name}`];
    const inTarget = (target: string) => (target === paths.platform ? ofPlatform : inEachTarget);
    const places = Object.values(paths).flatMap((target) =>
      inTarget(target).map((place) => `/kubernetes/${target}${place}${dryRun}`),
    );
    const requests = [
      ...places.map((place) => ({ place, sent: headers })),
      ...withoutCredential.map((place) => ({ place, sent: asked })),
    ];
    for (const { place, sent } of requests) {
      const line = `${method} ${place}`;
      const { plain, upgraded } = await bothAnswers(line, sent, compared);
      expect(compared(upgraded), line).toBe(compared(plain));
      expect(upgraded).not.toContain(full);
      expect(upgraded, line).toMatch(/^HTTP\/1\.1 [2-5]\d\d /);
    }
  });

  it('nor does a watch of what is ours: it ends at once, and fabric8 then goes on without a websocket', async () => {
    const { key: full, object } = await knownHolder(world, { user });
    const query = `watch=true&fieldSelector=metadata.name%3D${object.metadata.name}`;
    const line = `GET /kubernetes/management${own}/ownedaccesskeys?${query}`;
    const answer = await exchange(line, [`Authorization: Bearer ${full}`, ...asked], true);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n$/);
  });
});
