import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMaps, namespaces, secrets } from '../../../src/api/resources.ts';
import { LatchkeyError } from '../../../src/errors.ts';
import type { KubeClient, UntrustedClientOptions } from '../../../src/kube/client/client.ts';
import { makeIdentity } from '../../../src/kube/client/client-identity.ts';
import { isNotFound } from '../../../src/kube/kube-error.ts';
import { createUntrustedClient } from '../../../src/platform/targets/untrusted/untrusted-answers.ts';
import { UntrustedServerError } from '../../../src/platform/targets/untrusted/untrusted-server-error.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { waitFor } from '../../fakes/wait-for.ts';

let server: FakeApiServer;
let clients: KubeClient[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await server.stop();
});

function makeClient(options: Partial<UntrustedClientOptions> = {}): KubeClient {
  const identity = makeIdentity(new URL(server.url), { ca: server.authority.certificate }, [
    'authorization',
    'Bearer own',
  ]);
  const client = createUntrustedClient({ identity, userAgent: 'tester/1', ...options });
  clients.push(client);
  return client;
}

const key = { namespace: 'ns', name: 'a' };
const canary = 'CANARY7f3a';

async function failure(work: Promise<unknown>): Promise<UntrustedServerError> {
  const error = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UntrustedServerError);
  const shown = inspect(error, { depth: 10, showHidden: true });
  expect(shown).not.toContain(canary);
  expect(shown).not.toContain('127.0.0.1');
  return error as UntrustedServerError;
}

describe('a client with an identity of its own', () => {
  it('sends it, and does not look for another after a 401', async () => {
    server.refuseAll(401, 'Unauthorized');
    expect((await failure(makeClient().get(secrets, key))).status).toBe(401);
    expect(server.exchanges.map(({ headers }) => headers.authorization)).toEqual(['Bearer own']);
  });

  it('reads and writes as any other', async () => {
    const client = makeClient();
    await client.create(configMaps, { metadata: { name: 'a' }, data: { x: '1' } }, { namespace: 'ns' });
    expect(await client.get(configMaps, key)).toMatchObject({ data: { x: '1' } });
    expect((await client.list(configMaps)).items).toHaveLength(1);
    await client.delete(configMaps, key);
    expect(isNotFound(await failure(client.get(configMaps, key)))).toBe(true);
  });

  it('asks the lookup about names and about addresses, at each connection', async () => {
    const asked: string[] = [];
    const lookup: UntrustedClientOptions['lookup'] = (hostname, options, callback) => {
      asked.push(hostname);
      if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
      else callback(null, '127.0.0.1', 4);
    };
    await failure(makeClient({ lookup }).get(configMaps, key));
    const named = new URL(server.url.replace('127.0.0.1', 'localhost'));
    const identity = makeIdentity(named, { ca: server.authority.certificate }, []);
    await failure(makeClient({ lookup, identity }).get(configMaps, key));
    expect(asked).toEqual(['127.0.0.1', 'localhost']);
  });

  it.each([
    ['an IPv4 address', '127.0.0.1', '127.0.0.1'],
    ['an IPv6 address', '[::1]', '::1'],
    ['an IPv4 address in IPv6', '[::ffff:127.0.0.1]', '::ffff:7f00:1'],
    ['a number', '2130706433', '127.0.0.1'],
    ['a name', 'localhost', 'localhost'],
  ])('dials nothing when the lookup refuses %s', async (_, host, expected) => {
    const asked: string[] = [];
    const refusal = Object.assign(new Error(canary), { code: 'ERR_REFUSED' });
    const lookup: UntrustedClientOptions['lookup'] = (hostname, __, callback) => {
      asked.push(hostname);
      callback(refusal, '');
    };
    const url = new URL(server.url.replace('127.0.0.1', host));
    const identity = makeIdentity(url, { ca: server.authority.certificate }, []);
    const error = await failure(makeClient({ lookup, identity }).get(configMaps, key));
    expect([error.causeCode, asked, server.openSockets]).toEqual(['ERR_REFUSED', [expected], 0]);
  });

  it('repeats a request as often as it was made to', async () => {
    server.refuseAll(503, 'ServiceUnavailable', { retryAfter: 0 });
    await failure(makeClient({ retries: 1 }).get(configMaps, key));
    expect(server.exchanges).toHaveLength(2);
  });
});

