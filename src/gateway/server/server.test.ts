import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { rawExchange } from '../../../test/builders/raw-exchange.ts';
import { systemClock } from '../../kube/clock.ts';
import { errorAnswer, sendError } from './error-answer.ts';
import { GatewayServer, type GatewayServerOptions, type ServerLimits } from './server.ts';

const limits: ServerLimits = {
  headerBytes: 16_384,
  headerFields: 100,
  urlBytes: 8_192,
  headMs: 30_000,
  idleMs: 30_000,
  connections: 10,
  strangersPerAddress: 0,
  strangerGraceMs: 2_000,
};

const running: GatewayServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

const answerOk: GatewayServerOptions['onRequest'] = (request, response) => {
  request.resume();
  response.end('ok');
};

/** A server that answers `ok`, and the requests that got through to it. */
async function start(changes: Partial<ServerLimits> = {}, onRequest = answerOk) {
  const seen: string[] = [];
  const refused: string[] = [];
  const server = new GatewayServer({
    address: { host: '127.0.0.1', port: 0 },
    limits: { ...limits, ...changes },
    clock: systemClock,
    onConnectionClosed: () => undefined,
    onRefused: (code) => refused.push(code),
    onRequest: (request: IncomingMessage, response: ServerResponse) => {
      seen.push(`${request.method} ${request.url}`);
      onRequest(request, response);
    },
  });
  running.push(server);
  const { port } = await server.listen();
  return { server, seen, refused, port, send: async (text: string) => await rawExchange(port, text) };
}

const closing = 'Host: a\r\nConnection: close\r\n';
const statusOf = (answer: string): number => Number(answer.split(' ')[1]);
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));

/** Any request that reached the handler although it stands behind a refused one would show. */
const behind = 'GET /behind HTTP/1.1\r\nHost: a\r\n\r\n';

