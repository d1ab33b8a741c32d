import { Agent, request } from 'undici';
import { expect, it } from 'vitest';
import { gatewayWorld } from './gateway-world.ts';
import { management, ownAPI, ownClient, ownKeys } from './own-client.ts';

const world = await gatewayWorld();
const { gateway, name } = world;
const alice = await ownClient(world, { user: name('alice') });
const mallory = await ownClient(world, { user: name('mallory') });

/** A credential may have a hundred requests under way. */
const atOnce = 95;
const asked = 12;
/** Of the probes of the manifests. On an idle machine it takes some milliseconds. */
const timeoutMs = 5_000;
const megabyte = 'x'.repeat(999_000);
const manyKeys = Object.fromEntries(Array.from({ length: 80_000 }, (_, key) => [`k${key}`, 0]));
const note = { op: 'add', path: '/metadata/annotations', value: { note: megabyte } };
const ownName = mallory.object.metadata.name;
const maps = `${management}/api/v1/namespaces/default/configmaps`;

interface Flood {
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

/** Requests of a flood, each as soon as one of them is answered. Resolves with how many got which status. */
async function send({ method, path, type, body }: Flood, signal: AbortSignal): Promise<Map<number, number>> {
  const dispatcher = new Agent({ connect: { ca: gateway.ca }, connections: atOnce });
  const headers = { authorization: `Bearer ${mallory.key}`, 'content-type': type };
  const seen = new Map<number, number>();
  const sender = async () => {
    while (!signal.aborted) {
      // A refusal before the end of a body closes the connection.
      const answer = await request(gateway.url + path, { method, headers, body, dispatcher }).catch(
        () => undefined,
      );
      await answer?.body.dump().catch(() => undefined);
      const status = answer?.statusCode ?? 0;
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sender));
  await dispatcher.destroy();
  return seen;
}

it.each<[string, Flood, number]>([
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
      body: `spec: [${','.repeat(8_000)}]`,
    },
    400,
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
  'beside %s, 95 at once, another user is served and the gateway stays ready',
  async (_, flood, expected) => {
    const stop = new AbortController();
    const flooding = send(flood, stop.signal);
    const slowest = { answer: 0, probe: 0 };
    const timed = async (kind: keyof typeof slowest, ask: () => Promise<number>) => {
      const start = performance.now();
      expect(await ask()).toBe(200);
      slowest[kind] = Math.max(slowest[kind], performance.now() - start);
    };
    try {
      for (let count = 0; count < asked; count += 1) {
        await timed('answer', async () => (await alice.send('GET', `${ownAPI}/ownedaccesskeys`)).status);
        await timed('probe', async () => (await gateway.health('/readyz')).status);
      }
    } finally {
      stop.abort();
    }
    const seen = await flooding;
    expect(seen.get(expected)).toBeGreaterThan(0);
    expect(slowest.answer).toBeLessThan(timeoutMs);
    expect(slowest.probe).toBeLessThan(timeoutMs);
  },
);
