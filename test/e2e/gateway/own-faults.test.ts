import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import type { Write } from '../../../lab/operator/write.ts';
import { type Fate, type GivenAnswer, WriteGate } from '../../../lab/operator/write-gate.ts';
import { labels } from '../../../src/api/names.ts';
import {
  credentialResources,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { Project } from '../kubeconfigs/kubeconfig-world.ts';
import { gatewaySettings, gatewayWorld } from './gateway-world.ts';
import { untilReached } from './known-holder.ts';
import { credential, OwnClient, ownAPI, ownClient, ownKeys, ownTokens } from './own-client.ts';

const world = await gatewayWorld();
const { admin, plane } = world;
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());
const replica = await RunningGateway.start(gate.access, world.guard, {
  name: world.name('replica'),
  env: gatewaySettings,
});
afterAll(async () => void (await replica.end()));
const project = await Project.ready(world, await sharedVirtualCluster());
const { namespace, instance } = project;
const kubeConfigs = `${ownAPI}/namespaces/${namespace}/virtualclusterinstancekubeconfigs`;
const kubeConfigPost = `${ownAPI}/namespaces/${namespace}/virtualclusterinstances/${instance.metadata.name}/kubeconfig`;
/** The same holder, through the replica behind the gate and past it. */
const known = await ownClient(world, { user: 'alice' });
const holder = new OwnClient({ gateway: replica, admin }, known.key);
for (const gateway of [world.gateway, replica])
  await untilReached(gateway, known.key, `project/${project.name}/virtualcluster/${instance.metadata.name}`);

const kubeConfigPlural = virtualClusterInstanceKubeConfigs.plural;

/** Objects that may be made, by the resource that the API server sees. */
const creates = [
  ['ownedaccesskeys', ownKeys, { ttl: 600 }],
  ['directclusterendpointtokens', ownTokens, { ttl: 600 }],
  [kubeConfigPlural, kubeConfigs, { virtualClusterInstance: instance.metadata.name, certificateTTL: 600 }],
] as const;

afterEach(() => {
  gate.judge = () => 'pass';
  gate.disturb = () => undefined;
  gate.onAnswered = () => undefined;
  gate.thawWatches();
});

/** The next write of this kind has this fate, and all others pass. */
function failNext(isMeant: (write: Write) => boolean, fate: Fate): void {
  gate.judge = (write) => {
    if (!isMeant(write)) return 'pass';
    gate.judge = () => 'pass';
    return fate;
  };
}

/** At the API server itself: a gateway may be behind. */
const namesOf = async (plural: string): Promise<readonly string[]> => {
  const resource = Object.values(credentialResources).find((each) => each.plural === plural);
  const { items } = await admin.client.list(resource as Resource);
  return items.map(({ metadata }) => metadata.name);
};

const status = (code: number, reason: string, message: string): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code });
const json = { 'content-type': 'application/json' };
const plainText = { 'content-type': 'text/plain; charset=utf-8' };
const tooMany = 'Too many requests, please try again later.\n';

/** As an API server and a load balancer in front of it give them, and what the client gets. */
const refusals: readonly (readonly [string, GivenAnswer, readonly [number, string, string]])[] = [
  [
    '429 of priority and fairness',
    { status: 429, headers: { ...plainText, 'retry-after': '3' }, body: tooMany },
    [429, '3', 'TooManyRequests'],
  ],
  [
    '503 of an API server that stops',
    {
      status: 503,
      headers: { ...json, 'retry-after': '1' },
      body: status(503, 'ServiceUnavailable', 'apiserver is shutting down'),
    },
    [503, '1', 'ServiceUnavailable'],
  ],
  [
    '503 of a load balancer',
    { status: 503, headers: { 'content-type': 'text/html' }, body: '<html>busy</html>' },
    [503, '1', 'ServiceUnavailable'],
  ],
];