describe('a request that can be read in two ways is refused, and so is everything behind it', () => {
  it.each([
    ['HTTP/1.0', `GET / HTTP/1.0\r\n${closing}\r\n`, 505],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['an absolute target', 'GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a target that is no path', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a fragment', 'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['bytes above ASCII in the target', 'GET /\xe4 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a method that no one knows', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['no method', '/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['PROPFIND', 'PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'chunks and length',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'two equal lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx',
      400,
    ],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx', 400],
    ['a list of lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx', 400],
    ['a length with a sign', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx', 400],
    ['a length that is not decimal', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\nx', 400],
    ['a huge length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nx', 400],
    [
      'gzip in front of chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'chunks in front of something else',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'chunks twice',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['an identity encoding', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n', 400],
    [
      'an encoding that is no word',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'a space before the colon',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n', 400],
    ['a line that ends without CR', 'GET / HTTP/1.1\nHost: a\n\n', 400],
    ['a CR without LF', 'GET / HTTP/1.1\r\nHost: a\rX: 1\r\n\r\n', 400],
    ['NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n', 400],
    ['a header without a name', 'GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n', 400],
    ['no version', 'GET /\r\n\r\n', 505],
    [
      'another expectation',
      'POST / HTTP/1.1\r\nHost: a\r\nExpect: miracle\r\nContent-Length: 1\r\n\r\nx',
      417,
    ],
  ])('%s', async (_, text, status) => {
    const { seen, refused, send } = await start();
    const answer = await send(text + behind);
    expect(statusOf(answer)).toBe(status);
    expect(refused).toEqual([bodyOf(answer).details.causes[0].reason]);
    expect(bodyOf(answer)).toMatchObject({ kind: 'Status', status: 'Failure', code: status });
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(seen).toEqual([]);
  });

  it('a chunk that lies about its length ends the connection', async () => {
    const { seen, send } = await start();
    const text = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n';
    await send(text + behind);
    expect(seen).not.toContain('GET /behind');
  });
});

describe('a request that is sent before the one in front of it is answered', () => {
  const first = 'GET /first HTTP/1.1\r\nHost: a\r\n\r\n';

  /** The first request is answered when the test says so. */
  async function startHeld() {
    const held = Promise.withResolvers<ServerResponse>();
    const stage = await start({}, (request, response) => {
      if (request.url === '/first') held.resolve(response);
      else response.end('ok');
    });
    return { ...stage, held: held.promise };
  }

  it('waits for that answer', async () => {
    const { seen, send, held } = await startHeld();
    const answer = send(`${first}GET /second HTTP/1.1\r\n${closing}\r\n`);
    const response = await held;
    expect(seen).toEqual(['GET /first']);
    response.end('one');
    expect(await answer).toMatch(/one[\s\S]*ok/);
    expect(seen).toEqual(['GET /first', 'GET /second']);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['ends the connection', (response) => sendError(response, errorAnswer('ERR_UPSTREAM_ANSWER', {}))],
    ['is cut', (response) => void response.destroy()],
  ])('is ignored when that answer %s', async (_, end) => {
    const { seen, send, held } = await startHeld();
    const answer = send(first + behind);
    end(await held);
    await answer;
    expect(seen).toEqual(['GET /first']);
  });

  it('is ignored when it comes with the body of one that was refused', async () => {
    const { seen, send } = await start({}, (_, response) =>
      sendError(response, errorAnswer('ERR_UPSTREAM_ANSWER', {})),
    );
    await send(`POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}${behind}`);
    expect(seen).toEqual(['POST /first']);
  });

  it.each([
    ['can be read in two ways', `GET / HTTP/1.1\r\n\r\n${behind}`],
    ['expects something', `GET / HTTP/1.1\r\nHost: a\r\nExpect: miracle\r\n\r\n${behind}`],
    ['is one of many', behind.repeat(100)],
    ['is the second that waits', behind.repeat(2)],
  ])('ends the connection when it %s', async (_, text) => {
    const { seen, send } = await startHeld();
    expect(await send(first + text)).toBe('');
    expect(seen).toEqual(['GET /first']);
  });
});

describe('a refusal', () => {
  it.each<[string, Parameters<typeof errorAnswer>[0], string]>([
    ['keeps the connection of who may not do this', 'ERR_CREDENTIAL_KIND', 'keep-alive'],
    ['ends that of a stranger', 'ERR_REQUEST_MALFORMED', 'close'],
  ])('%s', async (_, code, connection) => {
    const { send } = await start({ idleMs: 200 }, (_request, response) =>
      sendError(response, errorAnswer(code as 'ERR_CREDENTIAL_KIND', {})),
    );
    const answer = await send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(answer).toContain(`Connection: ${connection}`);
  });
});

describe('limits', () => {
  it.each([
    ['a long target', `GET /${'a'.repeat(8_192)} HTTP/1.1\r\n${closing}\r\n`, 414],
    ['long headers', `GET / HTTP/1.1\r\n${closing}X: ${'a'.repeat(16_384)}\r\n\r\n`, 431],
    ['many headers', `GET / HTTP/1.1\r\n${closing}${'X: 1\r\n'.repeat(99)}\r\n`, 431],
  ])('refuse %s', async (_, text, status) => {
    const { seen, send } = await start();
    const answer = await send(text);
    expect(statusOf(answer)).toBe(status);
    expect(bodyOf(answer).code).toBe(status);
    expect(seen).toEqual([]);
  });

  it('let through what is just within them', async () => {
    const { seen, send } = await start();
    await send(`GET /${'a'.repeat(8_000)} HTTP/1.1\r\n${closing}${'X: 1\r\n'.repeat(98)}\r\n`);
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['says nothing', ''],
    ['never ends its headers', 'GET / HTTP/1.1\r\nHost: a\r\n'],
  ])('end a connection that %s', async (_, text) => {
    const { send } = await start({ headMs: 200 });
    expect(statusOf(await send(text))).toBe(408);
  });

  it('close a connection that stays idle between two requests', async () => {
    const { send } = await start({ idleMs: 200 });
    expect(statusOf(await send('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))).toBe(200);
  });

  it('drop a connection above their number unanswered', async () => {
    const { port } = await start({ connections: 1, headMs: 2_000 });
    const first = rawExchange(port, '');
    await expect(rawExchange(port, `GET / HTTP/1.1\r\n${closing}\r\n`)).resolves.toBe('');
    await first;
  });
});

describe('plain requests', () => {
  it('pass with their trailers left out, one after the other on a connection', async () => {
    const { seen, send } = await start();
    const chunked = 'Transfer-Encoding: Chunked\r\nTrailer: X\r\n\r\n3\r\nabc\r\n0\r\nX: 1\r\n\r\n';
    await send(`POST /a?b=c HTTP/1.1\r\nHost: a\r\n${chunked}GET / HTTP/1.1\r\n${closing}\r\n`);
    expect(seen).toEqual(['POST /a?b=c', 'GET /']);
  });

  it('are answered with "Connection: close" while the server drains', async () => {
    const { server, send } = await start();
    server.drain();
    expect(await send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toMatch(/\r\nConnection: close\r\n/);
  });
});
