import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Behaviour, type GatewayStage, verdictFor } from '../../test/builders/gateway-stage.ts';
import { key, ok, startedStages } from '../../test/builders/started-stages.ts';
import { untilStill, waitFor } from '../../test/fakes/wait-for.ts';
import { credentialHash } from '../credentials/keys/credential-hash.ts';
import { impersonationHeaders } from '../kube/client/impersonation.ts';
import { version } from '../version.ts';
import type { Verdict } from './index/verdict.ts';

const start = startedStages();

const path = '/kubernetes/management/api/v1/namespaces/default/configmaps';
const speakingFor = (user: string, ...groups: string[]): Verdict => ({
  ...verdictFor(),
  identity: { kind: 'user', user, groups },
  impersonation: impersonationHeaders({ user, groups }),
});

/** Builds the verdict on a credential with a scope of its own or above it. */
const limited = (scope: Record<string, unknown>): Verdict => ({
  ...verdictFor(scope),
  impersonation: [
    ...verdictFor().impersonation,
    'impersonate-extra-management.platform.sh%2Faccess-key-limited',
    'true',
  ],
});

/** A request as a client writes it; the connection ends with the answer. */
const request = (line = `GET ${path}`, headers: readonly string[] = [], body = '') =>
  [
    `${line} HTTP/1.1`,
    'Host: a',
    'Connection: close',
    `Authorization: Bearer ${key}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

describe('a request on its way', () => {
  it('reaches the target as that of the user, and nothing of the credential with it', async () => {
    const { send, seen } = await start();
    const answer = await send(request(`GET ${path}?limit=1`, ['Accept: a/b', 'X-Forwarded-For: 10.9.9.9']));
    expect(statusOf(answer)).toBe(200);
    const [head = '', ...lines] = (seen[0] ?? '').trimEnd().split('\r\n');
    expect(head).toBe('GET /api/v1/namespaces/default/configmaps?limit=1 HTTP/1.1');
    expect(lines.filter((line) => !/^(?:host|connection):/i.test(line))).toEqual([
      'accept: a/b',
      'x-forwarded-for: 127.0.0.1',
      'impersonate-user: alice',
      'impersonate-group: dev',
      'authorization: Bearer one',
    ]);
  });

  it('carries its body, in chunks or whole', async () => {
    const { send, seen } = await start();
    await send(request(`POST ${path}`, ['Content-Length: 5'], 'hello'));
    await send(request(`POST ${path}`, ['Transfer-Encoding: chunked'], '5\r\nhello\r\n0\r\n\r\n'));
    for (const text of [seen.slice(0, -1).join(''), seen.at(-1)])
      expect(text).toMatch(/(?:content-length: 5\r\n\r\nhello|chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n)$/i);
  });

  it('is told to go on when it waits for that', async () => {
    const { send } = await start();
    const answer = await send(
      request(`POST ${path}`, ['Expect: 100-continue', 'Content-Length: 5'], 'hello'),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  it('finds its target below the path of the base URL', async () => {
    const { send, seen } = await start(ok, { basePath: '/latchkey' });
    expect(statusOf(await send(request(`GET /latchkey${path}`)))).toBe(200);
    expect(statusOf(await send(request()))).toBe(404);
    expect(seen).toHaveLength(1);
  });
});

it('the version of the gateway is told to everyone, and nothing else of it', async () => {
  const { send, seen } = await start();
  const answer = await send('GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(statusOf(answer)).toBe(200);
  expect(answer.split('\r\n')).toContain(JSON.stringify({ version }));
  for (const other of ['GET /version/', 'GET /healthz', 'GET /metrics', 'GET /readyz', 'POST /version'])
    expect([401, 404]).toContain(
      statusOf(await send(`${other} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)),
    );
  expect(seen).toEqual([]);
});