describe.each(refusals)('a create that the API server refuses with %s', (_, given, expected) => {
  it.each(creates)('is refused alike, and makes nothing: %s', async (plural, place, spec) => {
    const metadata = { name: world.name('busy') };
    failNext((write) => write.method === 'POST' && write.plural === plural, given);
    const {
      status: code,
      headers,
      body,
      text,
    } = await holder.send('POST', place, { body: { metadata, spec } });
    expect([code, headers['retry-after'], body.reason]).toEqual(expected);
    expect(text).not.toMatch(credential);
    expect(await namesOf(plural)).not.toContain(metadata.name);
    const again = await holder.send('POST', place, { body: { metadata, spec } });
    expect([again.status, credential.test(again.text)]).toEqual([201, true]);
  });

  it('is refused alike as POST of a kubeconfig', async () => {
    const before = await namesOf(kubeConfigPlural);
    failNext(({ method, plural }) => method === 'POST' && plural === kubeConfigPlural, given);
    const { status: code, headers, body } = await holder.send('POST', kubeConfigPost, { body: {} });
    expect([code, headers['retry-after'], body.reason]).toEqual(expected);
    expect((await namesOf(kubeConfigPlural)).filter((name) => !before.includes(name))).toEqual([]);
    expect((await holder.send('POST', kubeConfigPost, { body: {} })).status).toBe(200);
  });
});

describe('an API server that has no room for a user', () => {
  const name = world.name('jail');
  const user = world.name('busy');
  const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
  const jail = [
    {
      apiVersion,
      kind: 'PriorityLevelConfiguration',
      metadata: { name },
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 0,
          lendablePercent: 0,
          borrowingLimitPercent: 0,
          // The first request waits, and the next one is refused.
          limitResponse: { type: 'Queue', queuing: { queues: 1, handSize: 1, queueLengthLimit: 1 } },
        },
      },
    },
    {
      apiVersion,
      kind: 'FlowSchema',
      metadata: { name },
      spec: {
        priorityLevelConfiguration: { name },
        matchingPrecedence: 100,
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: user } }],
            resourceRules: [
              {
                verbs: ['create'],
                apiGroups: ['management.platform.sh'],
                resources: ['*'],
                clusterScope: true,
              },
            ],
          },
        ],
      },
    },
  ];
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: jail });

  beforeAll(async () => {
    const { exitCode, stderr } = await plane.kubectl(['apply', '-f', '-'], { input });
    expect([exitCode, stderr]).toEqual([0, '']);
  });
  afterAll(async () => void (await plane.kubectl(['delete', '-f', '-'], { input })));

  it('says 429 to the holder, with Retry-After', async () => {
    const busy = await ownClient(world, { user });
    const dryRun = `${ownTokens}?dryRun=All`;
    const waiting = new AbortController();
    const options = { method: 'POST', key: busy.key, headers: json, body: '{}' } as const;
    const sent: Promise<number>[] = [];
    const send = async (): Promise<number> => {
      const { statusCode, body } = await world.gateway.send(dryRun, { ...options, signal: waiting.signal });
      await body.dump();
      return statusCode;
    };
    // Once the API server has read the jail, one of the two waits in it, and the other is refused at once.
    const isFull = async () => {
      const two = [send(), send()];
      sent.push(...two);
      return (await Promise.race(two)) === 429;
    };
    await until('the next one is refused', isFull);
    const refused = await busy.send('POST', ownTokens, { body: {} });
    expect([refused.status, refused.headers['retry-after'], refused.body.reason]).toEqual([
      429,
      expect.stringMatching(/^[1-9]\d*$/),
      'TooManyRequests',
    ]);
    waiting.abort();
    await Promise.allSettled(sent);
    expect((await busy.send('GET', ownTokens)).body.items).toEqual([]);
  });
});

