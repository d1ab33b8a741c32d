import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Behaviour, type GatewayStage, verdictFor } from '../../test/builders/gateway-stage.ts';
import { key, startedStages } from '../../test/builders/started-stages.ts';
import { untilStill, waitFor } from '../../test/fakes/wait-for.ts';
import { credentialHash } from '../credentials/keys/credential-hash.ts';
import type { Verdict } from './index/verdict.ts';

const start = startedStages();

const statusOf = (answer: string): number => Number(answer.split(' ')[1]);
const bearer = `Authorization: Bearer ${key}`;

describe('a namespace that is to be made in a space', () => {
  const answering =
    (status: number): Behaviour =>
    (socket) =>
      void socket.write(`HTTP/1.1 ${status} X\r\nContent-Length: 2\r\n\r\n{}`);
  const create = (body: string, type = 'application/json', path = 'namespaces') =>
    [
      `POST /kubernetes/project/p/space/s/api/v1/${path} HTTP/1.1`,
      ...['Host: a', 'Connection: close', bearer, `Content-Type: ${type}`],
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
  const named = (name: string) => JSON.stringify({ metadata: { name } });
  const whole = { spaces: [{ project: 'p', space: 's' }] };

  it.each<[string, string, number, number, RegExp]>([
    ['its own', create(named('shop')), 200, 409, /"reason":"AlreadyExists".*"name":"shop"/],
    ['its own, in YAML', create('metadata: {name: shop}', 'application/yaml'), 200, 409, /AlreadyExists/],
    [
      'its own, in protobuf',
      create('k8s\0\n\x06\n\x04shop', 'application/vnd.kubernetes.protobuf'),
      200,
      409,
      /AlreadyExists/,
    ],
    ['its own, which the user may not see', create(named('shop')), 403, 409, /AlreadyExists/],
    ['its own, which is not there', create(named('shop')), 404, 403, /does not exist in its cluster/],
    [
      'its own, of which the cluster says nothing',
      create(named('shop')),
      500,
      503,
      /ERR_UPSTREAM_UNAVAILABLE/,
    ],
    ['another', create(named('shop2')), 200, 403, /which is the namespace \\"shop\\" of its cluster/],
    ['no name', create('{}'), 200, 403, /which is the namespace/],
    ['what is no object', create('[', 'application/json'), 200, 403, /which is the namespace/],
  ])('is not made: %s', async (...row) => {
    const [, text, found, status, words] = row;
    const { send, seen, know } = await start(answering(found));
    know(key, verdictFor(whole));
    const answer = await send(text);
    expect([statusOf(answer), answer]).toEqual([status, expect.stringMatching(words)]);
    expect(seen.filter((sent) => !sent.startsWith('GET /api/v1/namespaces/shop HTTP'))).toEqual([]);
  });

  it.each<[string, string, Verdict]>([
    ['by a credential for another space', create(named('shop')), verdictFor({ spaces: [] })],
    ['at the path of one', create(named('shop'), 'application/json', 'namespaces/shop'), verdictFor(whole)],
    ['in another namespace', create(named('a'), 'application/json', 'namespaces/b/configmaps'), verdictFor()],
  ])('is not even asked for: %s', async (_, text, verdict) => {
    const { send, seen, know } = await start();
    know(key, verdict);
    expect(await send(text)).toMatch(/^HTTP\/1\.1 403 [\s\S]*ERR_SCOPE/);
    expect(seen).toEqual([]);
  });
});

describe('an access review', () => {
  const line = 'POST /kubernetes/management/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const onlyGet = { rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['pods'] }] }] };
  const review = (type: string | undefined, body: string | Buffer, ...headers: string[]) =>
    [
      `${line} HTTP/1.1`,
      'Host: a',
      'Connection: close',
      bearer,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
      ...headers,
      `Content-Length: ${body.length}`,
      '',
      body.toString('latin1'),
    ].join('\r\n');
  const attributes = (verb: string) => ({ namespace: 'default', verb, resource: 'pods' });
  const json = (verb: string) => JSON.stringify({ spec: { resourceAttributes: attributes(verb) } });
  const yaml = (verb: string) =>
    `# as in a file\nkind: SelfSubjectAccessReview\nspec:\n  resourceAttributes: {verb: ${verb}, resource: pods}\n`;

  async function startScoped() {
    const stage = await start();
    stage.know(key, verdictFor(onlyGet));
    return stage;
  }

  it.each([
    ['JSON', review('application/json', json('delete'))],
    ['JSON with a charset, in capitals', review('Application/JSON; charset=utf-8', json('delete'))],
    ['JSON without a type', review(undefined, json('delete'))],
    ['YAML', review('application/yaml', yaml('delete'))],
    ['JSON in YAML', review('application/yaml', json('delete'))],
    [
      'two specs, of which readers take one or both',
      review(
        'application/json',
        `{"spec":${JSON.stringify({ resourceAttributes: attributes('get') })},${json('delete').slice(1)}`,
      ),
    ],
    ['aliases in YAML', review('application/yaml', 'a: &a {verb: delete}\nspec: {resourceAttributes: *a}\n')],
    ['a text that looks like a date', review('application/yaml', yaml('2026-01-01'))],
    [
      'a field that no one knows',
      review('application/json', json('delete').replace('"verb"', '"more":5,"verb"')),
    ],
  ])('in %s is answered with no where the scope says no', async (_, text) => {
    const { send, seen } = await startScoped();
    const answer = await send(text);
    expect(statusOf(answer)).toBe(201);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).status).toMatchObject({ allowed: false });
    expect(seen).toEqual([]);
  });

  it.each([
    ['CBOR', review('application/cbor', Buffer.from('d9d9f7a0', 'hex'))],
    ['a type of no one', review('text/plain', json('delete'))],
    ['a form', review('application/x-www-form-urlencoded', 'spec=a')],
    ['protobuf that cannot be read', review('application/vnd.kubernetes.protobuf', 'k8s\0\x0a\x01\x01')],
    ['JSON that is called protobuf', review('application/vnd.kubernetes.protobuf', json('delete'))],
    ['YAML that is called JSON', review('application/json', yaml('delete'))],
    ['JSON with something behind it', review('application/json', `${json('delete')}{}`)],
    ['half of it', review('application/json', json('delete').slice(0, -1))],
    ['two documents', review('application/yaml', `${yaml('get')}---\n${yaml('delete')}`)],
    ['endless brackets', review('application/json', '['.repeat(60_000))],
    ['no body', review('application/json', '')],
  ])('in %s is refused rather than answered without the scope', async (_, text) => {
    const { send, seen } = await startScoped();
    const answer = await send(text);
    expect(answer).toMatch(/^HTTP\/1\.1 415 [\s\S]*application\/yaml/);
    expect(seen).toEqual([]);
  });

  it('reaches the target as it was understood', async () => {
    const { send, seen } = await startScoped();
    const twice = json('delete').replace('"verb"', '"verb":"list","verb"').replace('delete', 'get');
    expect(statusOf(await send(review('application/yaml', yaml('get'), 'Content-Encoding: x')))).toBe(200);
    expect(statusOf(await send(review('application/json', twice)))).toBe(200);
    expect(seen.join('')).toMatch(/content-type: application\/json\r\n/);
    expect(seen.join('')).not.toMatch(/as in a file|"list"|content-encoding/);
    expect(seen.join('').match(/"resourceAttributes":\{[^}]*"verb":"get"/g)).toHaveLength(2);
  });

  it.each([
    ['application/yaml', 'application/yaml'],
    ['application/yaml, application/json', 'application/json'],
    ['application/cbor', 'application/json'],
    ['application/vnd.kubernetes.protobuf', 'application/json'],
    ['*/*', 'application/json'],
  ])('is answered for "%s" in %s', async (accept, type) => {
    const { send } = await startScoped();
    const answer = await send(review('application/yaml', yaml('delete'), `Accept: ${accept}`));
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 201 [\\s\\S]*content-type: ${type}\r\n`));
    expect(answer).toMatch(/"?allowed"?: ?false/);
  });

  it('of all rules that the target refuses brings what it said', async () => {
    const refusal = JSON.stringify({ kind: 'Status', message: 'a namespace is needed', code: 422 });
    const stage = await start(
      (socket) => void socket.write(`HTTP/1.1 422 No\r\nContent-Length: ${refusal.length}\r\n\r\n${refusal}`),
    );
    stage.know(key, verdictFor(onlyGet));
    const answer = await stage.send(
      review('application/json', '{}').replace('accessreviews', 'rulesreviews'),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 422 [\s\S]*a namespace is needed/);
  });
});

describe('the status of an answer', () => {
  it.each([
    [200, '200'],
    [418, '418'],
    [499, 'other'],
    [599, 'other'],
  ])('of %i is counted as %s: a target makes no labels', async (status, code) => {
    const { send, metrics } = await start(
      (socket) => void socket.write(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`),
    );
    const get = `GET /kubernetes/management/api HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${bearer}\r\n\r\n`;
    expect(statusOf(await send(get))).toBe(status);
    await expect.poll(metrics).toContain(`code="${code}"`);
  });

  it.each([600, 666, 999])('of %i means nothing to a client: 502', async (status) => {
    const { send, metrics } = await start(
      (socket) => void socket.write(`HTTP/1.1 ${status} X\r\nContent-Length: 4\r\n\r\nevil`),
    );
    const answer = await send(own(`GET ${management}/api`));
    expect(answer).toMatch(/^HTTP\/1\.1 502 [\s\S]*ERR_UPSTREAM_ANSWER/);
    expect(answer).not.toContain('evil');
    await expect.poll(metrics).toContain('code="502"');
  });

  it.each(['099', '000', '20', '2000', '-1', '0x1'])(
    'of %s is none that goes to the client',
    async (status) => {
      const { send, metrics } = await start(
        (socket) => void socket.write(`HTTP/1.1 ${status} X\r\nContent-Length: 4\r\n\r\nevil`),
        { maxStallMs: 300 },
      );
      const get = `GET /kubernetes/management/api HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${bearer}\r\n\r\n`;
      const answer = await send(get);
      expect([502, 503, 504]).toContain(statusOf(answer));
      expect(answer).not.toContain('evil');
      expect(await metrics()).not.toContain(`code="${status}"`);
    },
  );
});