describe('a request that gets no further than the gateway', () => {
  const withoutKey = (header: string) => request().replace(/Authorization: .*/, header);
  it.each([
    ['no credential', withoutKey('X: 1'), 401],
    ['a credential in the query', withoutKey('X: 1').replace(path, `${path}?access_token=${key}`), 401],
    ['a credential in a cookie', withoutKey(`Cookie: authorization=${key}`), 401],
    ['Basic', withoutKey(`Authorization: Basic ${key}`), 401],
    ['an unknown credential', withoutKey('Authorization: Bearer abc'), 401],
    ['Impersonate-User', request(undefined, ['Impersonate-User: bob']), 403],
    ['impersonate-extra', request(undefined, ['impersonate-extra-scopes: x']), 403],
    ['Impersonate-Uid', request(undefined, ['IMPERSONATE-UID: 1']), 403],
    ['an encoded slash', request('GET /kubernetes/management/api/v1/namespaces%2Fother/secrets/x'), 400],
    ['an encoded letter', request('GET /kubernetes/management/%61pi/v1/secrets'), 400],
    ['dots', request('GET /kubernetes/management/api/v1/../../x'), 400],
    ['encoded dots', request('GET /kubernetes/management/%2e%2e/x'), 400],
    ['an empty segment', request('GET /kubernetes/management//api'), 400],
    ['a backslash', request('GET /kubernetes/management/a\\b'), 400],
    ['NUL', request('GET /kubernetes/management/a%00'), 400],
    ['no target', request('GET /api/v1'), 404],
    ['keys', request('GET /kubernetes/management/apis/management.platform.sh/v9/ownedaccesskeys'), 403],
    [
      'the status of a key',
      request('PUT /kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys/a/status'),
      403,
    ],
    [
      'keys by the old path of watches',
      request('GET /kubernetes/management/apis/management.platform.sh/v9/watch/ownedaccesskeys'),
      403,
    ],
    [
      'a patch of the status of a token',
      request(
        'PATCH /kubernetes/management/apis/management.platform.sh/v1/directclusterendpointtokens/a/status',
      ),
      403,
    ],
    ['h2c', request(`GET ${path}`, ['Upgrade: h2c']).replace('close', 'Upgrade'), 400],
    [
      'a watch over h2c',
      request(`GET ${path}?watch=true`, ['Upgrade: h2c']).replace('close', 'Upgrade'),
      400,
    ],
    [
      'a watch over SPDY',
      request(`GET ${path}?watch=true`, ['Upgrade: SPDY/3.1']).replace('close', 'Upgrade'),
      400,
    ],
    [
      'a watch over a websocket, with a body',
      request(`GET ${path}?watch=true`, ['Upgrade: websocket', 'Content-Length: 1'], 'a').replace(
        'close',
        'Upgrade',
      ),
      400,
    ],
  ])('%s', async (_, text, status) => {
    const { send, seen } = await start();
    const closing = 'GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    const answer = await send(text.includes('Connection: Upgrade') ? text + closing : text);
    expect(statusOf(answer)).toBe(status);
    expect(seen).toEqual([]);
  });

  it('is one that the scope does not allow, also with a field selector or as deletecollection', async () => {
    const { send, seen, know } = await start();
    const rule = {
      verbs: ['get', 'delete'],
      resources: [{ group: '', resources: ['configmaps'] }],
      namespaces: ['a'],
    };
    know(key, verdictFor({ rules: [rule] }));
    const all = '/kubernetes/management/api/v1/configmaps?fieldSelector=metadata.namespace%3Da';
    for (const line of [`GET ${all}`, 'DELETE /kubernetes/management/api/v1/namespaces/a/configmaps'])
      expect(statusOf(await send(request(line)))).toBe(403);
    expect(seen).toEqual([]);
    const one = 'GET /kubernetes/management/api/v1/namespaces/a/configmaps/b';
    expect(statusOf(await send(request(one)))).toBe(200);
  });

  it('gets 503 while the index is stale, and 401 without the reason when its credential is refused and no access key', async () => {
    const { send, state, know } = await start();
    state.problem = 'stale';
    expect(statusOf(await send(request()))).toBe(503);
    state.problem = undefined;
    know(key, { reason: 'Disabled' });
    const answer = await send(request());
    expect([statusOf(answer), answer.includes('disabled')]).toEqual([401, false]);
  });

  it('takes with it what stands behind its body on the same connection', async () => {
    const { send, seen } = await start();
    const refused = request(`POST ${path}`, ['Content-Length: 2'], '{}')
      .replace(key, 'another')
      .replace('Connection: close\r\n', '');
    const answer = await send(refused + request());
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(statusOf(answer)).toBe(401);
    expect(seen).toEqual([]);
  });

  it('gets 500 when something in the gateway fails, and others are served on', async () => {
    const { send, seen, know } = await start();
    know('another-key', { ...verdictFor(), impersonation: [] });
    expect(statusOf(await send(request().replace(key, 'another-key')))).toBe(500);
    expect(seen).toEqual([]);
    expect(statusOf(await send(request()))).toBe(200);
  });

  it('gets 429 above the number of requests at once, and a place again when one is over', async () => {
    const waiting: Socket[] = [];
    const { send } = await start((socket) => void waiting.push(socket), { maxShort: 1 });
    const first = send(request());
    await waitFor('the first request', () => waiting.length === 1);
    expect(await send(request())).toMatch(/^HTTP\/1\.1 429 [\s\S]*retry-after: 1\r\n/);
    waiting[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    expect(statusOf(await first)).toBe(200);
    const third = send(request());
    await waitFor('the second request', () => waiting.length === 2);
    waiting[1]?.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    expect(statusOf(await third)).toBe(200);
  });

  it('gets 503 when it waits too long for a connection, or too many wait', async () => {
    const { send, seen } = await start(() => undefined, { connections: 1, maxWaiting: 1, maxWaitMs: 300 });
    void send(request());
    await waitFor('the request', () => seen.length === 1);
    const second = send(request());
    const third = send(request());
    for (const answer of await Promise.all([second, third]))
      expect(answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n/);
    expect(seen).toHaveLength(1);
  });
});

describe('a review of what one may do', () => {
  const line = 'POST /kubernetes/management/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const review = (verb: string) =>
    JSON.stringify({ spec: { resourceAttributes: { namespace: 'default', verb, resource: 'pods' } } });
  const ask = (verb: string) =>
    request(line, ['Content-Type: application/json', `Content-Length: ${review(verb).length}`], review(verb));
  const onlyGet = verdictFor({
    rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['pods'] }] }],
  });

  it('is answered with no, and why, where the scope does not allow it', async () => {
    const { send, seen, know } = await start();
    know(key, onlyGet);
    const answer = await send(ask('delete'));
    expect(statusOf(answer)).toBe(201);
    const { status } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
    expect(status).toMatchObject({ allowed: false, reason: expect.stringContaining('cannot delete "pods"') });
    expect(seen).toEqual([]);
  });

  it('is answered by the target where it does', async () => {
    const { send, seen, know } = await start();
    know(key, onlyGet);
    expect(statusOf(await send(ask('get')))).toBe(200);
    expect(seen.join('')).toContain(review('get'));
  });

  it('of all rules is marked incomplete', async () => {
    const rules = JSON.stringify({
      kind: 'SelfSubjectRulesReview',
      status: { resourceRules: [{ verbs: ['*'] }] },
    });
    const { send, seen, know } = await start(
      (socket) =>
        void socket.write(`HTTP/1.1 201 Created\r\nContent-Length: ${rules.length}\r\n\r\n${rules}`),
    );
    know(key, onlyGet);
    const answer = await send(
      request(line.replace('access', 'rules'), ['Accept: application/x', 'Content-Length: 2'], '{}'),
    );
    expect(answer).toContain('"incomplete":true');
    expect(seen.join('')).toContain('accept: application/json');
    expect(seen.join('')).not.toContain('application/x');
  });

  it('that is too large is refused', async () => {
    const { send, seen } = await start();
    const body = 'a'.repeat(70_000);
    expect(statusOf(await send(request(line, [`Content-Length: ${body.length}`], body)))).toBe(400);
    expect(seen).toEqual([]);
  });
});