describe('a new credential', () => {
  /** The watch of the replica has brought its confirmation before the answer to its create comes. */
  const untilWatched = async (place: string, name: string) => {
    const path = `/apis/management.platform.sh/v1${place.slice(ownAPI.length)}/${name}`;
    const confirmed = await until('it is confirmed', async () => {
      const object = await admin.client.request<Stored>('GET', path);
      return object.status?.credentialHash === undefined ? undefined : object;
    });
    await holder.send('GET', `${place}?limit=1&resourceVersion=${confirmed.metadata.resourceVersion}`);
  };

  it.each(creates)('is not lost when its object cannot be read at once: %s', async (plural, place, spec) => {
    const metadata = { name: world.name('unread') };
    let refused = 0;
    gate.onAnswered = async (write) => {
      if (write.method !== 'POST' || write.plural !== plural) return;
      await untilWatched(place, metadata.name);
      gate.disturb = (request) => {
        const isMeant = request.startsWith('GET /apis/') && request.includes(`${plural}/${metadata.name}`);
        if (!isMeant || ++refused > 2) return undefined;
        return { status: 429, headers: { ...plainText, 'retry-after': '1' }, body: tooMany };
      };
    };
    const made = await holder.send('POST', place, { body: { metadata, spec } });
    expect([made.status, credential.test(made.text)]).toEqual([201, true]);
    expect(refused).toBeGreaterThan(2);
    expect(String(made.headers['warning'])).not.toContain('does not work yet');
  });

  const lost = {
    status: 504,
    headers: json,
    body: status(504, 'Timeout', 'it took too long'),
    takesEffect: true,
  };

  it.each<[string, Fate]>([
    ['the connection breaks', 'unanswered'],
    ['the API server answers too late', lost],
  ])('of which no one has heard is known to its owner alone, and opens nothing: %s', async (_, fate) => {
    for (const [plural, place, spec] of creates) {
      const metadata = { name: world.name('lost') };
      failNext((write) => write.method === 'POST' && write.plural === plural, fate);
      const { status: code, text } = await holder.send('POST', place, { body: { metadata, spec } });
      expect([503, 504]).toContain(code);
      expect(text).not.toMatch(credential);
      const path = `${place}/${metadata.name}`;
      const found = await until('its owner finds it', async () => {
        const answer = await known.send('GET', path);
        return answer.status === 200 && answer;
      });
      expect(found.text).not.toMatch(credential);
      expect(found.body.metadata.labels[labels.ephemeral]).toBe('true');
      expect((await known.send('DELETE', path)).status).toBe(200);
    }
  });

  it.each<[string, Fate]>([
    ['the connection breaks', 'unanswered'],
    ['the API server answers too late', lost],
  ])('by a POST of a kubeconfig goes when %s', async (_, fate) => {
    const before = await namesOf(kubeConfigPlural);
    failNext(({ method, plural }) => method === 'POST' && plural === kubeConfigPlural, fate);
    const { status: code, headers } = await holder.send('POST', kubeConfigPost, { body: {} });
    expect([code, headers['retry-after']]).toEqual([503, '1']);
    const left = async () => {
      const { items } = await admin.client.list(virtualClusterInstanceKubeConfigs, { namespace });
      return items.filter(({ metadata }) => !before.includes(metadata.name));
    };
    await until('it is gone', async () => (await left()).length === 0, { seen: left });
  });
});

