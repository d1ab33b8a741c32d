import { describe, expect, it } from 'vitest';
import { verdictFor } from '../../test/builders/gateway-stage.ts';
import { key, ok, startedStages } from '../../test/builders/started-stages.ts';
import {
  acceptText,
  bearerProtocol,
  openClient,
  pod,
  spdyAnswer,
  upgradeText,
  webSocketHeaders,
} from '../../test/builders/upgrades.ts';

const start = startedStages();

const statusOf = (answer: string): number => Number(answer.split(' ')[1]);
const bearer = `Authorization: Bearer ${key}`;
const exec = `GET /kubernetes/management${pod}/exec?command=sh`;
const post = exec.replace('GET', 'POST');
const offering = (...protocols: string[]) => `Sec-WebSocket-Protocol: ${protocols.join(', ')}`;
const upgrade = (headers: readonly string[], options = {}) =>
  upgradeText([...webSocketHeaders, ...headers], options);
const [webSocketKey, webSocketVersion] = webSocketHeaders;

describe('a request for another protocol', () => {
  it.each<[string, string, number]>([
    ['no credential', upgrade([offering('v5.channel.k8s.io')]), 401],
    ['an unknown credential', upgrade([offering('v5.channel.k8s.io', bearerProtocol('another'))]), 401],
    ['a damaged access key', upgrade([offering('v5.channel.k8s.io', bearerProtocol('lk_a'))]), 401],
    ['nothing but a key as subprotocol', upgrade([offering(bearerProtocol(key))]), 401],
    ['padding behind the key', upgrade([offering('a', `${bearerProtocol('ab')}==`)]), 401],
    ['two keys as subprotocols', upgrade([offering('a', bearerProtocol(key), bearerProtocol(key))]), 401],
    [
      'two headers with a key each',
      upgrade([offering('a', bearerProtocol(key)), offering(bearerProtocol(key))]),
      401,
    ],
    ['a key in both places', upgrade([bearer, offering('a', bearerProtocol(key))]), 400],
    ['a good key and a bad one', upgrade([bearer, offering('a', bearerProtocol('another'))]), 400],
    [
      'a key as subprotocol of SPDY',
      upgrade([offering('a', bearerProtocol(key))], { line: post, protocol: 'SPDY/3.1' }),
      401,
    ],
    ['a key as subprotocol of h2c', upgrade([offering('a', bearerProtocol(key))], { protocol: 'h2c' }), 401],
    ['h2c', upgrade([bearer, 'HTTP2-Settings: AAMAAABkAAQ'], { protocol: 'h2c' }), 400],
    ['an unknown protocol', upgrade([bearer], { protocol: 'irc/1.0' }), 400],
    ['two protocols', upgrade([bearer], { protocol: 'websocket, h2c' }), 400],
    ['the same protocol twice', upgrade([bearer, 'Upgrade: websocket']), 400],
    ['a protocol behind another', upgrade([bearer, 'Upgrade: websocket'], { protocol: 'h2c' }), 400],
    ['a websocket by POST', upgrade([bearer], { line: post }), 400],
    ['SPDY by GET', upgrade([bearer], { protocol: 'SPDY/3.1' }), 400],
    ['a body', upgrade([bearer, 'Content-Length: 4'], { body: 'abcd' }), 400],
    [
      'a body in chunks',
      upgrade([bearer, 'Transfer-Encoding: chunked'], { body: '1\r\na\r\n0\r\n\r\n' }),
      400,
    ],
    [
      'a body, over SPDY',
      upgrade([bearer, 'Content-Length: 1'], { line: post, protocol: 'SPDY/3.1', body: 'a' }),
      400,
    ],
    ['HTTP/1.0', upgrade([bearer], { version: '1.0' }), 505],
    ['two hosts', upgrade([bearer, 'Host: b']), 400],
    ['Impersonate-User', upgrade([bearer, 'Impersonate-User: bob']), 403],
    ['no key of a websocket', upgradeText([bearer, webSocketVersion]), 400],
    ['two keys of a websocket', upgrade([bearer, webSocketKey]), 400],
    [
      'a key of 15 bytes',
      upgradeText([bearer, webSocketVersion, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAA']),
      400,
    ],
    [
      'an earlier version of websockets',
      upgradeText([bearer, webSocketKey, 'Sec-WebSocket-Version: 12']),
      400,
    ],
    ['two versions of websockets', upgrade([bearer, 'Sec-WebSocket-Version: 8']), 400],
    ['no version of websockets', upgradeText([bearer, webSocketKey]), 400],
    [
      'a thousand subprotocols',
      upgrade([bearer, offering(...Array.from({ length: 1_000 }, () => 'v5'))]),
      400,
    ],
    [
      'ten thousand subprotocols, more than a head may hold',
      upgrade([bearer, offering(...Array.from({ length: 10_000 }, () => 'v5'))]),
      431,
    ],
    ['a subprotocol that is no name', upgrade([bearer, offering('v5 channel')]), 400],
    [
      'a thousand versions of streams',
      upgrade([bearer, `X-Stream-Protocol-Version: ${'v4,'.repeat(1_000)}`], {
        line: post,
        protocol: 'SPDY/3.1',
      }),
      400,
    ],
    ['an expectation that no one knows', upgrade([bearer, 'Expect: miracle']), 417],
  ])('with %s gets no further than the gateway', async (_, text, status) => {
    const { send, seen } = await start();
    const answer = await send(text);
    expect(statusOf(answer)).toBe(status);
    expect(answer).not.toContain(key);
    expect(answer).not.toContain(bearerProtocol(key));
    expect(seen).toEqual([]);
  });

  it('passes the same gate as every other request', async () => {
    const { send, seen, state, know } = await start();
    const text = upgrade([offering('v5.channel.k8s.io', bearerProtocol(key))]);
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
    ['in another namespace than that of the space', 'project/p/space/s/api/v1/namespaces/other/pods/a/exec'],
    ['by the proxy of a node', 'project/p/space/s/api/v1/nodes/n/proxy/exec/shop/a/b'],
  ])('is refused in a space %s', async (_, place) => {
    const { send, seen, know } = await start();
    know(key, verdictFor({ rules: [{ verbs: ['*'] }], spaces: [{ project: 'p', space: 's' }] }));
    expect(await send(upgrade([bearer], { line: `GET /kubernetes/${place}` }))).toMatch(
      /^HTTP\/1\.1 403 [\s\S]*ERR_SCOPE/,
    );
    expect(seen).toEqual([]);
  });

  it.each([
    ['is malformed', [bearer, 'Content-Length: 1'], 400],
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
    const plain = ['Host: a', 'Connection: close', offering('a', bearerProtocol(key))];
    const get = (...headers: string[]) =>
      [`GET /kubernetes/management/api HTTP/1.1`, ...plain, ...headers, '', ''].join('\r\n');
    expect(statusOf(await send(get()))).toBe(401);
    expect(statusOf(await send(get(bearer)))).toBe(200);
    expect(seen.join('')).not.toMatch(/sec-websocket|base64url/i);
  });
});

describe('a request for another protocol that can become no tunnel is answered as a plain one', () => {
  const spdy = { protocol: 'SPDY/3.1' };
  const management = '/kubernetes/management';
  it.each<[string, string, object]>([
    ['of a ConfigMap', `GET ${management}/api/v1/namespaces/default/configmaps/a`, {}],
    ['over SPDY', `POST ${management}/api/v1/namespaces/default/configmaps`, spdy],
    ['of a list', `GET ${management}/api/v1/pods`, {}],
    ['of no resource', `GET ${management}/healthz`, {}],
    [
      'of exec without a pod',
      `GET ${management}/api/v1/namespaces/default/pods//exec`.replace('//', '/'),
      {},
    ],
    [
      'of what is called exec elsewhere',
      `GET ${management}/apis/example.com/v1/namespaces/default/pods/a/exec`,
      {},
    ],
    ['of a log without an origin', `GET ${management}${pod}/log?follow=true`, {}],
  ])('%s', async (_, line, options) => {
    const { send, seen } = await start((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    );
    const answer = await send(upgrade([bearer], { line, ...options }));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*ok$/);
    expect(seen.join('')).not.toMatch(/upgrade|sec-websocket/i);
  });

  const origin = 'Origin: https://a';
  it.each<[string, string, string[], Record<string, unknown>?]>([
    ['without an origin', '/api/v1/pods', []],
    ['from a page that hides where it is', '/api/v1/pods', ['Origin: null']],
    ['with an empty origin', '/api/v1/pods', ['Origin:']],
    ['of what is ours', '/apis/management.platform.sh/v1/ownedaccesskeys', [origin]],
    // A tunnel would show what the scope refuses.
    ['that is narrowed on its way', '/api/v1/configmaps', [origin], { rules: [{}] }],
  ])(
    'and a watch %s ends at once: fabric8 reads it to its end, and goes on without',
    async (_, what, headers, scope) => {
      const { send, seen, know } = await start();
      if (scope !== undefined) know(key, verdictFor(scope));
      const line = `GET ${management}${what}?watch=true`;
      const answer = await send(upgrade([bearer, ...headers], { line }));
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*content-length: 0\r\n[\s\S]*\r\n\r\n$/);
      expect(seen.join('')).toBe('');
    },
  );

  it('and so is a watch without "Connection: Upgrade"', async () => {
    const { send, seen } = await start((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    );
    const line = `GET ${management}/api/v1/pods?watch=true`;
    const text = upgrade([bearer, origin], { line }).replace('Connection: Upgrade', 'Connection: close');
    expect(await send(text)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*ok$/);
    expect(seen.join('')).toMatch(/^GET \/api\/v1\/pods\?watch=true /);
  });

  it('and so is one without "Connection: Upgrade", which says that it is not about this connection', async () => {
    const { send, seen } = await start();
    const text = upgrade([bearer]).replace('Connection: Upgrade', 'Connection: close');
    expect(statusOf(await send(text))).toBe(200);
    expect(seen.join('')).not.toMatch(/upgrade|sec-websocket/i);
  });

  it('and a 101 to it is no answer', async () => {
    const { send } = await start((socket) => void socket.write(`${acceptText()}evil`));
    const answer = await send(upgrade([bearer], { line: `GET ${management}/api/v1/pods` }));
    expect(answer).toMatch(/^HTTP\/1\.1 502 [\s\S]*ERR_UPSTREAM_ANSWER/);
    expect(answer).not.toContain('evil');
  });
});

describe('a request that becomes a tunnel', () => {
  const origin = 'Origin: https://example.com';
  it.each([
    ['exec', `${pod}/exec?command=sh`, []],
    ['attach', `${pod}/attach`, []],
    ['port-forward', `${pod}/portforward`, []],
    ['the proxy of a pod', `${pod}/proxy/a/b`, []],
    ['the proxy of a service', '/api/v1/namespaces/default/services/a/proxy/', []],
    ['the proxy of a node', '/api/v1/nodes/a/proxy/exec/b', []],
    ['a watch', '/api/v1/pods?watch=true', [origin]],
    ['a log', `${pod}/log?follow=true`, [origin]],
  ])('is %s over a websocket', async (_, path, headers) => {
    const { port, seen } = await start((socket) => void socket.write(acceptText()));
    const client = openClient(
      port,
      upgrade([bearer, ...headers], { line: `GET /kubernetes/management${path}` }),
    );
    await client.until('\r\n\r\n');
    expect(statusOf(client.state.received)).toBe(101);
    expect(seen[0]).toMatch(new RegExp(`^GET ${path.replace(/[?]/g, '\\?')} HTTP/1\\.1\r\n`));
    client.socket.destroy();
  });

  it.each(['exec', 'attach', 'portforward', 'proxy/a'])('is %s over SPDY', async (subresource) => {
    const { port } = await start((socket) => void socket.write(spdyAnswer()));
    const line = `POST /kubernetes/management${pod}/${subresource}`;
    const client = openClient(
      port,
      upgradeText([bearer, 'Content-Length: 0'], { line, protocol: 'SPDY/3.1' }),
    );
    await client.until('\r\n\r\n');
    expect(client.state.received).toBe(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
    );
    client.socket.destroy();
  });

  it('reaches the target as that of the user, with nothing of the credential or of who came before', async () => {
    const { port, seen } = await start(
      (socket) => void socket.write(acceptText('Sec-WebSocket-Protocol: v5.channel.k8s.io')),
    );
    const sent = [offering('v5.channel.k8s.io', bearerProtocol(key)), offering('v4.channel.k8s.io')];
    const others = ['Cookie: a=b', 'X-Remote-User: root', 'X-Forwarded-For: 10.1.1.1', 'Origin: https://a'];
    const client = openClient(
      port,
      upgrade([...sent, ...others, 'Sec-WebSocket-Extensions: a', 'Sec-WebSocket-Other: b']),
    );
    await client.until('\r\n\r\n');
    const lines = (seen[0] ?? '').trimEnd().split('\r\n');
    expect(lines.filter((line) => !/^host:/i.test(line))).toEqual([
      `GET ${pod}/exec?command=sh HTTP/1.1`,
      'connection: Upgrade',
      'upgrade: websocket',
      'origin: https://a',
      'x-forwarded-for: 127.0.0.1',
      'impersonate-user: alice',
      'impersonate-group: dev',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version: 13',
      'sec-websocket-protocol: v5.channel.k8s.io, v4.channel.k8s.io',
      'sec-websocket-extensions: a',
      'authorization: Bearer one',
    ]);
    client.socket.destroy();
  });

  it('hands the target every version of streams that the client offers', async () => {
    const { port, seen } = await start(
      (socket) => void socket.write(spdyAnswer('X-Stream-Protocol-Version: v4.channel.k8s.io')),
    );
    const versions = ['v5', 'v4', 'v3', 'v2', 'v1'].map(
      (version) => `X-Stream-Protocol-Version: ${version}.channel.k8s.io`,
    );
    const client = openClient(port, upgradeText([bearer, ...versions], { line: post, protocol: 'SPDY/3.1' }));
    await client.until('X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n');
    expect(seen[0]?.match(/^x-stream-protocol-version: v\d\.channel\.k8s\.io/gm)).toHaveLength(5);
    client.socket.destroy();
  });

  it('goes over a connection that a trusted proxy has begun', async () => {
    const { port, seen } = await start((socket) => void socket.write(`${acceptText()}tunnel`), {
      proxies: { trusted: ['127.0.0.0/8'], sendHeader: true },
    });
    const client = openClient(port, `PROXY TCP4 203.0.113.7 10.0.0.1 12345 443\r\n${upgrade([bearer])}`);
    await client.until('tunnel');
    expect(seen[0]).toMatch(/^x-forwarded-for: 203\.0\.113\.7\r$/m);
    client.socket.destroy();
  });

  it('goes over a connection that has carried another request before', async () => {
    const { port } = await start((socket, text) => {
      if (/^GET \/first/.test(text)) ok(socket, text);
      else socket.write(`${acceptText()}tunnel`);
    });
    const client = openClient(port, first);
    await client.until('\r\n\r\nok');
    client.socket.write(upgrade([bearer]));
    await client.until('tunnel');
    expect(client.state.received).toMatch(
      /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nokHTTP\/1\.1 101 [\s\S]*\r\n\r\ntunnel$/,
    );
    client.socket.destroy();
  });
});

const first = `GET /kubernetes/management/first HTTP/1.1\r\nHost: a\r\n${bearer}\r\n\r\n`;
const plain = 'HTTP/1.1\r\nHost: a\r\n';

describe('a request for another protocol that is sent in one piece with the request in front of it', () => {
  it.each([
    ['a refused head', `GET /a ${plain}Host: b\r\n\r\n`],
    ['an expectation that no one meets', `GET /a ${plain}Expect: miracle\r\n\r\n`],
    ['a target that is no path', `OPTIONS * ${plain}\r\n`],
  ])('is not looked at behind %s, and the gateway serves on', async (_, refused) => {
    const { port, seen } = await start();
    const client = openClient(port, refused + upgrade([bearer]));
    await client.until('\r\n\r\n{');
    await client.closed();
    expect(statusOf(client.state.received)).toBeGreaterThanOrEqual(400);
    expect(client.state.received).not.toContain('101 Switching');
    expect(seen).toEqual([]);
    expect((await fetch(`http://127.0.0.1:${port}/version`)).status).toBe(200);
  });

  it('is cut with it while the answer is not over, at once and for good', async () => {
    const stage = await start(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
    );
    const client = openClient(stage.port, first + upgrade([bearer]));
    await client.closed();
    expect(client.state.received).not.toContain('101 Switching');
    expect((await fetch(`http://127.0.0.1:${stage.port}/version`)).status).toBe(200);
  });

  it('is cut though its client leaves with a reset, and the gateway serves on', async () => {
    const { port } = await start(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
    );
    const client = openClient(port, first + upgrade([bearer]));
    client.socket.resetAndDestroy();
    await client.closed();
    expect((await fetch(`http://127.0.0.1:${port}/version`)).status).toBe(200);
  });

  it('and CONNECT gets no answer in the middle of that', async () => {
    const { port } = await start(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab'),
    );
    const client = openClient(port, first);
    await client.until('ab');
    client.socket.write(`CONNECT a:443 ${plain}\r\n`);
    await client.closed();
    expect(client.state.received).toMatch(/ab$/);
  });
});