describe('a request to a cluster', () => {
  const inCluster = 'GET /kubernetes/cluster/c/api/v1/pods';

  it('goes through with the groups of the target, for who may use it', async () => {
    const { send, seen } = await start();
    expect(statusOf(await send(request(inCluster)))).toBe(200);
    expect(statusOf(await send(request(inCluster)))).toBe(200);
    expect(seen[0]).toMatch(/^GET \/api\/v1\/pods HTTP/);
    expect(seen[0]).toContain('impersonate-group: dev\r\nimpersonate-group: users\r\n');
  });

  it('is refused to who may not use it, with what is missing', async () => {
    const { send, seen, state } = await start();
    state.mayEnter = false;
    const answer = await send(request(inCluster));
    expect(statusOf(answer)).toBe(403);
    expect(answer).toContain('User \\"alice\\" needs the verb \\"use\\" on clusters/c');
    expect(seen).toEqual([]);
  });

  it('is refused by the scope before anyone is asked', async () => {
    const { send, state, know } = await start();
    state.mayEnter = false;
    know(key, verdictFor({ clusters: [{ cluster: 'other' }] }));
    expect(await send(request(inCluster))).toContain('ERR_SCOPE');
  });

  it('for the kinds that hold credentials is refused where the cluster is the platform, and nowhere else', async () => {
    const { send, seen } = await start();
    const keys = (cluster: string) =>
      `GET /kubernetes/cluster/${cluster}/apis/management.platform.sh/v1/ownedaccesskeys`;
    expect(statusOf(await send(request(keys('platform'))))).toBe(403);
    expect(seen).toEqual([]);
    expect(statusOf(await send(request(keys('c'))))).toBe(200);
  });

  it('gets the same answer from a user who may not, where there is no such target', async () => {
    const { send, state, seen } = await start();
    state.mayEnter = false;
    const answer = await send(request('GET /kubernetes/project/p/virtualcluster/v/api'));
    expect(statusOf(answer)).toBe(403);
    expect(answer).toContain('User \\"alice\\" needs the verb \\"use\\" on virtualclusterinstances/v in p-p');
    expect(seen).toEqual([]);
  });

  it('gets 404 where there is no such target', async () => {
    const { send } = await start();
    expect(statusOf(await send(request('GET /kubernetes/project/p/virtualcluster/v/api')))).toBe(404);
  });
});

