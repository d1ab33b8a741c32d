import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { management, ownAPI, ownClient, ownKeys } from '../../e2e/gateway/own-client.ts';
import type { Flood } from './flood-worker.ts';

const world = await gatewayWorld();
const { gateway, name } = world;
const alice = await ownClient(world, { user: name('alice') });
const mallory = await ownClient(world, { user: name('mallory') });
const allowsNothing = await ownClient(world, { user: name('mallory'), scope: {} });

/** A credential may have a hundred requests under way. */
const atOnce = 95;
const asked = 6;
/** Of the probes of the manifests. On an idle machine it takes some milliseconds. */
const timeoutMs = 5_000;
const megabyte = 'x'.repeat(999_000);
const manyKeys = Object.fromEntries(Array.from({ length: 80_000 }, (_, key) => [`k${key}`, 0]));
const note = { op: 'add', path: '/metadata/annotations', value: { note: megabyte } };
const ownName = mallory.object.metadata.name;
const maps = `${management}/api/v1/namespaces/default/configmaps`;

const longYAML = `spec: [${','.repeat(8_000)}]`;

type Sent = Pick<Flood, 'method' | 'type' | 'body'> & { readonly path: string; readonly key?: string };

/** In a thread of its own: what it takes must not slow down what is measured. Resolves when one of its requests got the expected status. */
async function startFlood({ path, key = mallory.key, ...sent }: Sent, expected: number): Promise<void> {
  const workerData: Flood = { ...sent, url: gateway.url + path, ca: gateway.ca, key, atOnce, expected };
  flooding = new Worker(new URL('./flood-worker.ts', import.meta.url), { workerData });
  await once(flooding, 'message');
}
let flooding: Worker | undefined;
afterEach(async () => void (await flooding?.terminate()));

async function endFlood(): Promise<void> {
  const ended = once(flooding as Worker, 'exit');
  flooding?.postMessage('end');
  await ended;
}

it.each<[string, Sent, number]>([
  [
    'JSON of 80,000 keys',
    { method: 'POST', path: ownKeys, type: 'application/json', body: JSON.stringify({ spec: manyKeys }) },
    400,
  ],
  [
    'JSON patches of a megabyte',
    {
      method: 'PATCH',
      path: `${ownKeys}/${ownName}`,
      type: 'application/json-patch+json',
      body: JSON.stringify([note]),
    },
    422,
  ],
  [
    'YAML that takes long',
    {
      method: 'POST',
      path: `${ownAPI}/selves`,
      type: 'application/yaml',
      body: longYAML,
    },
    400,
  ],
  [
    'reviews in YAML with a key that allows nothing',
    {
      method: 'POST',
      path: `${management}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
      type: 'application/yaml',
      body: longYAML,
      key: allowsNothing.key,
    },
    415,
  ],
  [
    'objects of a megabyte for the API server',
    {
      method: 'POST',
      path: `${maps}?dryRun=All`,
      type: 'application/json',
      body: JSON.stringify({ metadata: { generateName: 'flood-' }, data: { text: megabyte } }),
    },
    403,
  ],
])(
  'beside %s, 95 at once, another user is served and the gateway stays alive and ready',
  async (_, flood, expected) => {
    await startFlood(flood, expected);
    const slowest = { answer: 0, probe: 0 };
    const timed = async (kind: keyof typeof slowest, ask: () => Promise<number>) => {
      const start = performance.now();
      expect(await ask()).toBe(200);
      slowest[kind] = Math.max(slowest[kind], performance.now() - start);
    };
    for (let count = 0; count < asked; count += 1) {
      await timed('answer', async () => (await alice.send('GET', `${ownAPI}/ownedaccesskeys`)).status);
      for (const probe of ['/readyz', '/livez'])
        await timed('probe', async () => (await gateway.health(probe)).status);
    }
    await endFlood();
    expect(slowest.answer).toBeLessThan(timeoutMs);
    expect(slowest.probe).toBeLessThan(timeoutMs);
  },
);