describe('a watch in a target', () => {
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  const watch = [
    'GET /kubernetes/cluster/c/api/v1/pods?watch=true HTTP/1.1',
    'Host: a',
    'Connection: close',
    bearer,
    '',
    '',
  ].join('\r\n');

  /** A client that has received the head of its watch. */
  async function watching(stage: GatewayStage, text = watch) {
    const received: string[] = [];
    const socket = connect(stage.port, '127.0.0.1', () => void socket.write(text));
    const closed = new Promise<'closed'>((resolve) => socket.on('close', () => resolve('closed')));
    socket.on('error', () => undefined).on('data', (chunk) => void received.push(chunk.toString()));
    await waitFor('the head of the watch', () => received.join('').includes('200 OK'));
    return { socket, received, closed };
  }

  it.each([
    ['a watch', watch],
    ['a log', watch.replace('pods?watch=true', 'namespaces/a/pods/b/log?follow=true')],
    ['a proxy', watch.replace('pods?watch=true', 'namespaces/a/services/b/proxy/')],
  ])('or %s ends when its user may no longer use the target', async (_, text) => {
    const stage = await start((socket) => void socket.write(head), { maxStayMs: 1_500 });
    const { closed, received } = await watching(stage, text);
    stage.state.mayEnter = false;
    expect(await closed).toBe('closed');
    expect(received.join('')).not.toContain('\r\n0\r\n');
  });

  it('ends when the target was deleted and made again under its name: it shows what the former one holds', async () => {
    const stage = await start((socket) => void socket.write(head));
    const { closed, received } = await watching(stage);
    const own = await watching(stage, watch.replace('/cluster/c/', '/management/'));
    stage.state.uid = 'second';
    expect(await closed).toBe('closed');
    expect(received.join('')).not.toContain('\r\n0\r\n');
    const again = await watching(stage);
    expect([own.socket.destroyed, again.socket.destroyed]).toEqual([false, false]);
    for (const { socket } of [own, again]) socket.destroy();
  });

  it('ends when no one can say whether its user still may, and not before', async () => {
    const stage = await start((socket) => void socket.write(head), { maxStayMs: 1_500 });
    const { closed } = await watching(stage);
    const began = performance.now();
    stage.state.isAway = true;
    expect(await closed).toBe('closed');
    expect(performance.now() - began).toBeGreaterThan(700);
  });

  it('goes on while its user may, as one of the platform itself does', async () => {
    const stage = await start((socket) => void socket.write(head), { maxStayMs: 1_200 });
    const inCluster = await watching(stage);
    const before = stage.state.asked;
    const own = await watching(stage, watch.replace('/cluster/c/', '/management/'));
    await waitFor('three more answers', () => stage.state.asked >= before + 3);
    stage.state.mayEnter = false;
    await inCluster.closed;
    expect(own.socket.destroyed).toBe(false);
    own.socket.destroy();
  });
});