describe('the answer of a target', () => {
  it.each([
    [
      'a redirect to another host',
      'HTTP/1.1 302 Found\r\nLocation: https://evil.example/\r\nContent-Length: 0\r\n\r\n',
      502,
    ],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok', 502],
    [
      'length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      502,
    ],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n', 502],
    [
      'an unasked switch of protocols',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
      502,
    ],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'X: aaaaaaaaaaaaaaaa\r\n'.repeat(10_000)}`, 502],
  ])('that is %s becomes %i', async (_, text, status) => {
    const { send } = await start((socket) => void socket.write(text));
    expect(statusOf(await send(request()))).toBe(status);
  });

  it('that ends too early is cut off, so that no one takes the part for the whole', async () => {
    const { send } = await start(
      (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'),
    );
    const answer = await send(request());
    expect(answer).toMatch(/content-length: 10\r\n/i);
    expect(answer.endsWith('half')).toBe(true);
  });

  it('with more bytes than announced passes on only those announced', async () => {
    const { send } = await start(
      (socket) =>
        void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\nevil'),
    );
    expect(await send(request())).not.toContain('evil');
  });

  it('that is a hint before the answer is left out', async () => {
    const { send } = await start(
      (socket) =>
        void socket.write(
          'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
        ),
    );
    expect(await send(request())).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\nok$/);
  });

  it('sets no cookie, and a redirect on the same server stays below the target', async () => {
    const { send } = await start(
      (socket) =>
        void socket.write(
          'HTTP/1.1 301 Moved\r\nLocation: /openapi/v3?hash=1\r\nSet-Cookie: a=1\r\nAudit-Id: 7\r\nContent-Length: 0\r\n\r\n',
        ),
    );
    const answer = await send(request());
    expect(answer).toMatch(
      /^HTTP\/1\.1 301 [\s\S]*Location: \/kubernetes\/management\/openapi\/v3\?hash=1\r\n/,
    );
    expect(answer).toContain('Audit-Id: 7');
    expect(answer).not.toContain('Set-Cookie');
  });

  it('of 429 is for the client, who waits as it says', async () => {
    const busy =
      'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nWarning: 299 - "busy"\r\nContent-Length: 2\r\n\r\nno';
    const { send, seen } = await start((socket) => void socket.write(busy));
    const answer = await send(request());
    expect(answer).toMatch(
      /^HTTP\/1\.1 429 [\s\S]*Retry-After: 7\r\nWarning: 299 - "busy"\r\n[\s\S]*\r\n\r\nno$/,
    );
    expect(seen).toHaveLength(1);
  });

  it('of 401 is about our token: the next one is tried once, and the client never sees it', async () => {
    const refuse = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno';
    const { send, seen, state } = await start((socket, text) =>
      text.includes('Bearer two') ? ok(socket, text) : void socket.write(refuse),
    );
    state.tokens.push('two');
    expect(statusOf(await send(request()))).toBe(200);
    expect(seen).toHaveLength(2);
  });

  it('of 401 to several requests at once, all sent with the same token, is seen by none of them', async () => {
    const refused: Socket[] = [];
    const refuse = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno';
    const { send, state } = await start((socket, text) => {
      if (text.includes('Bearer two')) ok(socket, text);
      else if (refused.push(socket) === 3) for (const one of refused) one.write(refuse);
    });
    state.tokens.push('two');
    const answers = await Promise.all([request(), request(), request()].map(send));
    expect(answers.map(statusOf)).toEqual([200, 200, 200]);
  });

  it('of 401 becomes 503 when there is no other token, or a body was sent', async () => {
    const refuse = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno';
    const { send } = await start((socket) => void socket.write(refuse));
    expect(statusOf(await send(request()))).toBe(503);
    expect(statusOf(await send(request(`POST ${path}`, ['Content-Length: 2'], '{}')))).toBe(503);
  });

  it('that comes before the whole body of the request ends the connection: nothing can follow', async () => {
    const { send } = await start(
      (socket) => void socket.write('HTTP/1.1 413 Payload Too Large\r\nContent-Length: 2\r\n\r\nno'),
    );
    const upload = request(`POST ${path}`, ['Content-Length: 10'], 'half').replace(
      'Connection: close\r\n',
      '',
    );
    const answer = await send(upload);
    expect([statusOf(answer), /^connection: close/im.test(answer)]).toEqual([413, true]);
  });

  it('is 503 where no one listens', async () => {
    const { send } = await start((socket) => void socket.destroy());
    expect(statusOf(await send(request()))).toBe(503);
  });
});

describe('a short request that stands still', () => {
  const options = { maxStallMs: 300 };

  it('with half of its body is answered with 504, and frees its connection to the target', async () => {
    let isClosed = false;
    const { send } = await start((socket) => {
      socket.on('close', () => {
        isClosed = true;
      });
    }, options);
    const answer = await send(request(`POST ${path}`, ['Content-Length: 10'], 'half'));
    expect(statusOf(answer)).toBe(504);
    await waitFor('the end at the target', () => isClosed);
  });

  it('because the target says nothing is answered with 504', async () => {
    const { send } = await start(() => undefined, options);
    expect(statusOf(await send(request()))).toBe(504);
  });

  it('in the middle of an answer is cut', async () => {
    const { send } = await start(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'),
      options,
    );
    expect(await send(request())).toMatch(/half$/);
  });

  it('is not one that goes on slowly', async () => {
    const { send } = await start(
      async (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n');
        for (const part of 'slowly') {
          await new Promise((resolve) => setTimeout(resolve, 200));
          socket.write(part);
        }
        // On a busy machine each part comes late.
      },
      { maxStallMs: 1_000 },
    );
    expect(await send(request())).toMatch(/slowly$/);
  });

  it('is not a watch', async () => {
    const { send } = await start(async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      await new Promise((resolve) => setTimeout(resolve, 700));
      socket.write('1\r\na\r\n0\r\n\r\n');
    }, options);
    expect(await send(request(`GET ${path}?watch=true`))).toMatch(/a\r\n0\r\n\r\n$/);
  });
});

describe('the count of refusals', () => {
  const counted = (code: string) => `latchkey_gateway_refusals_total{error="${code}"} 1\n`;
  const elsewhere = 'HTTP/1.1 302 Found\r\nLocation: https://evil.example/\r\nContent-Length: 0\r\n\r\n';

  it.each<[string, Behaviour]>([
    ['ERR_UPSTREAM_ANSWER', (socket) => void socket.write(elsewhere)],
    ['ERR_UPSTREAM_UNAVAILABLE', (socket) => void socket.destroy()],
    ['ERR_UPSTREAM_TIMEOUT', () => undefined],
  ])('has %s, which takes the place of an answer of the target', async (code, behaviour) => {
    const { send, metrics } = await start(behaviour, { maxStallMs: 300 });
    expect(await send(request())).toContain(code);
    expect(await metrics()).toContain(counted(code));
  });

  it('has requests that waited in vain for a connection to the target', async () => {
    const options = { connections: 2, maxWaitMs: 100, maxStallMs: 600 };
    const { send, metrics } = await start(() => undefined, options);
    const answers = await Promise.all([request(), request()].map(send));
    expect(answers.map(statusOf).sort()).toEqual([503, 504]);
    for (const code of ['ERR_UPSTREAM_BUSY', 'ERR_UPSTREAM_TIMEOUT'])
      expect(await metrics()).toContain(counted(code));
  });

  it('has no answers that end half way: the client saw no error', async () => {
    const half: Behaviour = (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
    const { send, metrics } = await start(half);
    expect(statusOf(await send(request()))).toBe(200);
    expect(await metrics()).not.toContain('latchkey_gateway_refusals_total{');
  });
});

describe('what is still under way when its credential ends', () => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

  it.each(['follow=true', 'follow', '%66ollow=1', 'a=b&foll%6Fw', ''])(
    'is cut when it reads a log with "%s"',
    async (query) => {
      const stage = await start((socket) => void socket.write(chunked));
      const answer = stage.send(
        request(`GET /kubernetes/management/api/v1/namespaces/a/pods/b/log?${query}`),
      );
      await waitFor('the request', () => stage.seen.length === 1);
      stage.state.verdicts.clear();
      stage.open.recheck(credentialHash(key));
      expect(await answer).not.toContain('\r\n0\r\n\r\n');
    },
  );

  it.each([
    ['at once', (stage: GatewayStage) => stage.open.recheck(credentialHash(key))],
    ['within a second', () => undefined],
  ])('is cut %s when its body is not all there', async (_, announce) => {
    const stage = await start(() => undefined);
    const answer = stage.send(request(`POST ${path}`, ['Content-Length: 10'], 'half'));
    await waitFor('half of the body', () => stage.seen.join('').includes('half'));
    stage.state.verdicts.clear();
    announce(stage);
    expect(await answer).toBe('');
  });
});

describe('a watch', () => {
  const watchHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  const watchPath = `GET ${path}?watch=true`;

  /** A client that has received the head of its watch. */
  async function watching(stage: GatewayStage) {
    const received: string[] = [];
    const socket = connect(stage.port, '127.0.0.1', () => void socket.write(request(watchPath)));
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.on('error', () => undefined).on('data', (chunk) => void received.push(chunk.toString()));
    await waitFor('the head of the watch', () => received.join('').includes('200 OK'));
    return { socket, received, closed };
  }

  it('passes on each event at once', async () => {
    let target: Socket | undefined;
    const stage = await start((socket) => {
      target = socket;
      socket.write(watchHead);
    });
    const { received } = await watching(stage);
    target?.write('7\r\n{"a":1}\r\n');
    await waitFor('the event', () => received.join('').includes('{"a":1}'));
  });

  it('ends at the target when the client leaves', async () => {
    let isClosed = false;
    const stage = await start((socket) => {
      socket.on('close', () => {
        isClosed = true;
      });
      socket.write(watchHead);
    });
    const { socket } = await watching(stage);
    socket.destroy();
    await waitFor('the end at the target', () => isClosed);
  });

  it.each<[string, (stage: GatewayStage) => void]>([
    ['the credential is refused', (stage) => stage.know(key, { reason: 'Disabled' })],
    ['its scope no longer allows it', (stage) => stage.know(key, verdictFor({}))],
    ['the credential is gone', ({ state }) => state.verdicts.clear()],
    ['it speaks for other groups', (stage) => stage.know(key, speakingFor('alice', 'ops'))],
    ['it speaks for someone else', (stage) => stage.know(key, speakingFor('bob'))],
    [
      'it is limited, and the target was told that it is not',
      (stage) => stage.know(key, limited({ rules: [{}] })),
    ],
  ])('is cut at once when %s', async (_, change) => {
    const stage = await start((socket) => void socket.write(watchHead));
    const { closed } = await watching(stage);
    change(stage);
    stage.open.recheck(credentialHash(key));
    await closed;
  });

  it.each<[string, (stage: GatewayStage) => void]>([
    ['its credential ends by the clock', ({ state }) => state.verdicts.clear()],
    [
      'the index is stale',
      ({ state }) => {
        state.problem = 'stale';
      },
    ],
  ])('is cut within a second when %s', async (_, change) => {
    const stage = await start((socket) => void socket.write(watchHead));
    const { closed } = await watching(stage);
    change(stage);
    await closed;
  });

  it('under another spelling of its query, or a short request, is cut as well', async () => {
    const stage = await start((socket) => void socket.write(watchHead));
    const log = 'GET /kubernetes/management/api/v1/namespaces/a/pods/b/log?%66ollow=true';
    const answers = [stage.send(request(log)), stage.send(request())];
    await waitFor('both requests', () => stage.seen.length === 2);
    stage.state.verdicts.clear();
    stage.open.recheck(credentialHash(key));
    for (const answer of await Promise.all(answers)) expect(answer).not.toMatch(/\r\n0\r\n\r\n$/);
  });

  it('goes on when its credential changes and is still good', async () => {
    const stage = await start((socket) => void socket.write(watchHead));
    const { socket } = await watching(stage);
    stage.know(key, verdictFor({ rules: [{ verbs: ['watch'] }] }));
    stage.open.recheck(credentialHash(key));
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it('is held back at the target while the client does not read', async () => {
    const chunk = `10000\r\n${'a'.repeat(65_536)}\r\n`;
    let written = 0;
    const stage = await start((socket) => {
      socket.write(watchHead);
      const fill = () => {
        while (written < 2_000 && socket.write(chunk)) written += 1;
      };
      socket.on('drain', fill);
      fill();
    });
    const { socket } = await watching(stage);
    socket.pause();
    await waitFor('the first chunk', () => written > 0);
    await untilStill('the target', () => written);
    expect(written).toBeLessThan(2_000);
    const before = written;
    socket.resume();
    await waitFor('more chunks', () => written > before);
    socket.destroy();
  });
});
