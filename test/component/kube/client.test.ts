import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMaps, namespaces, ownedAccessKeys, subjectAccessReviews } from '../../../src/api/resources.ts';
import {
  createKubeClient,
  type KubeClient,
  type KubeClientOptions,
} from '../../../src/kube/client/client.ts';
import { SilenceReports } from '../../../src/kube/client/silence-reports.ts';
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  KubeError,
} from '../../../src/kube/kube-error.ts';
import { watchConfigMaps } from '../../builders/watching.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
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

function makeClient(options: Partial<KubeClientOptions> = {}): KubeClient {
  const client = createKubeClient({
    kubeConfig: server.kubeConfig('token-1'),
    userAgent: 'tester/1',
    ...options,
  });
  clients.push(client);
  return client;
}

const key = { namespace: 'ns', name: 'a' };
const draft = { metadata: { name: 'a' }, data: { x: '1' } };
const last = () => server.exchanges.at(-1)!;
const thrown = async (work: Promise<unknown>): Promise<KubeError> => {
  const error = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(KubeError);
  return error as KubeError;
};

describe('a client for somebody else', () => {
  const alice = {
    user: 'alice',
    groups: ['dev', 'ops'],
    extra: { 'management.platform.sh/access-key': ['ci/uid-1'] },
  };
  const impersonation = () =>
    Object.entries(last().headers).filter(([name]) => name.startsWith('impersonate-'));
  const asAlice = [
    ['impersonate-user', 'alice'],
    ['impersonate-group', 'dev, ops'],
    ['impersonate-extra-management.platform.sh%2faccess-key', 'ci/uid-1'],
  ];

  it('sends its requests and watches for that one, with the credentials of the process', async () => {
    const client = makeClient();
    await client.as(alice).create(configMaps, draft, { namespace: 'ns' });
    expect(last().headers.authorization).toBe('Bearer token-1');
    expect(impersonation()).toEqual(asAlice);
    const abort = new AbortController();
    const watching = watchConfigMaps(client.as(alice), abort.signal, { onOpen: () => abort.abort() });
    await expect(watching).rejects.toThrow('aborted');
    expect(last().isWatch).toBe(true);
    expect(impersonation()).toEqual(asAlice);
  });

  it('leaves the client of the process, and clients for others, as they are', async () => {
    const client = makeClient();
    const [first, second] = [client.as(alice), client.as(alice).as({ user: 'bob', groups: [] })];
    await second.list(configMaps);
    expect(impersonation()).toEqual([['impersonate-user', 'bob']]);
    await first.list(configMaps);
    expect(impersonation()).toEqual(asAlice);
    await client.list(configMaps);
    expect(impersonation()).toEqual([]);
    // Each of the three would have opened one by itself.
    expect(server.handshakes).toBeLessThan(3);
  });

  it('asks the write guard of the process', async () => {
    const writeGuard = () => {
      throw new Error('not now');
    };
    const client = makeClient({ writeGuard }).as(alice);
    await expect(client.create(configMaps, draft, { namespace: 'ns' })).rejects.toThrow('not now');
    expect(server.exchanges).toEqual([]);
  });

  it('takes the place of an impersonation in the kubeconfig', async () => {
    const kubeConfig = server.kubeConfig('token-1');
    kubeConfig.users = kubeConfig.users.map((user) => ({ ...user, impersonateUser: 'someone' }));
    await makeClient({ kubeConfig }).list(configMaps);
    expect(impersonation()).toEqual([['impersonate-user', 'someone']]);
    await makeClient({ kubeConfig }).as(alice).list(configMaps);
    expect(impersonation()).toEqual(asAlice);
  });

  it('acts for no user without a name, and sends nothing', () => {
    expect(() => makeClient().as({ user: '', groups: [] })).toThrow(TypeError);
    expect(server.exchanges).toEqual([]);
  });
});