describe('answers of an API server that is not trusted', () => {
  it.each([
    ['text', 'CANARY7f3a'],
    ['a number', '5'],
    ['null', 'null'],
    ['a list', '["CANARY7f3a"]'],
    ['nothing', ''],
    ['no metadata', '{"kind":"CANARY7f3a"}'],
    ['metadata of another type', '{"metadata":["CANARY7f3a"]}'],
    ['a name of another type', '{"metadata":{"name":{"CANARY7f3a":1}}}'],
    ['a UID of another type', '{"metadata":{"name":"a","uid":5}}'],
  ])('are unusable: %s in place of an object', async (_, body) => {
    server.answerAll(200, body);
    const client = makeClient();
    for (const work of [
      client.get(configMaps, key),
      client.replace(configMaps, key, {}),
      client.create(configMaps, {}, { namespace: 'ns' }),
      client.apply(configMaps, key, {}, { fieldManager: 'tester' }),
    ])
      expect(await failure(work)).toMatchObject({ code: 'ERR_KUBE_RESPONSE', reason: 'BadAnswer' });
  });

  it.each([
    ['no items', '{"metadata":{}}'],
    ['items of another type', '{"metadata":{},"items":{"0":1}}'],
    ['an item without metadata', '{"metadata":{},"items":[{"metadata":{"name":"a"}},{}]}'],
    ['an item that is none', '{"metadata":{},"items":[null]}'],
    ['no metadata', '{"items":[]}'],
  ])('are unusable: %s in place of a list', async (_, body) => {
    server.answerAll(200, body);
    expect(await failure(makeClient().list(configMaps))).toMatchObject({ code: 'ERR_KUBE_RESPONSE' });
  });

  it('are unusable: more objects than were asked for', async () => {
    const items = ['a', 'b', 'c'].map((name) => ({ metadata: { name, namespace: 'ns' } }));
    server.answerAll(200, { metadata: {}, items });
    const client = makeClient();
    expect((await client.list(configMaps, { limit: 3 })).items).toHaveLength(3);
    expect((await client.list(configMaps)).items).toHaveLength(3);
    expect(await failure(client.list(configMaps, { limit: 2 }))).toMatchObject({ reason: 'BadAnswer' });
  });

  it.each([
    [
      'nest too deep',
      `{"metadata":{"name":"a","namespace":"ns"},"data":${'['.repeat(10_101)}${']'.repeat(10_101)}}`,
    ],
    ['hold too many values', `{"metadata":{"name":"a","namespace":"ns"},"data":[${'0,'.repeat(750_000)}0]}`],
  ])('are unusable, whatever their status, when they %s', async (_, body) => {
    const client = makeClient();
    for (const status of [200, 404]) {
      server.answerAll(status, body);
      expect(await failure(client.get(configMaps, key))).toMatchObject({ reason: 'BadAnswer' });
    }
  });

  it('are to blame when the next request cannot be made from them', async () => {
    const client = makeClient();
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    for (const make of [
      () => client.replace(configMaps, key, { deep }),
      () => client.get(configMaps, { namespace: 'ns', name: `${canary}/..` }),
      () => client.get(configMaps, { name: 'a' }),
      () => client.get(namespaces, { namespace: 'ns', name: 'a' }),
      () => client.delete(configMaps, { namespace: '\ud800', name: 'a' }),
      () => client.list(configMaps, { namespace: '..' }),
    ])
      expect(await failure((async () => make())())).toMatchObject({ reason: 'BadAnswer' });
    expect(server.exchanges).toEqual([]);
  });

  it('are not to blame for a request that was given up, or that may not be sent', async () => {
    const reason = new TypeError('given up');
    await expect(makeClient().get(configMaps, key, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    const refusal = new LatchkeyError('ERR_LEADERSHIP_LOST', { action: 'POST' });
    const writeGuard = () => {
      throw refusal;
    };
    await expect(makeClient({ writeGuard }).replace(configMaps, key, {})).rejects.toBe(refusal);
  });

  it.each([400, 404, 409, 418, 500])(
    'are unusable: a %i of something that is no API server',
    async (status) => {
      server.answerAll(status, `<html>${canary}</html>`);
      const error = await failure(makeClient().get(configMaps, key));
      expect([error.code, isNotFound(error)]).toEqual(['ERR_KUBE_RESPONSE', false]);
    },
  );

  it.each([401, 403, 429, 503])('mean what they say without a Status: %i', async (status) => {
    server.answerAll(status, canary);
    const error = await failure(makeClient({ retries: 0 }).get(configMaps, key));
    expect([error.code, error.status]).toEqual(['ERR_KUBE_STATUS', status]);
  });

  it('never get into an error, not even as a Status', async () => {
    server.refuseAll(403, canary, {
      message: `is forbidden: User "${canary}" cannot`,
      details: { name: canary },
    });
    const error = await failure(makeClient().get(configMaps, key));
    expect([error.status, error.reason]).toEqual([403, 'Unknown']);
  });

  it('are bounded, each kind by its own limit', async () => {
    server.answerAll(200, { metadata: {}, items: [], padding: 'x'.repeat(2_000) });
    const client = makeClient({ maxObjectBytes: 1_000, maxListBytes: 3_000 });
    expect(await failure(client.get(configMaps, key))).toMatchObject({ code: 'ERR_KUBE_RESPONSE' });
    expect((await client.list(configMaps)).items).toEqual([]);
    const small = makeClient({ maxListBytes: 1_000, maxSingleBytes: 3_000 });
    for (const options of [{}, { limit: 2 }])
      expect(await failure(small.list(configMaps, options))).toMatchObject({ code: 'ERR_KUBE_RESPONSE' });
    expect((await small.list(configMaps, { limit: 1 })).items).toEqual([]);
  });
});

describe('a watch of an API server that is not trusted', () => {
  const watching = async (client: KubeClient) => {
    const signal = new AbortController().signal;
    const events: unknown[] = [];
    const options = { signal, idleMs: 5_000, maxLineBytes: 1_000 };
    for await (const event of client.watch('/api/v1/configmaps', new URLSearchParams('watch=true'), options))
      events.push(event);
    return events;
  };

  it('gives its events', async () => {
    server.script((exchange) => {
      exchange.open();
      exchange.event('ADDED', { metadata: { name: 'a' } });
      exchange.response.end();
      return true;
    });
    expect(await watching(makeClient())).toHaveLength(1);
  });

  it('keeps what the server says out of its errors', async () => {
    server.refuseAll(403, canary, { message: canary });
    expect((await failure(watching(makeClient()))).status).toBe(403);
  });

  it('keeps the address out of its errors', async () => {
    const client = makeClient();
    await server.stop();
    expect((await failure(watching(client))).causeCode).toBe('ECONNREFUSED');
    await waitFor('sockets closed', () => server.openSockets === 0);
  });
});
