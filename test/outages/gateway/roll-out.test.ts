import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import {
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  makeInformer,
} from '@kubernetes/client-node';
import { afterAll, expect, it } from 'vitest';
import { base64, writeKubeconfig } from '../../../lab/controlplane/kubeconfig.ts';
import { auditLogIn, BalancedReplicas } from '../../../lab/gateway/balanced-replicas.ts';
import { balancerAddress } from '../../../lab/gateway/balancer.ts';
import { buildGoProgram } from '../../../lab/go/build-program.ts';
import { makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { eventsIn } from '../../builders/audit-lines.ts';
import { ownKeys } from '../../e2e/gateway/own-client.ts';
import { Load } from './load.ts';

const world = await operatorWorld();
const { admin, guard, plane } = world;
const alice = world.name('alice');
const everything = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] };
const sessions = { apiGroups: [''], resources: ['pods', 'pods/exec'], verbs: ['get', 'create'] };
for (const rights of [everything, sessions]) await giveRight(admin, alice, rights);
const key = generateAccessKey(randomBytes(32));
const first = await admin.untilReady(await admin.createKey({ user: alice, key }));
const pod = await makePod(admin, await startKubelet(guard, plane));

const env = {
  LATCHKEY_MAX_OBJECTS_PER_OWNER: '0',
  LATCHKEY_SHUTDOWN_DELAY: '2s',
  // On a busy machine a session of a second takes several.
  LATCHKEY_SHUTDOWN_GRACE: '10s',
};
const balanced = await BalancedReplicas.start({ plane, guard, env, auditFolder: guard.folder });
afterAll(async () => await balanced.end());
const kept = new Agent({ keepAlive: true, maxSockets: 8, ca: balanced.ca });
afterAll(() => kept.destroy());

interface Sent {
  readonly body?: object;
  /** Default: one that keeps its connections. */
  readonly agent?: Agent;
}

/** Sends one request through the balancer. No client library sends it again. */
async function send(method: string, target: string, { body, agent = kept }: Sent = {}) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const sent = request(
    { host: '127.0.0.1', port: balanced.port, path: target, method, headers, agent },
    (answer) => {
      text(answer).then((whole) => resolve({ status: answer.statusCode ?? 0, text: whole }), reject);
    },
  );
  sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  return await promise;
}

const server = `${balanced.url}/kubernetes/management`;
const folder = guard.folder;
const place = { name: 'balanced', server, caData: base64(balanced.ca), folder };
const kubeconfig = await writeKubeconfig(place, 'alice', { token: key });
const kubectl = new Kubectl(world, kubeconfig);

const object = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: world.name('map'), namespace: 'default' },
};
await admin.createObject(configMaps, { ...object, data: { count: '0' } });
const map = `/kubernetes/management/api/v1/namespaces/default/configmaps/${object.metadata.name}`;

const follow = path.join(folder, 'follow');
const programs = path.join(import.meta.dirname, '../../clientgo');
if (!(await buildGoProgram(programs, follow, { package: './follow' }))) throw new Error('this test needs go');

/** A program of client-go with an informer, which also reads. Returns how to see the counts that it was told of, and what it read. */
async function startFollower() {
  const args = [kubeconfig, 'default', object.metadata.name];
  const { logPath } = await guard.run({ name: 'follow', command: follow, args });
  const lines = async (pattern: RegExp) =>
    [...(await readFile(logPath, 'utf8')).matchAll(pattern)].map(([, found = '']) => found);
  const counts = async (): Promise<readonly number[]> => (await lines(/^count (\d+)$/gm)).map(Number);
  const reads = async () => {
    const failed = await lines(/^lost (.*)$/gm);
    return { sent: (await lines(/^read$/gm)).length + failed.length, failed };
  };
  return { counts, reads };
}

const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const client = KubernetesObjectApi.makeApiClient(config);

/** An informer of client-node; it is started again after an error, as its documentation says. Returns the count that it knows. */
function startInformer(): { readonly count: () => number; readonly stop: () => Promise<void> } {
  const list = async () => await client.list('v1', 'ConfigMap', 'default');
  const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', list as never);
  let isOver = false;
  informer.on('error', () => {
    if (!isOver) void informer.start();
  });
  void informer.start();
  const count = () =>
    Number((informer.get(object.metadata.name, 'default') as Counted | undefined)?.data['count']);
  const stop = async () => {
    isOver = true;
    await informer.stop();
  };
  return { count, stop };
}

