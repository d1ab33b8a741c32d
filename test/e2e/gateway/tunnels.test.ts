import { describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { leastMs, timeUntil, until } from '../../../lab/operator/until.ts';
import { group } from '../../../src/api/names.ts';
import { credentialLocks } from '../../../src/api/resources.ts';
import { openClient, upgradeText, webSocketHeaders } from '../../builders/upgrades.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder, untilKnown } from './known-holder.ts';
import { sessionRights } from './session-world.ts';

const world = await gatewayWorld();
const { gateway, guard, admin } = world;
const user = world.name('alice');
const kubelet = await startKubelet(guard, world.plane);
await giveRight(admin, user, sessionRights);
const pod = await makePod(admin, kubelet);
const { key } = await knownHolder(world, { user });

const protocols = [
  ['websocket', {}],
  ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
] as const;

describe.each(protocols)('over %s', async (protocol, env) => {
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
    [
      'is locked',
      async ({ object }) =>
        await admin.create(credentialLocks, { accessKey: { name: object.metadata.name } }),
    ],
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
    await until('the end of the command', isOver);
    if (protocol === 'websocket')
      await shell?.until('the reason', (lines) =>
        /close 1008 \(policy violation\): the credential/.test(lines.join()),
      );
    expect((await kubelet.ended()).some((command) => command.includes(`${name}-other`))).toBe(false);
    await another?.end();
  });

  it('a shell ends within a quarter of a second of the write that disables its key, and its command within a second', async () => {
    const round = async (): Promise<number> => {
      const name = world.name('timed');
      const holder = await knownHolder(world, { user });
      const shell = await new Kubectl(world, await gateway.kubeconfig(holder.key)).begin(endless(name), env);
      await shell.until('output', (lines) => lines.includes('running'));
      const isOver = async () => (await kubelet.ended()).some((command) => command.includes(`${name};`));
      const [client, command] = await Promise.all([
        timeUntil('the end of kubectl', async () => shell.hasExited, { everyMs: 5 }),
        timeUntil('the end of the command', isOver, { everyMs: 5 }),
        admin.patch(holder.object, { spec: { disabled: true } }),
      ]);
      return Math.max(4 * client, command);
    };
    expect(await leastMs(1_000, round)).toBeLessThan(1_000);
  });

  it('a gateway that stops ends shells within its grace, and exits with 0', async () => {
    const stopping = await RunningGateway.start(world.plane, guard, {
      name: world.name('stopping'),
      env: { LATCHKEY_SHUTDOWN_GRACE: '1s' },
    });
    await untilKnown(stopping, key);
    const kubectl = new Kubectl(world, await stopping.kubeconfig(key));
    const shell = await kubectl.begin(endless('stopping'), env);
    await shell.until('output', (lines) => lines.includes('running'));
    const told = performance.now();
    expect(await stopping.end()).toBe(0);
    // Its grace is one second; where nothing is set it is ten.
    expect(performance.now() - told).toBeLessThan(9_000);
    if (protocol === 'websocket')
      await shell.until('the reason', (lines) => lines.join().includes('the gateway stops: connect again'));
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
  const others = ['/api', '/apis', own, '/version', '/api/v1/namespaces/default/configmaps', '/openapi/v3'];
  const reviews = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'].map(
    (name) => `/apis/authorization.k8s.io/v1/${name}`,
  );
  const all = [
    ...lists.flatMap((list) =>
      ['', '/a', '/a/status', '/a/kubeconfig', '/a/livecredentials', '/a/exec', '/a/proxy'].map(
        (end) => list + end,
      ),
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
    for (const place of [...all, `${own}/ownedaccesskeys/${object.metadata.name}`]) {
      const line = `${method} /kubernetes/management${place}${dryRun}`;
      const { plain, upgraded } = await bothAnswers(line, headers, compared);
      expect(compared(upgraded)).toBe(compared(plain));
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
});
