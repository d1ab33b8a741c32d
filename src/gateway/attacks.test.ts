import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  type StageOptions,
  verdictFor,
} from '../../test/builders/gateway-stage.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';

const key = 'a-key-that-alice-chose-herself';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const ok: Behaviour = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');

async function start(behaviour: Behaviour = ok, options: StageOptions = {}) {
  const stage = await gatewayStage(behaviour, options);
  running.push(stage);
  stage.know(key);
  return stage;
}

const statusOf = (answer: string): number => Number(answer.split(' ')[1]);
const bearer = `Authorization: Bearer ${key}`;

describe('an upgrade', () => {
  const pod = '/api/v1/namespaces/default/pods/a';
  const exec = `GET /kubernetes/management${pod}/exec?command=sh`;
  const protocolOf = (credential: string) =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(credential).toString('base64url')}`;
  const offering = (...protocols: string[]) => `Sec-WebSocket-Protocol: ${protocols.join(', ')}`;

  /** As a client asks for it. */
  const upgrade = (headers: readonly string[], { line = exec, protocol = 'websocket', body = '' } = {}) =>
    [`${line} HTTP/1.1`, 'Host: a', 'Connection: Upgrade', `Upgrade: ${protocol}`, ...headers, '', body].join(
      '\r\n',
    );

  it.each<[string, string, number]>([
    ['a key in Authorization', upgrade([bearer, offering('v5.channel.k8s.io')]), 501],
    ['a key in a subprotocol', upgrade([offering('v5.channel.k8s.io', protocolOf(key))]), 501],
    ['SPDY and POST', upgrade([bearer], { line: exec.replace('GET', 'POST'), protocol: 'SPDY/3.1' }), 501],
    ['no credential', upgrade([offering('v5.channel.k8s.io')]), 401],
    ['an unknown credential', upgrade([offering('v5.channel.k8s.io', protocolOf('another'))]), 401],
    ['a damaged access key', upgrade([offering('v5.channel.k8s.io', protocolOf('lk_a'))]), 401],
    ['nothing but a key as subprotocol', upgrade([offering(protocolOf(key))]), 401],
    ['padding behind the key', upgrade([offering('a', `${protocolOf('ab')}==`)]), 401],
    ['two keys as subprotocols', upgrade([offering('a', protocolOf(key), protocolOf(key))]), 401],
    [
      'two headers with a key each',
      upgrade([offering('a', protocolOf(key)), offering(protocolOf(key))]),
      401,
    ],
    ['a key in both places', upgrade([bearer, offering('a', protocolOf(key))]), 400],
    ['a good key and a bad one', upgrade([bearer, offering('a', protocolOf('another'))]), 400],
    [
      'a key as subprotocol of SPDY',
      upgrade([offering('a', protocolOf(key))], { protocol: 'SPDY/3.1' }),
      401,
    ],
    ['a key as subprotocol of h2c', upgrade([offering('a', protocolOf(key))], { protocol: 'h2c' }), 401],
    ['h2c', upgrade([bearer, 'HTTP2-Settings: AAMAAABkAAQ'], { protocol: 'h2c' }), 400],
    ['an unknown protocol', upgrade([bearer], { protocol: 'irc/1.0' }), 400],
    ['two protocols', upgrade([bearer], { protocol: 'websocket, h2c' }), 400],
    ['a websocket by POST', upgrade([bearer], { line: exec.replace('GET', 'POST') }), 400],
    ['a body', upgrade([bearer, 'Content-Length: 4'], { body: 'abcd' }), 400],
    [
      'a body in chunks',
      upgrade([bearer, 'Transfer-Encoding: chunked'], { body: '1\r\na\r\n0\r\n\r\n' }),
      400,
    ],
    ['Impersonate-User', upgrade([bearer, 'Impersonate-User: bob']), 403],
  ])('with %s gets no further than the gateway', async (_, text, status) => {
    const { send, seen } = await start();
    const answer = await send(text);
    expect(statusOf(answer)).toBe(status);
    expect(answer).not.toContain(key);
    expect(answer).not.toContain(protocolOf(key));
    expect(seen).toEqual([]);
  });

  it('passes the same gate as every other request', async () => {
    const { send, seen, state, know } = await start();
    const text = upgrade([offering('v5.channel.k8s.io', protocolOf(key))]);
    const inCluster = text.replace('/management/', '/cluster/c/');
    know(key, verdictFor({ rules: [{ verbs: ['get'] }] }));
    expect(await send(text)).toMatch(/^HTTP\/1\.1 403 [\s\S]*cannot create \\"pods\/exec\\"/);
    know(key, verdictFor({ clusters: [{ cluster: 'other' }] }));
    expect(await send(inCluster)).toMatch(/^HTTP\/1\.1 403 [\s\S]*ERR_SCOPE/);
    know(key);
    state.mayEnter = false;
    expect(await send(inCluster)).toMatch(/^HTTP\/1\.1 403 [\s\S]*needs the verb \\"use\\"/);
    know(key, { reason: 'Expired' });
    expect(statusOf(await send(text))).toBe(401);
    state.problem = 'stale';
    expect(statusOf(await send(text))).toBe(503);
    expect(seen).toEqual([]);
  });

  it.each([
    ['is not served', [bearer], 501],
    ['may not be made', [bearer, 'Impersonate-User: bob'], 403],
    ["is a stranger's", [], 401],
  ])('that %s ends the connection: what follows would be of another protocol', async (_, headers, status) => {
    const { send, seen } = await start();
    const behind = `GET /kubernetes/management/api HTTP/1.1\r\nHost: a\r\n${bearer}\r\n\r\n`;
    const answer = await send(upgrade(headers) + behind);
    expect([statusOf(answer), answer.match(/^HTTP\/1\.1 /gm)?.length]).toEqual([status, 1]);
    expect(seen).toEqual([]);
  });

  it('is not what a request is that only offers subprotocols, and those stay here', async () => {
    const { send, seen } = await start();
    const plain = ['Host: a', 'Connection: close', offering('a', protocolOf(key))];
    const get = (...headers: string[]) =>
      [`GET /kubernetes/management/api HTTP/1.1`, ...plain, ...headers, '', ''].join('\r\n');
    expect(statusOf(await send(get()))).toBe(401);
    expect(statusOf(await send(get(bearer)))).toBe(200);
    expect(seen.join('')).not.toMatch(/sec-websocket|base64url/i);
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
    ['aliases', review('application/yaml', 'a: &a {verb: delete}\nspec: {resourceAttributes: *a}\n')],
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
    [600, 'other'],
    [999, 'other'],
  ])('of %i is counted as %s: a target makes no labels', async (status, code) => {
    const { send, metrics } = await start(
      (socket) => void socket.write(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`),
    );
    const get = `GET /kubernetes/management/api HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${bearer}\r\n\r\n`;
    expect(statusOf(await send(get))).toBe(status);
    await expect.poll(metrics).toContain(`code="${code}"`);
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