/** Fewer from one client would say nothing: in a roll-out of ten seconds it sends some times as many. */
const least = {
  reads: 200,
  'reads of client-node': 50,
  'reads of client-go': 50,
  'keys made': 5,
  'reads of kubectl': 2,
  sessions: 1,
  changes: 10,
};

type Counted = KubernetesObject & { readonly data: Readonly<Record<string, string>> };

const runs = async (args: readonly string[], output: string) => {
  const { stdout, stderr, exitCode } = await kubectl.run(args);
  return exitCode === 0 && stdout === output ? 200 : { stdout, stderr, exitCode };
};
const command = (script: string) => ['exec', pod, '--', 'sh', '-c', script];
const statusOf = async (...args: Parameters<typeof send>) => {
  const { status, text } = await send(...args);
  return status < 300 ? status : text;
};

it('each replica knows the client that the balancer names, in both versions of the PROXY protocol', async () => {
  const client = new Agent({ ca: balanced.ca, localAddress: '127.0.0.3' });
  const target = `${map}-${world.name('asked')}`;
  const events = await until('each replica has answered', async () => {
    await send('GET', target, { agent: client });
    const found = [0, 1].map((index) =>
      eventsIn(auditLogIn(guard.folder, index)).filter(({ requestURI }) => requestURI === target),
    );
    return found.every(({ length }) => length > 0) && found.flat();
  });
  const sources = new Set(events.map(({ sourceIPs }) => sourceIPs.join(' then ')));
  expect([...sources]).toEqual([`127.0.0.3 then ${balancerAddress}`]);
});

it('a roll-out behind a balancer loses no request, no event of a watch, and no session that ends within the grace', async () => {
  await until('the balancer finds a replica', async () => (await send('GET', map)).status === 200);
  const follower = await startFollower();
  const informer = startInformer();
  const made = [first.metadata.name];
  let count = 0;
  const loads = {
    reads: new Load(async () => await statusOf('GET', map), 8),
    'reads of client-node': new Load(async () => ((await client.read(object)).metadata ? 200 : 'nothing'), 2),
    'keys made': new Load(async () => {
      const { status, text } = await send('POST', ownKeys, { body: { spec: { ttl: 600 } } });
      if (status === 201) made.push(JSON.parse(text).metadata.name);
      return status === 201 && /"key":"lk_/.test(text) ? 201 : text;
    }, 2),
    'reads of kubectl': new Load(
      async () =>
        await runs(
          ['get', 'configmap', object.metadata.name, '-o', 'name'],
          `configmap/${object.metadata.name}\n`,
        ),
      1,
    ),
    sessions: new Load(async () => await runs(command('sleep 1; echo done'), 'done\n'), 2),
    changes: new Load(async () => {
      count += 1;
      await admin.patch(object as never, { data: { count: String(count) } });
      return 200;
    }, 1),
  };
  const endless = kubectl.run(command('sleep 600'));
  await balanced.rollOut();
  const { exitCode, stderr } = await endless;
  for (const load of Object.values(loads)) await load.stop();
  const found = { ...loads, 'reads of client-go': await follower.reads() };
  await until('client-go has seen the last change', async () => (await follower.counts()).at(-1) === count);
  await until('client-node has seen the last change', async () => informer.count() === count);
  await informer.stop();
  const sent = Object.entries(found).map(([name, load]) => [name, load.sent] as const);
  console.info('requests in a roll-out', Object.fromEntries(sent));

  expect(sent.filter(([name, count]) => count < least[name as keyof typeof found])).toEqual([]);
  expect(Object.fromEntries(Object.entries(found).map(([name, { failed }]) => [name, failed]))).toEqual(
    Object.fromEntries(Object.keys(found).map((name) => [name, []])),
  );
  const seen = await follower.counts();
  expect(seen.length).toBeGreaterThan(least.changes / 2);
  expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => (seen[0] ?? 0) + index));
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('the gateway stops: connect again')]);
  const { items } = JSON.parse((await send('GET', ownKeys)).text) as { items: Stored[] };
  expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(made.toSorted());
});
