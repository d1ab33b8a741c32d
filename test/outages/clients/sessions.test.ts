import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { olderKubectl } from '../../../lab/controlplane/binaries/binaries.ts';
import { createClient, type Identity } from '../../../lab/controlplane/certificates.ts';
import { kubernetesVersion, olderKubectlVersion } from '../../../lab/controlplane/versions.ts';
import { sessionProtocols } from '../../../lab/kubelet/session-protocols.ts';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { openClient, upgradeText, webSocketHeaders } from '../../builders/upgrades.ts';
import { buildClientGoSessions } from '../../clientgo/sessions.ts';
import { ClientNodeSessions } from '../../clients/client-node-sessions.ts';
import type { Recording } from '../../clients/recorded/recording.ts';
import { knownHolder } from '../../e2e/gateway/known-holder.ts';
import { type NodeKind, nodeKinds, sessionWorld } from '../../e2e/gateway/session-world.ts';
import { askKubelet, listeningPorts } from './kubelet-strangers.ts';
import { lateTarget, refusingProxies } from './refusing-proxies.ts';

const targets = await sessionWorld();
const { world, user, paths, key, kubelet, podIn } = targets;
const { gateway, guard } = world;

const clientGo = await buildClientGoSessions(guard.folder);
const recorded = path.resolve(import.meta.dirname, '../../clients/recorded');

const text = randomBytes(750_000).toString('base64');
const page = createServer((_, response) => response.end(text));
page.listen(0, '127.0.0.1');
afterAll(() => void page.close());

interface Session {
  readonly kubectl: Kubectl;
  readonly pod: string;
  /** Sets the protocol. */
  readonly env: Readonly<Record<string, string>>;
}

const commands: Readonly<Record<string, (session: Session) => Promise<void>>> = {
  'exec has both outputs and the exit code of the command': async ({ kubectl, pod, env }) => {
    const command = ['exec', pod, '--', 'sh', '-c', 'echo out; echo problem >&2; exit 3'];
    const { stdout, stderr, exitCode } = await kubectl.run(command, { env });
    expect([stdout, exitCode]).toEqual(['out\n', 3]);
    expect(stderr).toMatch(/^problem\n/);
  },
  'exec sends a megabyte, and gets it back': async ({ kubectl, pod, env }) => {
    const { stdout, exitCode } = await kubectl.run(['exec', '-i', pod, '--', 'cat'], { env, input: text });
    expect([stdout === text, exitCode]).toEqual([true, 0]);
  },
  'attach shows what is there, and what is typed': async ({ kubectl, pod, env }) => {
    const { stdout, exitCode } = await kubectl.run(['attach', '-i', pod], { env, input: 'typed\n' });
    expect([stdout, exitCode]).toEqual(['attached\ntyped\n', 0]);
  },
  'port-forward brings pages side by side': async ({ kubectl, pod, env }) => {
    const { port } = page.address() as AddressInfo;
    const forwarding = await kubectl.begin(['port-forward', `pod/${pod}`, `:${port}`], env);
    const lines = await forwarding.until('the local port', (all) => /127\.0\.0\.1:\d+/.test(all.join()));
    const local = `http://${/127\.0\.0\.1:\d+/.exec(lines.join())?.[0]}/`;
    const bodies = await Promise.all([local, local].map(async (url) => await (await fetch(url)).text()));
    expect(bodies.map((body) => body === text)).toEqual([true, true]);
    await forwarding.end();
  },
  'cp brings a file there and back': async ({ kubectl, pod, env }) => {
    const [from, there, back] = ['from', 'there', 'back'].map((file) =>
      path.join(guard.folder, uniqueName(file)),
    ) as [string, string, string];
    await writeFile(from, text);
    await kubectl.ok(['cp', from, `${pod}:${there}`], { env });
    await kubectl.ok(['cp', `${pod}:${there}`, back], { env });
    expect((await readFile(back, 'utf8')) === text).toBe(true);
  },
};