const management = '/kubernetes/management';
const maps = `${management}/api/v1/namespaces/default/configmaps`;

/** A request without a credential; the connection ends with the answer. */
const bare = (line: string, headers: readonly string[] = [], body = '') =>
  [`${line} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers, '', body].join('\r\n');
const own = (line: string, headers: readonly string[] = [], body = '') =>
  bare(line, [bearer, ...headers], body);

describe("a request is a stranger's", () => {
  it.each<[string, readonly string[]]>([
    ['no header', []],
    ['an empty header', ['Authorization:']],
    ['the scheme alone', ['Authorization: Bearer ']],
    ['two spaces', [`Authorization: Bearer  ${key}`]],
    ['a tab', [`Authorization: Bearer\t${key}`]],
    ['Basic', [`Authorization: Basic ${Buffer.from(`a:${key}`).toString('base64')}`]],
    ['Negotiate', [`Authorization: Negotiate ${key}`]],
    ['no scheme', [`Authorization: ${key}`]],
    ['two headers', [bearer, bearer]],
    ['a good header behind a bad one', ['Authorization: Bearer another', bearer]],
    ['a bad header behind a good one', [bearer, 'Authorization: Bearer another']],
    ['two credentials in one header', [`${bearer}, Bearer another`]],
    ['a comma behind', [`${bearer},`]],
    ['one character changed', [`Authorization: Bearer ${key.slice(0, -1)}x`]],
    ['one character less', [`Authorization: Bearer ${key.slice(0, -1)}`]],
    ['other letters', [`Authorization: Bearer ${key.toUpperCase()}`]],
    ['the prefix only', ['Authorization: Bearer lk_']],
    ['its hash', [`Authorization: Bearer ${credentialHash(key)}`]],
    ['bytes above ASCII', [`${bearer}\xe4`]],
    ['9 KiB', [`Authorization: Bearer ${'a'.repeat(9_216)}`]],
    ['X-Api-Key', [`X-Api-Key: ${key}`]],
    ['X-Auth-Token', [`X-Auth-Token: ${key}`]],
    ['Proxy-Authorization', [`Proxy-${bearer}`]],
    ['X-Forwarded-Authorization', [`X-Forwarded-${bearer}`]],
    ['an underscore in the name', [`X_${bearer}`]],
    ['a cookie', [`Cookie: token=${key}; authorization=Bearer ${key}`]],
    ['X-Remote-User', ['X-Remote-User: alice', 'X-Remote-Group: system:masters']],
    ['the certificate of a proxy', ['X-SSL-Client-Cert: alice', 'X-Client-Verify: SUCCESS']],
  ])('with %s', async (_, headers) => {
    const { send, seen, state } = await start();
    const answer = await send(bare(`GET ${maps}`, headers));
    expect(answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*"kind":"Status"/);
    expect(answer).not.toContain(key);
    expect([seen, state.used]).toEqual([[], 0]);
  });

  it.each(['access_token', 'token', 'authorization', 'Authorization'])(
    'with its key as %s in the query',
    async (name) => {
      const { send, seen } = await start();
      expect(statusOf(await send(bare(`GET ${maps}?${name}=${key}`)))).toBe(401);
      expect(seen).toEqual([]);
    },
  );

  it('with a key in the trailers, which are no headers', async () => {
    const { send, seen } = await start();
    const chunks = ['Transfer-Encoding: chunked', 'Trailer: Authorization'];
    const text = bare(`POST ${maps}`, chunks, `2\r\n{}\r\n0\r\n${bearer}\r\n\r\n`);
    expect(statusOf(await send(text))).toBe(401);
    expect(seen).toEqual([]);
  });

  it('with a key of a megabyte, which is not read to its end', async () => {
    const { send, seen } = await start();
    const answer = await send(bare(`GET ${maps}`, [`Authorization: Bearer ${'a'.repeat(2 ** 20)}`]));
    // The server may cut the rest before the client has read the answer.
    expect(['', '431']).toContain(answer.slice(9, 12));
    expect(seen).toEqual([]);
  });

  it('gets the same answer whatever is wrong with a credential that is no access key', async () => {
    const { send, know } = await start();
    const answers = new Set<string>();
    for (const reason of ['Disabled', 'Expired', 'Deleting', 'NotForGateway', 'DuplicateKey'] as const) {
      know('a.token', { reason });
      answers.add(await send(bare(`GET ${maps}`, ['Authorization: Bearer a.token'])));
    }
    answers.add(await send(bare(`GET ${maps}`, ['Authorization: Bearer b.token'])));
    const texts = [...answers].map((answer) => answer.replace(/^Date: .*$/im, ''));
    expect(new Set(texts).size).toBe(1);
  });

  it("and what follows on its connection is one's as well", async () => {
    const { send, seen } = await start();
    const first = bare(`GET ${maps}`).replace('Connection: close\r\n', '');
    const answer = await send(first + own(`GET ${maps}`));
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(seen).toEqual([]);
  });

  it('is not told to send its body', async () => {
    const { send } = await start();
    const answer = await send(bare(`POST ${maps}`, ['Expect: 100-continue', 'Content-Length: 1000000']));
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe('a holder cannot speak for someone else', () => {
  it.each([
    'Impersonate-User: bob',
    'impersonate-user: bob',
    'IMPERSONATE-GROUP: system:masters',
    'Impersonate-Uid: 1',
    'Impersonate-Extra-Scopes: x',
    'Impersonate-Extra-management.platform.sh%2Faccess-key: other/1',
    'Impersonate_User: bob',
    'Impersonate-User:',
    'Impersonate-Anything: x',
  ])('with %s', async (header) => {
    const { send, seen } = await start();
    expect(statusOf(await send(own(`GET ${maps}`, [header])))).toBe(403);
    expect(seen).toEqual([]);
  });

  it.each<[string, readonly string[]]>([
    ['Connection that names our headers', ['Connection: Impersonate-User, Impersonate-Group, Authorization']],
    [
      'headers of a front proxy',
      ['X-Remote-User: bob', 'X-Remote-Group: system:masters', 'X-Remote-Extra-A: b'],
    ],
    ['a client address', ['X-Forwarded-For: 10.0.0.1', 'Forwarded: for=10.0.0.1', 'X-Real-Ip: 10.0.0.1']],
    ['another host', ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: http']],
    ['an audit ID', ['Audit-ID: 00000000-0000-0000-0000-000000000000']],
    ['a cookie', ['Cookie: a=b']],
    [
      'another method',
      ['X-HTTP-Method-Override: DELETE', 'X-Method-Override: DELETE', 'X-HTTP-Method: DELETE'],
    ],
    ['parameters of HTTP/2', ['HTTP2-Settings: AAMAAABkAAQ']],
    ['words to a proxy', ['Proxy-Authorization: Basic a', 'Proxy-Connection: keep-alive', 'TE: trailers']],
  ])('with %s', async (_, headers) => {
    const { send, seen } = await start();
    expect(statusOf(await send(own(`GET ${maps}`, headers)))).toBe(200);
    const [head = '', ...lines] = (seen[0] ?? '').trimEnd().split('\r\n');
    expect(head).toBe('GET /api/v1/namespaces/default/configmaps HTTP/1.1');
    expect(lines.filter((line) => !/^(?:host|connection):/i.test(line))).toEqual([
      'x-forwarded-for: 127.0.0.1',
      'impersonate-user: alice',
      'impersonate-group: dev',
      'authorization: Bearer one',
    ]);
  });

  it('in the trailers of a body', async () => {
    const { send, seen } = await start();
    const trailers = 'Impersonate-User: bob\r\nAuthorization: Bearer x\r\n';
    const text = own(
      `POST ${maps}`,
      ['Transfer-Encoding: chunked', 'Trailer: Impersonate-User'],
      `2\r\n{}\r\n0\r\n${trailers}\r\n`,
    );
    expect(statusOf(await send(text))).toBe(200);
    expect(seen.join('')).not.toMatch(/bob|Bearer x|trailer/i);
  });
});

describe('a path', () => {
  it.each([
    '/api/v1/namespaces%2Fother/secrets/x',
    '/api/v1/namespaces%2fother/secrets/x',
    '/api/v1/namespaces%5Cother/secrets/x',
    '/%61pi/v1/secrets',
    '/api/v1/name%73paces/default/secrets',
    '/api/v1/namespaces/%64efault/secrets',
    '/api/v1/namespaces/default/secret%73',
    '/%2e%2e/api',
    '/..%2fapi',
    '/api/..',
    '/api/./v1',
    '/api/%2e/v1',
    '/api/.%2e/v1',
    '//api/v1/secrets',
    '/api//v1/secrets',
    '/api/v1/namespaces/default//secrets',
    '/api\\v1',
    '/api/v1/%00',
    '/api/v1/%0d%0aX:%20y',
    '/api/v1/%7f',
    '/api/v1/%zz',
    '/api/v1/%2',
    '/api/v1/%c0%af',
    '/api/v1/%ff',
    '/api/v1/secrets#',
  ])('%s can be read in two ways: 400', async (text) => {
    const { send, seen } = await start();
    const answer = await send(own(`GET ${management}${text}`));
    expect(statusOf(answer)).toBe(400);
    expect(answer).not.toMatch(/^X: y/m);
    expect(seen).toEqual([]);
  });

  it.each([
    ['parameters', '/api/v1/namespaces/default;a=b/secrets'],
    ['an encoded percent sign', '/api/v1/namespaces/other%252fdefault/secrets'],
    ['an encoded semicolon', '/api/v1/namespaces/default%3bother/secrets'],
    ['a plus', '/api/v1/namespaces/default+/secrets'],
    ['an encoded space', '/api/v1/namespaces/default%20/secrets'],
    ['another letter case', '/api/v1/namespaces/Default/secrets'],
    ['another kind of dot', '/api/v1/namespaces/default%E3%80%82/secrets'],
    ['the name of another resource', '/api/v1/namespaces/default/secretsx'],
  ])('with %s is taken literally, by the scope as by the target', async (_, text) => {
    const { send, seen, know } = await start();
    expect(statusOf(await send(own(`GET ${management}${text}`)))).toBe(200);
    expect(seen[0]).toContain(`GET ${text} HTTP/1.1\r\n`);
    const resources = [{ group: '', resources: ['secrets'] }];
    know(key, verdictFor({ rules: [{ verbs: ['list'], resources, namespaces: ['default', 'other'] }] }));
    expect(statusOf(await send(own(`GET ${management}${text}`)))).toBe(403);
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['a host', 'GET http://evil.example/kubernetes/management/api'],
    ['our host', 'GET https://a/kubernetes/management/api'],
    ['a star', 'OPTIONS *'],
    ['no slash', 'GET kubernetes/management/api'],
  ])('in front of which stands %s is refused', async (_, line) => {
    const { send, seen } = await start();
    expect(statusOf(await send(own(line)))).toBe(400);
    expect(seen).toEqual([]);
  });

  it.each([
    `${management}x/api`,
    '/kubernetes/Management/api',
    '/kubernetes/cluster//api',
    '/kubernetes/cluster/C/api',
    '/kubernetes/cluster/c%2e/api',
    '/kubernetes/project/p/space/s%2f/api',
    '/kubernetes/project/../management/api',
    '/Kubernetes/management/api',
    '/api/v1/secrets',
    '/',
  ])('%s leads to no target', async (text) => {
    const { send, seen } = await start();
    expect([400, 404]).toContain(statusOf(await send(own(`GET ${text}`))));
    expect(seen).toEqual([]);
  });
});

describe('a scope is not left', () => {
  const group = 'management.platform.sh';
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const keys = `/apis/${group}/v1/ownedaccesskeys`;
  const wide = { rules: [{}] };
  const reader = {
    rules: [
      {
        verbs: ['get', 'list', 'watch', 'delete'],
        resources: [{ group: '', resources: ['configmaps'] }],
        namespaces: ['default'],
      },
    ],
  };

  it.each<[string, object, string, (readonly string[])?]>([
    [
      'a list of all namespaces with a selector',
      reader,
      'GET /api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault',
    ],
    [
      'a watch of all namespaces',
      reader,
      'GET /api/v1/configmaps?watch=true&fieldSelector=metadata.namespace=default',
    ],
    ['the old path of watches', reader, 'GET /api/v1/watch/configmaps'],
    ['another namespace by the old path of watches', reader, 'GET /api/v1/watch/namespaces/other/configmaps'],
    ['deletecollection', reader, 'DELETE /api/v1/namespaces/default/configmaps'],
    [
      'deletecollection of one name',
      reader,
      'DELETE /api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da',
    ],
    ['a subresource', reader, 'GET /api/v1/namespaces/default/configmaps/a/status'],
    ['HEAD of another resource', reader, 'HEAD /api/v1/namespaces/default/secrets/a'],
    ['OPTIONS', reader, 'OPTIONS /api/v1/namespaces/default/configmaps'],
    [
      'a patch',
      reader,
      'PATCH /api/v1/namespaces/default/configmaps/a',
      ['Content-Type: application/merge-patch+json'],
    ],
    ['a binding of a role', wide, `POST ${rbac}/namespaces/default/rolebindings`],
    ['a binding of a cluster role', wide, `POST ${rbac}/clusterrolebindings`],
    ['a role', wide, `PUT ${rbac}/clusterroles/a`],
    ['a certificate signing request', wide, 'POST /apis/certificates.k8s.io/v1/certificatesigningrequests'],
    ['its approval', wide, 'PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval'],
    ['a token of an account', wide, 'POST /api/v1/namespaces/default/serviceaccounts/default/token'],
    ['a Secret', wide, 'POST /api/v1/namespaces/default/secrets'],
    ['all Secrets', wide, 'GET /api/v1/secrets'],
    ['our namespace', wide, 'GET /api/v1/namespaces/latchkey-system/configmaps'],
    ['the access to targets', wide, 'GET /api/v1/namespaces/latchkey-targets/secrets'],
    ['a container in a running pod', wide, 'PATCH /api/v1/namespaces/default/pods/a/ephemeralcontainers'],
    ['a node', wide, 'GET /api/v1/nodes/a/proxy/exec'],
    ['a webhook', wide, 'POST /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'],
    ['the status of its key', wide, `PUT ${keys}/ci/status`],
    ['keys in another version', wide, `GET /apis/${group}/v9/ownedaccesskeys`],
  ])('by way of %s', async (_, scope, line, headers = []) => {
    const { send, seen, know, state } = await start();
    know(key, verdictFor(scope as Record<string, unknown>));
    const [method = '', path = ''] = line.split(' ');
    const answer = await send(own(`${method} ${management}${path}`, headers));
    expect(statusOf(answer)).toBe(403);
    expect([seen, state.used]).toEqual([[], 0]);
  });

  it.each([
    ['/api*', '/apiserver'],
    ['/api*', '/api/v1/namespaces'],
    ['/healthz', '/healthz/etcd'],
    ['/healthz', '/healthz/'],
    ['/logs/*', '/logs'],
    ['/logs/*', '/logsx/a'],
    ['/debug/*/heap', '/debug/pprof/heap'],
    ['/metric?', '/metrics'],
    ['metrics', '/metrics'],
    ['', '/metrics'],
    ['/METRICS', '/metrics'],
    ['/metrics?a=b', '/metrics?a=b'],
  ])('by the URL "%s", which is not %s', async (url, path) => {
    const { send, seen, know } = await start();
    know(key, verdictFor({ rules: [{ verbs: ['get'], nonResourceURLs: [url] }] }));
    expect(statusOf(await send(own(`GET ${management}${path}`)))).toBe(403);
    expect(seen).toEqual([]);
  });

  it.each([
    ['a second Content-Type', ['application/merge-patch+json', 'application/apply-patch+yaml'], 400],
    ['a second Content-Type in front', ['application/apply-patch+yaml', 'application/merge-patch+json'], 400],
    ['the type of an apply', ['application/apply-patch+yaml'], 403],
    ['the type of an apply in other letters', ['Application/Apply-Patch+YAML'], 403],
    ['a type that no one knows', ['application/x-patch'], 403],
    ['no type', [], 403],
  ])('by a patch with %s, which may create', async (_, types, status) => {
    const { send, seen, know } = await start();
    const resources = [{ group: '', resources: ['configmaps'] }];
    know(key, verdictFor({ rules: [{ verbs: ['patch'], resources }] }));
    const headers = types.map((type) => `Content-Type: ${type}`);
    expect(statusOf(await send(own(`PATCH ${maps}/a`, headers)))).toBe(status);
    expect(seen).toEqual([]);
  });
});

describe('a body', () => {
  it('that the target does not take is held back at the client', async () => {
    let target: Socket | undefined;
    const stage = await start((socket) => {
      target = socket;
      socket.pause();
    });
    const socket = connect(stage.port, '127.0.0.1');
    socket.on('error', () => undefined);
    const size = 100 * 2 ** 20;
    socket.write(`POST ${maps} HTTP/1.1\r\nHost: a\r\n${bearer}\r\nContent-Length: ${size}\r\n\r\n`);
    const chunk = Buffer.alloc(2 ** 20, 'a');
    let written = 0;
    const fill = () => {
      while (written < size && socket.write(chunk)) written += chunk.length;
    };
    socket.on('drain', () => {
      written += chunk.length;
      fill();
    });
    fill();
    await waitFor('the first bytes', () => target !== undefined);
    await untilStill('the client', () => written);
    expect(written).toBeLessThan(size / 2);
    expect(statusOf(await stage.send(bare('GET /version')))).toBe(200);
    socket.destroy();
  });

  it('of a refused request is not read', async () => {
    const stage = await start();
    const answer = await stage.send(bare(`POST ${maps}`, [`Content-Length: ${100 * 2 ** 20}`], 'a'));
    expect(answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close/i);
  });
});
