import { afterEach, describe, expect, it } from 'vitest';
import { credentialObject, liveRecord } from '../../../../test/builders/credential-object.ts';
import { type GatewayStage, gatewayStage, verdictFor } from '../../../../test/builders/gateway-stage.ts';
import type { RecentChanges } from '../../index/recent-changes.ts';

const bearer = 'a-key-that-alice-chose-herself';
const keys = '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys';
let stage: GatewayStage;
afterEach(async () => await stage.close());

const answer = (body: object): string => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** A replica that has got to version 90, with one key; the test moves it on. */
async function start() {
  const state = { position: '90', asked: 0 };
  const changes = {
    position: () => {
      state.asked += 1;
      return state.position;
    },
    since: () => [],
  } as unknown as RecentChanges;
  const objectOf = (name: string) => credentialObject({ name });
  stage = await gatewayStage(
    (socket, text) => {
      const name = /\/ownedaccesskeys\/(\w+)/.exec(text)?.[1] ?? '';
      socket.write(answer(objectOf(name)));
    },
    { services: { changes } },
  );
  stage.know(bearer, { ...verdictFor(), record: liveRecord({ name: 'self' }) });
  const add = (name: string) => stage.records.ofKind.OwnedAccessKey.upsert(liveRecord({ name }));
  add('mine');
  return { state, add };
}

async function list(query: string, name = '') {
  const head = [`GET ${keys}${name}?${query} HTTP/1.1`, 'Host: a', 'Connection: close'];
  const text = await stage.send([...head, `Authorization: Bearer ${bearer}`, '', ''].join('\r\n'));
  const [first = '', body = '{}'] = text.split('\r\n\r\n');
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
  return { status: Number(first.split(' ')[1]), head: first, body: JSON.parse(body) as any };
}
const namesIn = ({ body }: Awaited<ReturnType<typeof list>>): readonly string[] =>
  body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

describe('a list at a replica that is behind', () => {
  it('waits until the replica knows what the client has seen elsewhere', async () => {
    const { state, add } = await start();
    const listing = list('resourceVersion=100');
    while (state.asked < 3) await new Promise(setImmediate);
    add('new');
    state.position = '101';
    const answered = await listing;
    expect([answered.status, answered.body.metadata.resourceVersion]).toEqual([200, '101']);
    expect(namesIn(answered)).toContain('new');
  });

  it('says so after some seconds, in a form that clients know, and when to come back', async () => {
    await start();
    const { status, head, body } = await list('resourceVersion=100&resourceVersionMatch=NotOlderThan');
    expect([status, body.reason, body.details.retryAfterSeconds]).toEqual([504, 'Timeout', 1]);
    expect(body.message).toContain('Too large resource version: 100, current: 90');
    expect(body.details.causes).toContainEqual({ reason: 'ResourceVersionTooLarge' });
    expect(head).toMatch(/^retry-after: 1$/im);
  });

  it.each(['', 'resourceVersion=0', 'resourceVersion=90', 'resourceVersion=89'])(
    'answers at once where it is far enough: "%s"',
    async (query) => {
      await start();
      const answered = await list(query);
      expect([answered.status, answered.body.metadata.resourceVersion]).toEqual([200, '90']);
      expect(namesIn(answered)).toEqual(['mine', 'self']);
    },
  );
});

describe('a list of one version exactly', () => {
  it.each(['resourceVersionMatch=Exact', 'limit=1'])('is the present one: %s', async (more) => {
    await start();
    expect(await list(`resourceVersion=90&${more}`)).toMatchObject({ status: 200 });
  });

  it.each(['resourceVersionMatch=Exact', 'limit=1'])('is not kept when it has passed: %s', async (more) => {
    await start();
    const { status, body } = await list(`resourceVersion=89&${more}`);
    expect([status, body.reason, body.details.causes[0].reason]).toEqual([
      410,
      'Gone',
      'ERR_VERSION_NOT_KEPT',
    ]);
  });
});

it('a get waits until the replica knows what the client has seen elsewhere', async () => {
  const { state, add } = await start();
  const getting = list('resourceVersion=100', '/new');
  while (state.asked < 3) await new Promise(setImmediate);
  add('new');
  state.position = '100';
  const { status, body } = await getting;
  expect([status, body.metadata.name]).toEqual([200, 'new']);
});