const older = await olderKubectl();
const rows = Object.entries(paths).flatMap(([target, place]) =>
  nodeKinds.flatMap((node) =>
    sessionProtocols.map(([protocol, env]) => ({ target, place, node, protocol, env })),
  ),
);
/** In a space alone: the ways into the others are the same for it. */
const olderRows = rows
  .filter(({ target, node }) => target === 'space' && node === 'is asked over SPDY')
  .map((row) => ({ ...row, program: older }));

describe.each([
  ...rows.map((row) => ({ ...row, version: kubernetesVersion, program: undefined })),
  ...olderRows.map((row) => ({ ...row, version: olderKubectlVersion })),
])(
  'kubectl $version over $protocol, in the target $target, to a node that $node:',
  async ({ target, place, node, env, program }) => {
    const kubectl = new Kubectl(world, await gateway.kubeconfig(key, place), program);
    const pod = podIn(target, node);
    // Few at a time: each is a process.
    it.concurrent.each(Object.entries(commands))('%s', async (_, run) => await run({ kubectl, pod, env }));
  },
);

it.each<[NodeKind, readonly string[]]>([
  ['is asked over SPDY', ['SPDY/3.1']],
  ['takes websockets itself', ['SPDY/3.1', 'websocket']],
])('a node that %s was, in each target', async (node, asked) => {
  const sessions = await kubelet.sessions();
  for (const target of Object.keys(paths))
    for (const session of ['exec', 'attach', 'portForward']) {
      const here = sessions.filter(({ pod, kind }) => pod === podIn(target, node) && kind === session);
      const found = [...new Set(here.map(({ protocol }) => protocol))].sort();
      expect([target, session, found]).toEqual([target, session, asked]);
    }
});

describe.each(sessionProtocols)('over %s', async (_, env) => {
  const pod = podIn('virtual cluster', nodeKinds[1]);
  const { plane } = await sharedVirtualCluster();
  const direct = new Kubectl(world, await plane.kubeconfigFor(user));
  const through = new Kubectl(world, await gateway.kubeconfig(key, paths['virtual cluster']));

  it.concurrent.each([
    ['ends well', ['sh', '-c', 'echo out; exit 0'], 0],
    ['fails', ['sh', '-c', 'echo problem >&2; exit 3'], 3],
    ['says that it was killed', ['sh', '-c', 'exit 137'], 137],
    ['is killed', ['sh', '-c', 'kill -9 $$'], 1],
    ['is not there', ['/no/such/command'], 1],
  ])('a command that %s ends for kubectl as it does without the gateway', async (__, command, exitCode) => {
    const run = async (kubectl: Kubectl) => await kubectl.run(['exec', pod, '--', ...command], { env });
    const [found, expected] = await Promise.all([run(through), run(direct)]);
    expect(found).toEqual(expected);
    expect(found.exitCode).toBe(exitCode);
  });
});

describe('the kubelet of these tests, which runs commands as the user of this machine,', async () => {
  const ports = [kubelet.port, kubelet.webSocketPort];

  it.each(ports)('hears the API servers alone, on port %i', async (port) => {
    const inFolder = async (file: string) =>
      await readFile(path.join(world.plane.folder, 'pki', file), 'utf8');
    const authority = { certificate: await inFolder('ca.crt'), key: await inFolder('ca.key') };
    const groups = ['system:masters', 'system:nodes'];
    const namesake = createClient(authority, { user: 'kube-apiserver-kubelet-client', groups });
    const ask = async (identity?: Identity) => await askKubelet(port, identity);
    expect(await ask()).toMatch(/certificate required/);
    expect(await ask(namesake)).toMatch(/unknown ca|bad certificate/);
    const own = {
      certificate: await inFolder('kubelet-client.crt'),
      key: await inFolder('kubelet-client.key'),
    };
    expect(await ask(own)).toBe('200 a line of the log\n');
  });

  it('listens nowhere else', () => {
    expect(listeningPorts(kubelet.pid)).toEqual(ports.toSorted());
  });

  it.each(nodeKinds)(
    'runs them in a folder of its own with an empty environment, on a node that %s',
    async (node) => {
      const kubectl = new Kubectl(world, await gateway.kubeconfig(key, paths.platform));
      const pod = podIn('platform', node);
      expect(await kubectl.ok(['exec', pod, '--', 'pwd'])).toBe(`${kubelet.folder}\n`);
      expect(await kubectl.ok(['exec', pod, '--', 'env'])).toBe('');
    },
  );
});