describe('requests', () => {
  it('sends credentials and says who it is', async () => {
    await makeClient().list(configMaps);
    const { authorization, accept } = last().headers;
    expect([authorization, accept, last().headers['user-agent']]).toEqual([
      'Bearer token-1',
      'application/json',
      'tester/1',
    ]);
  });

  it.each([
    [
      'create',
      (client: KubeClient) => client.create(configMaps, draft, { namespace: 'ns' }),
      'POST',
      'application/json',
    ],
    ['replace', (client: KubeClient) => client.replace(configMaps, key, draft), 'PUT', 'application/json'],
    [
      'mergePatch',
      (client: KubeClient) => client.mergePatch(configMaps, key, draft),
      'PATCH',
      'application/merge-patch+json',
    ],
    [
      'apply',
      (client: KubeClient) => client.apply(configMaps, key, draft, { fieldManager: 'me' }),
      'PATCH',
      'application/apply-patch+yaml',
    ],
    ['delete', (client: KubeClient) => client.delete(configMaps, key), 'DELETE', 'application/json'],
  ])('%s goes out with the right method and content type', async (_name, call, method, contentType) => {
    server.answerAll(200, {});
    await call(makeClient());
    expect([last().method, last().headers['content-type']]).toEqual([method, contentType]);
  });

  it('puts write options into the query', async () => {
    const options = {
      fieldManager: 'me',
      force: true,
      dryRun: true,
      fieldValidation: 'Strict',
      subresource: 'status',
    } as const;
    await makeClient().apply(configMaps, key, draft, options);
    expect(last().path).toBe('/api/v1/namespaces/ns/configmaps/a/status');
    expect(Object.fromEntries(last().query)).toEqual({
      fieldManager: 'me',
      force: 'true',
      dryRun: 'All',
      fieldValidation: 'Strict',
    });
  });

  it('puts list options into the query', async () => {
    await makeClient().list(ownedAccessKeys, {
      labelSelector: 'a=b',
      fieldSelector: 'c=d',
      limit: 5,
      resourceVersion: '0',
    });
    expect(last().path).toBe('/apis/management.platform.sh/v1/ownedaccesskeys');
    expect(Object.fromEntries(last().query)).toEqual({
      labelSelector: 'a=b',
      fieldSelector: 'c=d',
      limit: '5',
      resourceVersion: '0',
    });
  });

  it('reads a list page by page', async () => {
    for (const name of ['a', 'b', 'c'])
      server.storage('configmaps').put({ metadata: { name, namespace: 'ns' } });
    const client = makeClient();
    const first = await client.list(configMaps, { namespace: 'ns', limit: 2 });
    const second = await client.list(configMaps, {
      namespace: 'ns',
      limit: 2,
      continue: first.metadata.continue!,
    });
    expect([...first.items, ...second.items].map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
    expect(second.metadata.continue).toBeUndefined();
  });

  it('keeps fields that it does not know', async () => {
    server
      .storage('configmaps')
      .put({ metadata: { name: 'a', namespace: 'ns' }, unknown: { deep: [1] } } as never);
    const client = makeClient();
    const read = await client.get(configMaps, key);
    expect(await client.replace(configMaps, key, read)).toMatchObject({ unknown: { deep: [1] } });
  });

  it('sends preconditions with a deletion', async () => {
    const { uid, resourceVersion } = server
      .storage('configmaps')
      .put({ metadata: { name: 'a', namespace: 'ns' } }).metadata;
    const client = makeClient();
    const other = await thrown(client.delete(configMaps, key, { preconditions: { uid: 'other' } }));
    expect(isConflict(other)).toBe(true);
    await client.delete(configMaps, key, {
      preconditions: { uid, resourceVersion },
      propagationPolicy: 'Foreground',
    });
    expect(last().json()).toMatchObject({
      preconditions: { uid, resourceVersion },
      propagationPolicy: 'Foreground',
    });
    expect(server.storage('configmaps').get('ns/a')).toBeUndefined();
  });

  it.each<[string, object | null, boolean]>([
    ['a Status', { kind: 'Status', status: 'Success' }, true],
    [
      'the object, which something holds',
      { kind: 'ConfigMap', metadata: { deletionTimestamp: 'now' } },
      false,
    ],
    ['nothing that says so', null, false],
  ])('tells by an answer with %s whether the object is gone', async (_answer, body, isGone) => {
    server.once(
      ({ method }) => method === 'DELETE',
      (exchange) => exchange.answer(200, body),
    );
    expect(await makeClient().delete(configMaps, key)).toBe(isGone);
  });

  it.each(['', '.', '..', 'a/b'])('refuses the name %j, which would reach another path', async (name) => {
    const client = makeClient();
    expect(() => client.get(namespaces, { name })).toThrow(TypeError);
    await expect(client.delete(namespaces, { name })).rejects.toThrow(TypeError);
    expect(server.exchanges).toEqual([]);
  });

  it('refuses a namespaced object without a namespace', () => {
    expect(() => makeClient().get(configMaps, { name: 'a' })).toThrow('configmaps need a namespace');
  });

  it('calls a server below a path', async () => {
    const kubeConfig = server.kubeConfig();
    kubeConfig.clusters = kubeConfig.clusters.map((cluster) => ({
      ...cluster,
      server: `${server.url}/k8s/clusters/c1/`,
    }));
    server.answerAll(200, {});
    await makeClient({ kubeConfig }).request('GET', '/version');
    expect(last().path).toBe('/k8s/clusters/c1/version');
  });
});

describe('connections', () => {
  it('makes no more connections than the pool has, for a hundred requests', async () => {
    const client = makeClient({ connections: 4 });
    await Promise.all(Array.from({ length: 100 }, () => client.list(configMaps)));
    expect(server.exchanges.length).toBe(100);
    expect(server.handshakes).toBeLessThanOrEqual(4);
  });

  it('needs at most two connections for requests that follow one another', async () => {
    const client = makeClient();
    for (let n = 0; n < 20; n++) await client.list(configMaps);
    expect(server.handshakes).toBeLessThanOrEqual(2);
  });

  it('serves requests while more watches are open than the pool has connections', async () => {
    const client = makeClient({ connections: 2 });
    const abort = new AbortController();
    const ends = Array.from({ length: 5 }, () => watchConfigMaps(client, abort.signal));
    await waitFor('five watches', () => server.watches.length === 5);
    await client.list(configMaps);
    abort.abort();
    expect((await Promise.allSettled(ends)).map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  });

  it('refuses further requests when too many wait', async () => {
    server.script((exchange) => exchange.path === '/slow');
    const client = makeClient({ connections: 1, maxWaiting: 1 });
    const abort = new AbortController();
    const waiting = [1, 2].map(() => client.request('GET', '/slow', { signal: abort.signal }));
    const settled = Promise.allSettled(waiting);
    const error = await thrown(client.request('GET', '/slow'));
    expect([error.code, error.message]).toEqual([
      'ERR_KUBE_UNREACHABLE',
      'cannot reach the API server: GET /slow: too many requests are waiting',
    ]);
    abort.abort();
    await settled;
  });

  it('leaves no socket open after close', async () => {
    const client = makeClient();
    const abort = new AbortController();
    const ended = watchConfigMaps(client, abort.signal).catch((error: unknown) => error);
    await Promise.all([client.list(configMaps), client.list(configMaps)]);
    await waitFor('a watch', () => server.watches.length === 1);
    expect(server.openSockets).toBeGreaterThanOrEqual(2);
    await client.close();
    expect(await ended).toBeInstanceOf(KubeError);
    await waitFor('all sockets closed', () => server.openSockets === 0);
    await expect(client.list(configMaps)).rejects.toThrow('closed');
  });
});

describe('errors', () => {
  it.each([
    [404, 'NotFound', isNotFound],
    [409, 'AlreadyExists', isAlreadyExists],
    [409, 'Conflict', isConflict],
    [403, 'Forbidden', isForbidden],
    [422, 'Invalid', isInvalid],
  ])('knows a %i %s', async (status, reason, matches) => {
    server.refuseAll(status, reason, { message: 'said so', details: { kind: 'configmaps', name: 'a' } });
    const error = await thrown(makeClient().get(configMaps, key));
    expect(error).toMatchObject({ code: 'ERR_KUBE_STATUS', status, reason, details: { name: 'a' } });
    expect(error.statusMessage).toBe('said so');
    const predicates = [isNotFound, isAlreadyExists, isConflict, isForbidden, isInvalid];
    expect(predicates.filter((holds) => holds(error))).toEqual([matches]);
  });

  it('counts a 422 about metadata.uid as the conflict that it is', async () => {
    server.script((exchange) => {
      const details = {
        causes: [{ reason: 'FieldValueInvalid', field: 'metadata.uid', message: 'Invalid value' }],
      };
      exchange.refuse(422, 'Invalid', { details });
      return true;
    });
    expect(isConflict(await thrown(makeClient().mergePatch(configMaps, key, {})))).toBe(true);
  });

  it('gives an answer that is no Status the usual reason of its code', async () => {
    server.answerAll(502, '<html>bad gateway</html>');
    expect(await thrown(makeClient().get(configMaps, key))).toMatchObject({ status: 502, reason: 'Unknown' });
  });

  it('does not follow a redirect', async () => {
    const client = makeClient();
    server.answerAll(302, '', { location: `${server.url}/elsewhere` });
    const error = await thrown(client.get(configMaps, key));
    expect([error.code, error.status, server.exchanges.length]).toEqual(['ERR_KUBE_RESPONSE', 302, 1]);
  });

  it('says that an answer is not JSON without quoting it', async () => {
    server.answerAll(200, 'lk_secret is not json');
    const error = await thrown(makeClient().get(configMaps, key));
    expect(error.message).toBe('unusable answer to GET /api/v1/namespaces/ns/configmaps/a: not JSON');
    expect(error.cause).toBeUndefined();
  });

  it('refuses an answer that is too large, before it is all in memory', async () => {
    let closed = false;
    server.script((exchange) => {
      exchange.response.on('close', () => (closed = true));
      exchange.response.writeHead(200);
      const write = () => {
        while (!closed && exchange.response.write(' '.repeat(1 << 20)));
        exchange.response.once('drain', write);
      };
      write();
      return true;
    });
    const error = await thrown(makeClient().get(configMaps, key));
    expect(error).toMatchObject({ code: 'ERR_KUBE_RESPONSE' });
    await waitFor('connection cut', () => closed);
  });

  it('reports that nothing listens', async () => {
    const client = makeClient();
    await server.stop();
    const error = await thrown(client.get(configMaps, key));
    expect(error).toMatchObject({ code: 'ERR_KUBE_UNREACHABLE', status: 0 });
    expect(error.message).toContain('ECONNREFUSED');
  });

  it('says that the certificate is not of our authority', async () => {
    const other = await FakeApiServer.start();
    const kubeConfig = other.kubeConfig();
    kubeConfig.clusters = kubeConfig.clusters.map((cluster) => ({ ...cluster, server: server.url }));
    const error = await thrown(makeClient({ kubeConfig }).get(configMaps, key));
    expect(error.code).toBe('ERR_KUBE_UNREACHABLE');
    expect(server.exchanges).toEqual([]);
    await other.stop();
  });

  it('says that the connection broke in the middle of the answer', async () => {
    server.script((exchange) => {
      exchange.response.writeHead(200, { 'content-length': '100' });
      exchange.response.write('{"metadata":', () => exchange.reset());
      return true;
    });
    expect(await thrown(makeClient().get(configMaps, key))).toMatchObject({ code: 'ERR_KUBE_UNREACHABLE' });
  });

  it('waits no longer than the time limit, also for a byte after another', async () => {
    server.script((exchange) => {
      exchange.response.writeHead(200);
      const drip = setInterval(() => exchange.response.write(' '), 5);
      exchange.response.on('close', () => clearInterval(drip));
      return true;
    });
    const error = await thrown(makeClient().get(configMaps, key, { timeoutMs: 60 }));
    expect([error.code, error.message]).toEqual([
      'ERR_KUBE_TIMEOUT',
      'no answer to GET /api/v1/namespaces/ns/configmaps/a within 60 ms',
    ]);
    await waitFor('connection cut', () => server.openSockets === 0);
  });

  it('ends a request with the reason of its signal, under way or waiting', async () => {
    server.script((exchange) => exchange.path === '/slow');
    const client = makeClient({ connections: 1 });
    const abort = new AbortController();
    const requests = [1, 2].map(() => client.request('GET', '/slow', { signal: abort.signal }));
    const settled = Promise.allSettled(requests);
    await waitFor('the first request', () => server.exchanges.length === 1);
    abort.abort(new Error('stop'));
    expect((await settled).map((outcome) => outcome.status === 'rejected' && outcome.reason.message)).toEqual(
      ['stop', 'stop'],
    );
    await client.list(configMaps);
    expect(server.exchanges.map(({ path }) => path)).toEqual(['/slow', '/api/v1/configmaps']);
  });
});

describe('a request that gets no answer in time', () => {
  let clock: FakeClock;
  let watching: KubeClient;
  let asking: KubeClient;
  let abort: AbortController;
  let seen: number;

  beforeEach(() => {
    clock = new FakeClock();
    const reports = new SilenceReports(clock);
    [watching, asking] = [makeClient({ clock, reports }), makeClient({ clock, reports })];
    abort = new AbortController();
    seen = 0;
    server.script(({ path }) => path === '/slow');
  });

  /** Resolves when the watch is open. It ends with what it fails with. */
  const open = async (path: string): Promise<{ readonly ended: Promise<unknown> }> => {
    const opened = Promise.withResolvers<void>();
    const { signal } = abort;
    const options = { signal, idleMs: 130_000, maxLineBytes: 10_000, onOpen: opened.resolve };
    const query = new URLSearchParams({ watch: 'true' });
    const ended = (async () => {
      for await (const _ of watching.watch(path, query, options)) seen++;
    })().catch((error: unknown) => error);
    await opened.promise;
    return { ended };
  };

  /** Resolves when it was given up. */
  const askInVain = async (timeoutMs: number, meanwhile: () => Promise<void> = async () => undefined) => {
    const answer = thrown(asking.request('GET', '/slow', { timeoutMs }));
    await waitFor('the request', () => last().path === '/slow');
    await meanwhile();
    clock.advance(timeoutMs);
    expect((await answer).code).toBe('ERR_KUBE_TIMEOUT');
  };

  it('ends the watches of that server on which nothing came meanwhile, and no others', async () => {
    const silent = await open('/api/v1/configmaps');
    await open('/api/v1/secrets');
    await askInVain(5_000, async () => {
      clock.advance(100);
      server.storage('secrets').put({ metadata: { name: 'a' } });
      await waitFor('the event', () => seen === 1);
    });
    expect(await silent.ended).toMatchObject({ code: 'ERR_KUBE_UNREACHABLE' });
    server.storage('secrets').put({ metadata: { name: 'b' } });
    await waitFor('the next event', () => seen === 2);
    abort.abort();
  });

  it('ends a watch on which the last event came meanwhile, too, once it has been silent for as long', async () => {
    const secrets = await open('/api/v1/secrets');
    await askInVain(5_000, async () => {
      clock.advance(100);
      server.storage('secrets').put({ metadata: { name: 'a' } });
      await waitFor('the event', () => seen === 1);
    });
    clock.advance(100);
    expect(await secrets.ended).toMatchObject({ code: 'ERR_KUBE_UNREACHABLE' });
  });

  it('lets the next requests go out over new connections', async () => {
    await Promise.all([asking.list(configMaps), asking.list(configMaps)]);
    const before = server.handshakes;
    await asking.list(configMaps);
    expect(server.handshakes).toBe(before);
    await askInVain(5_000);
    await asking.list(configMaps);
    expect(server.handshakes).toBe(before + 1);
  });

  it('means nothing when it was given less than a second', async () => {
    const silent = await open('/api/v1/configmaps');
    await askInVain(900);
    server.storage('configmaps').put({ metadata: { name: 'a' } });
    await waitFor('the event', () => seen === 1);
    abort.abort();
    await silent.ended;
  });
});

describe('retries', () => {
  const jsonPatch = { body: [], contentType: 'application/json-patch+json' };
  const refuseOnce = (status: number, retryAfter?: number) =>
    server.once(
      () => true,
      (exchange) => exchange.refuse(status, 'Busy', retryAfter === undefined ? {} : { retryAfter }),
    );

  it.each([429, 503])('asks again after %i, not before the server wants it', async (status) => {
    refuseOnce(status, 1);
    const started = performance.now();
    await makeClient({ random: () => 0 }).list(configMaps);
    expect(performance.now() - started).toBeGreaterThanOrEqual(995);
    expect(server.exchanges.length).toBe(2);
  });

  it.each([
    ['POST', (client: KubeClient) => client.create(configMaps, draft, { namespace: 'ns' })],
    ['a JSON patch', (client: KubeClient) => client.request('PATCH', '/x', jsonPatch)],
  ])('never repeats %s, which could act twice', async (_name, call) => {
    refuseOnce(429, 0);
    expect(await thrown(call(makeClient()))).toMatchObject({ status: 429, retryAfterSeconds: 0 });
    expect(server.exchanges.length).toBe(1);
  });

  it('repeats a question about rights, which changes nothing', async () => {
    server.script((exchange) => {
      if (server.exchanges.length === 1) exchange.refuse(503, 'ServiceUnavailable', { retryAfter: 0 });
      else exchange.answer(201, { status: { allowed: true } });
      return true;
    });
    await makeClient().create(subjectAccessReviews, { spec: {} });
    expect(server.exchanges.length).toBe(2);
  });

  it.each([
    ['a list', (client: KubeClient) => client.list(configMaps)],
    ['a question about rights', (client: KubeClient) => client.create(subjectAccessReviews, { spec: {} })],
  ])('asks again after 500 where it only reads, and twice at most: %s', async (_name, call) => {
    server.refuseAll(500, 'InternalError');
    expect(await thrown(call(makeClient({ random: () => 0 })))).toMatchObject({ status: 500 });
    expect(server.exchanges.length).toBe(3);
  });

  it.each([
    ['a replacement', (client: KubeClient) => client.replace(configMaps, key, draft)],
    ['a merge patch', (client: KubeClient) => client.mergePatch(configMaps, key, {})],
    ['a deletion', (client: KubeClient) => client.delete(configMaps, key)],
  ])('never repeats %s after 500: it may have been carried out', async (_name, call) => {
    refuseOnce(500, 0);
    expect(await thrown(call(makeClient()))).toMatchObject({ status: 500 });
    expect(server.exchanges.length).toBe(1);
  });

  it('gives up after the last retry', async () => {
    server.refuseAll(503, 'ServiceUnavailable', { retryAfter: 0 });
    expect(await thrown(makeClient().list(configMaps, { retries: 2 }))).toMatchObject({ status: 503 });
    expect(server.exchanges.length).toBe(3);
  });

  it('does not begin a wait that would outlast the time limit', async () => {
    refuseOnce(429, 5);
    expect(await thrown(makeClient().list(configMaps, { timeoutMs: 500 }))).toMatchObject({
      retryAfterSeconds: 5,
    });
  });
});

describe('write guard', () => {
  const refusal = new Error('not leading');

  it('keeps every write from going out, and no read', async () => {
    const client = makeClient({
      writeGuard: () => {
        throw refusal;
      },
    });
    server.storage('configmaps').put({ metadata: { name: 'a', namespace: 'ns' } });
    const writes = [
      () => client.create(configMaps, draft, { namespace: 'ns' }),
      () => client.replace(configMaps, key, draft),
      () => client.mergePatch(configMaps, key, {}),
      () => client.apply(configMaps, key, {}, { fieldManager: 'me' }),
      () => client.delete(configMaps, key),
      () => client.request('POST', '/x'),
    ];
    for (const write of writes) await expect(write()).rejects.toBe(refusal);
    expect(server.exchanges).toEqual([]);
    await client.get(configMaps, key);
    await client.list(configMaps);
    await client.delete(configMaps, key, { unguarded: true });
    expect(server.exchanges.length).toBe(3);
  });

  it('stops a write that waited for a connection until leadership had ended', async () => {
    let leading = true;
    let release = () => {};
    server.once(
      ({ path }) => path === '/slow',
      (exchange) => {
        release = () => exchange.answer(200, {});
      },
    );
    const client = makeClient({
      connections: 1,
      writeGuard: () => {
        if (!leading) throw refusal;
      },
    });
    const slow = client.request('GET', '/slow');
    await waitFor('the slow request', () => server.exchanges.length === 1);
    const write = client.mergePatch(configMaps, key, {});
    const outcome = write.catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve));
    leading = false;
    release();
    await slow;
    expect(await outcome).toBe(refusal);
    expect(server.exchanges.length).toBe(1);
  });

  it('asks again before a retry', async () => {
    let asked = 0;
    server.once(
      () => true,
      (exchange) => exchange.refuse(429, 'Busy', { retryAfter: 0 }),
    );
    const client = makeClient({
      writeGuard: () => {
        if (++asked > 2) throw refusal;
      },
    });
    await expect(client.delete(configMaps, key)).rejects.toBe(refusal);
    expect(server.exchanges.length).toBe(1);
  });
});

it('reports each request to who counts them', async () => {
  const seen: string[] = [];
  const client = makeClient({
    observe: ({ method, resource, status, durationMs }) => {
      expect(durationMs).toBeGreaterThanOrEqual(0);
      seen.push(`${method} ${resource?.plural} ${status}`);
    },
  });
  await client.list(configMaps);
  await thrown(client.get(configMaps, key));
  await server.stop();
  await thrown(client.get(configMaps, key));
  expect(seen).toEqual(['GET configmaps 200', 'GET configmaps 404', 'GET configmaps 0']);
});