describe('an object that is deleted, and made again by a stranger, while a request about it is under way', async () => {
  const stranger = await ownClient(world, { user: world.name('stranger') });
  const mark = world.name('of-the-stranger');
  const label = 'x';

  /** An object of the holder with a label of its own, and what becomes of its name. */
  async function make(place: string, spec: object) {
    const metadata = { name: world.name('moved'), labels: { [label]: world.name('label') } };
    const { status: code, body } = await known.send('POST', place, { body: { metadata, spec } });
    expect(code).toBe(201);
    const path = `${place}/${metadata.name}`;
    await until('the replica has it', async () => (await holder.send('GET', path)).status === 200);
    const replace = async () => {
      await admin.delete(body);
      const sent = { metadata: { ...metadata, annotations: { note: mark } }, spec };
      const answer = await until('the name is free', async () => {
        const made = await stranger.send('POST', place, { body: sent });
        return made.status === 201 && made;
      });
      return await admin.get(answer.body);
    };
    return { path, object: body, selector: `labelSelector=${label}%3D${metadata.labels[label]}`, replace };
  }

  type Made = Awaited<ReturnType<typeof make>>;
  type Sending = readonly [string, string, (made: Made) => ReturnType<OwnClient['send']>];

  const read = async ({ path }: Made) => (await known.send('GET', path)).body;
  const patch = async ({ path }: Made, type: string, body: unknown, query = '') =>
    await holder.send('PATCH', path + query, { type, body });
  const merged = { metadata: { labels: { mine: 'still' } } };

  const requests: readonly Sending[] = [
    ['PUT', 'PUT', async (made) => await holder.send('PUT', made.path, { body: await read(made) })],
    ['PATCH', 'PUT', async (made) => await patch(made, 'application/merge-patch+json', merged)],
    [
      'PATCH of a version',
      'PUT',
      async (made) => {
        const { resourceVersion } = (await read(made)).metadata;
        const body = { metadata: { ...merged.metadata, resourceVersion } };
        return await patch(made, 'application/merge-patch+json', body);
      },
    ],
    [
      'JSON patch',
      'PUT',
      async (made) =>
        await patch(made, 'application/json-patch+json', [
          { op: 'add', path: '/metadata/labels/mine', value: 'a' },
        ]),
    ],
    [
      'apply',
      'PATCH',
      async (made) =>
        await patch(made, 'application/apply-patch+yaml', merged, '?fieldManager=me&force=true'),
    ],
    ['DELETE', 'DELETE', async ({ path }) => await holder.send('DELETE', path)],
  ];

  it.each(requests)('stays as the stranger made it, and is not found: %s', async (_, method, send) => {
    for (const [, place, spec] of creates.slice(0, 2)) {
      const made = await make(place, spec);
      let foreign: Awaited<ReturnType<Made['replace']>> | undefined;
      gate.judge = async (write): Promise<Fate> => {
        if (write.method !== method || write.name !== made.object.metadata.name) return 'pass';
        foreign ??= await made.replace();
        return 'pass';
      };
      const answer = await send(made);
      expect([foreign === undefined, answer.status, answer.body.reason]).toEqual([false, 404, 'NotFound']);
      for (const told of [foreign?.metadata.uid, mark]) expect(answer.text).not.toContain(told);
      expect(await admin.get(made.object)).toEqual(foreign);
    }
  });

  it('stays when all that a selector selects is deleted', async () => {
    const made = await make(ownTokens, { ttl: 600 });
    let foreign: Awaited<ReturnType<Made['replace']>> | undefined;
    gate.judge = async ({ method, name }): Promise<Fate> => {
      if (method === 'DELETE' && name === made.object.metadata.name) foreign ??= await made.replace();
      return 'pass';
    };
    const { status: code, text } = await holder.send('DELETE', `${ownTokens}?${made.selector}`);
    expect(code).toBe(200);
    for (const told of [foreign?.metadata.uid, mark]) expect(text).not.toContain(told);
    expect(await admin.get(made.object)).toEqual(foreign);
  });

  it.each(creates.slice(0, 2))(
    'is not shown or changed by a replica that has no news of it: %s',
    async (_, place, spec) => {
      const made = await make(place, spec);
      const before = await read(made);
      gate.freezeWatches();
      const foreign = await made.replace();
      const answers = [
        await holder.send('GET', made.path),
        await holder.send('PUT', made.path, { body: before }),
        await patch(made, 'application/merge-patch+json', merged),
        await patch(made, 'application/apply-patch+yaml', merged, '?fieldManager=me&force=true'),
        await holder.send('DELETE', `${made.path}?dryRun=All`),
        await holder.send('DELETE', made.path),
      ];
      expect(answers.map((answer) => answer.status)).toEqual([404, 404, 404, 404, 404, 404]);
      const list = await holder.send('GET', `${place}?${made.selector}`);
      expect([list.status, list.body.items]).toEqual([200, []]);
      for (const { text } of [...answers, list])
        for (const told of [foreign.metadata.uid, mark]) expect(text).not.toContain(told);
      expect(await admin.get(made.object)).toEqual(foreign);
    },
  );
});

it('a refused credential that cannot be taken away at first is taken away later', async () => {
  const metadata = { name: world.name('refused') };
  const isTaken = ({ method, name }: Write) => method === 'DELETE' && name === metadata.name;
  failNext(isTaken, { status: 503, headers: json, body: status(503, 'ServiceUnavailable', 'not now') });
  const spec = { ttl: 600, accessKey: world.name('missing') };
  const answer = await holder.send('POST', ownTokens, { body: { metadata, spec } });
  expect([answer.status, answer.body.message]).toEqual([422, expect.stringContaining('AccessKeyNotFound')]);
  await until(
    'it is gone',
    async () => !(await namesOf('directclusterendpointtokens')).includes(metadata.name),
  );
});