it.each(Object.entries(paths))('kubectl in the target %s shows a log', async (target, place) => {
  const kubectl = new Kubectl(world, await gateway.kubeconfig(key, place));
  expect(await kubectl.ok(['logs', podIn(target, nodeKinds[0])])).toBe('a line of the log\n');
});

describe.each(Object.entries(paths))('a browser, in the target %s,', async (target, place) => {
  const pod = podIn(target, nodeKinds[0]);
  const headers = [...webSocketHeaders, `Authorization: Bearer ${key}`, 'Origin: https://example.com'];

  it.each([
    ['watches', `pods?watch=true&fieldSelector=metadata.name%3D${pod}`, '"type":"ADDED"'],
    ['follows a log', `pods/${pod}/log?follow=true`, 'a line of the log'],
  ])('%s over a websocket', async (_, what, shown) => {
    const line = `GET /kubernetes/${place}/api/v1/namespaces/default/${what}`;
    const client = openClient(gateway.port, upgradeText(headers, { line }), true);
    await client.until(shown);
    expect(client.state.received).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    client.socket.destroy();
  });
});

describe.each(nodeKinds)('a pod on a node that %s', async (node) => {
  const pod = podIn('space', node);
  const kubeconfig = await gateway.kubeconfig(key, paths.space);
  const clientNode = new ClientNodeSessions(kubeconfig, pod);
  const command = ['sh', '-c', 'cat; echo problem >&2; exit 3'];

  it('is open to exec and attach of client-node', async () => {
    const [stdout, stderr] = [text, 'problem\n'];
    const { stdout: found, ...rest } = await clientNode.exec(command, stdout);
    expect([found === stdout, rest]).toEqual([true, { stderr, exitCode: 3 }]);
    expect(await clientNode.attach('typed\n')).toBe('attached\ntyped\n');
  });

  it('is open to its port-forward', async () => {
    const { port } = page.address() as AddressInfo;
    const answer = await clientNode.forward(port, 'GET / HTTP/1.0\r\n\r\n', text.length);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer.endsWith(text)).toBe(true);
  });

  it('is open to its cp', async () => {
    const folders = ['from', 'there', 'back'].map((name) => path.join(guard.folder, uniqueName(name)));
    for (const folder of folders) await mkdir(folder);
    await writeFile(path.join(folders[0] ?? '', 'file'), text);
    const copied = await clientNode.copy(folders as [string, string, string], 'file');
    expect(copied === text).toBe(true);
  });

  it('is open to each executor of client-go', async () => {
    const outcomes = await clientGo.exec(kubeconfig, pod, command, 'typed\n');
    const ran = { stdout: 'typed\n', stderr: 'problem\n', exitCode: 3, error: '' };
    expect(outcomes).toEqual(['websocket', 'SPDY', 'either'].map((way) => ({ way, ...ran })));
  });

  it.each(['python', 'fabric8', 'headlamp'])('is open to a recorded request of %s', async (name) => {
    const { requests } = JSON.parse(await readFile(path.join(recorded, `${name}.json`), 'utf8')) as Recording;
    const found = requests.find((one) => /\/exec\?/.test(one.path) && one.headers['upgrade'] === 'websocket');
    const { path: asked = '', headers: sent = {} } = found ?? {};
    const here = asked
      .replace(/\/pods\/[^/]+\//, `/pods/${pod}/`)
      .replace(/command=\w+/, 'command=echo&command=hello')
      .replace(/container=\w+/, 'container=main');
    const { connection: _, upgrade: __, ...others } = sent;
    const headers = Object.entries({ ...others, authorization: `Bearer ${key}` });
    const lines = headers.map(([header, value]) => `${header}: ${value}`);
    const line = `GET /kubernetes/${paths.space}${here}`;
    const client = openClient(gateway.port, upgradeText(lines, { line }), true);
    // The first channel is standard output.
    await client.until('\x01hello\n');
    client.socket.destroy();
  });
});

describe.each(await refusingProxies(targets))(
  'behind a proxy $place that $how',
  ({ kubeconfig, pod, proxy }) => {
    const refused = expect.stringMatching(/^GET 4\d\d websocket$/);
    const command = ['sh', '-c', 'cat; echo problem >&2; exit 3'];

    it('kubectl falls back to SPDY, and has the output and the exit code of a command', async () => {
      const before = (await proxy.upgrades()).length;
      const kubectl = new Kubectl(world, kubeconfig);
      const ran = await kubectl.run(['exec', '-i', pod, '--', ...command], { input: 'typed\n' });
      expect(ran).toMatchObject({ stdout: 'typed\n', exitCode: 3 });
      expect(ran.stderr).toMatch(/^problem\n/);
      await until('both requests', async () => (await proxy.upgrades()).length === before + 2);
      expect((await proxy.upgrades()).slice(before)).toEqual([refused, 'POST 101 SPDY/3.1']);
    });

    it('kubectl falls back to SPDY for a port, too', async () => {
      const kubectl = new Kubectl(world, kubeconfig);
      await commands['port-forward brings pages side by side']?.({ kubectl, pod, env: {} });
    });

    it('the executor of client-go that tries both falls back, and that for websockets says why not', async () => {
      const before = (await proxy.upgrades()).length;
      const outcomes = await clientGo.exec(kubeconfig, pod, command, 'typed\n');
      const ran = { stdout: 'typed\n', stderr: 'problem\n', exitCode: 3, error: '' };
      expect(outcomes).toEqual([
        expect.objectContaining({ way: 'websocket', error: expect.stringContaining('unable to upgrade') }),
        { way: 'SPDY', ...ran },
        { way: 'either', ...ran },
      ]);
      await until('all requests', async () => (await proxy.upgrades()).length === before + 4);
      expect((await proxy.upgrades()).slice(before)).toEqual([
        refused,
        'POST 101 SPDY/3.1',
        refused,
        'POST 101 SPDY/3.1',
      ]);
    });
  },
);

it('a target that refuses a session after two seconds: the client has its answer, and the target nothing that the client sent meanwhile', async () => {
  const { path: place, pod, proxy } = await lateTarget(targets);
  const line = `GET /kubernetes/${place}/api/v1/namespaces/default/pods/${pod}/exec?command=id`;
  const headers = [...webSocketHeaders, `Authorization: Bearer ${key}`];
  const next = upgradeText(headers, { line: line.replace('GET', 'POST') });
  const client = openClient(gateway.port, upgradeText(headers, { line, body: next }), true);
  const start = performance.now();
  await client.until('forbidden by administrative rules');
  expect(client.state.received).toMatch(/^HTTP\/1\.1 403 /);
  expect(performance.now() - start).toBeGreaterThan(1_500);
  await client.closed();
  expect(client.state.received.match(/HTTP\/1\.1/g)).toHaveLength(1);
  // The balancer writes its line after the end.
  await until('the request is over', async () => (await proxy.upgrades()).length > 0);
  expect(await proxy.upgrades()).toEqual(['GET 403 websocket']);
});

it('client-go is told why a scope refuses a session, in each way', async () => {
  const scope = { rules: [{ verbs: ['get'], requestTargets: ['Management'] }] };
  const narrow = await knownHolder(world, { user, scope });
  const kubeconfig = await gateway.kubeconfig(narrow.key);
  for (const { error } of await clientGo.exec(kubeconfig, podIn('platform', nodeKinds[0]), ['true']))
    expect(error).toContain('out of scope: cannot create "pods/exec"');
});
