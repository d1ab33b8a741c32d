import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  type StageOptions,
  verdictFor,
} from '../../test/builders/gateway-stage.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';

const keys = { alice: 'a-key-that-alice-chose-herself', bob: 'a-key-that-bob-chose-himself-' } as const;
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

async function start(behaviour: Behaviour, options: StageOptions = {}) {
  const stage = await gatewayStage(behaviour, options);
  running.push(stage);
  for (const [user, key] of Object.entries(keys)) stage.know(key, verdictFor(undefined, user));
  return stage;
}

/** A request of a user; the connection ends with the answer. */
const request = (user: keyof typeof keys, line = `GET ${maps}`, headers: readonly string[] = [], body = '') =>
  [
    `${line} HTTP/1.1`,
    'Host: a',
    'Connection: close',
    `Authorization: Bearer ${keys[user]}`,
    ...headers,
    '',
    body,
  ].join('\r\n');

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Evil: evil\r\n\r\nevil';

describe('what a target sends behind the answer to one user is given to no other', () => {
  it.each<[string, readonly string[]]>([
    ['with its last byte', [ok + evil]],
    ['a moment later', [ok, evil]],
    ['behind 204', [`HTTP/1.1 204 No Content\r\n\r\n${evil}`]],
    ['behind 304', [`HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n${evil}`]],
    ['behind the last chunk', [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${evil}`]],
    [
      'behind an answer that it begins to send twice',
      [`${ok}HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n`],
    ],
  ])('%s', async (_, pieces) => {
    const ended: Socket[] = [];
    const { send } = await start((socket, text) => {
      if (/impersonate-user: bob/.test(text)) return socket.write(ok);
      socket.once('close', () => ended.push(socket));
      for (const piece of pieces) socket.write(piece);
      return undefined;
    });
    expect(await send(request('alice'))).not.toContain('evil');
    await waitFor('the end at the target', () => ended.length === 1);
    expect(await send(request('bob'))).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nok$/);
  });

  it('nor to what the same user asks at the same time', async () => {
    const { send } = await start((socket) => socket.write(ok + evil), { maxWaitMs: 60_000 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(request('alice'))));
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nok$/);
  });
});

describe('both connections end with an answer that is none, or goes on behind its end', () => {
  it.each<[string, string, RegExp]>([
    [
      'that switches protocols unasked',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nevil',
      /^HTTP\/1\.1 502 [\s\S]*ERR_UPSTREAM_ANSWER/,
    ],
    [
      'with both lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n',
      /^HTTP\/1\.1 502 [\s\S]*ERR_UPSTREAM_ANSWER/,
    ],
    ['with more bytes than announced', `${ok}evil`, /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nok$/],
    [
      'with a body that it may not have',
      'HTTP/1.1 204 No Content\r\n\r\nevil',
      /^HTTP\/1\.1 204 No Content[\s\S]*\r\n\r\n$/,
    ],
    [
      'with bytes behind the last chunk',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nevil',
      /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\n2\r\nok\r\n0\r\n\r\n$/,
    ],
  ])('%s', async (_, answer, expected) => {
    let target: Socket | undefined;
    const { port } = await start((socket) => {
      target = socket;
      socket.write(answer);
    });
    const { client, received } = keepOpen(port, request('alice'));
    await waitFor('the end of both', () => client.closed && target?.destroyed === true, 10_000);
    expect(received.join('')).toMatch(expected);
    expect(received.join('')).not.toContain('evil');
  });

  it('and not with one that is whole', async () => {
    const { port } = await start((socket) => socket.write(ok));
    const { client, received } = keepOpen(port, request('alice'));
    await waitFor('the answer', () => received.join('').endsWith('ok'));
    client.write(request('alice'));
    await waitFor('the end', () => client.closed);
    expect(received.join('').match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });

  /** A client that keeps its connection for more requests. */
  function keepOpen(port: number, text: string) {
    const received: string[] = [];
    const client = connect(port, '127.0.0.1', () => {
      client.write(text.replace('Connection: close', 'Connection: keep-alive'));
    });
    client.on('error', () => undefined).on('data', (chunk) => void received.push(chunk.toString('latin1')));
    return { client, received };
  }
});

describe('a client that leaves ends its request at the target', () => {
  const endless: Behaviour = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    const fill = () => {
      while (socket.write(`10000\r\n${'a'.repeat(65_536)}\r\n`));
    };
    socket.on('drain', fill);
    fill();
  };

  it.each<[string, string, Behaviour]>([
    ['before the answer', request('alice'), () => undefined],
    ['in its body', request('alice', `POST ${maps}`, ['Content-Length: 100'], 'half'), () => undefined],
    [
      'in a chunk of its body',
      request('alice', `POST ${maps}`, ['Transfer-Encoding: chunked'], '64\r\nhalf'),
      () => undefined,
    ],
    ['while it takes nothing of an endless answer', request('alice'), endless],
    ['while it takes nothing of a watch', request('alice', `GET ${maps}?watch=true`), endless],
  ])('%s', async (_, text, behaviour) => {
    let target: Socket | undefined;
    const stage = await start((socket, sent) => {
      if (target === undefined) behaviour(socket, sent);
      target = socket;
    });
    const client = connect(stage.port, '127.0.0.1', () => void client.write(text));
    client.on('error', () => undefined).pause();
    await waitFor('the request', () => target !== undefined);
    client.destroy();
    await waitFor('the end at the target', () => target?.destroyed === true);
  });
});

describe('a header', () => {
  it('passes in both directions byte by byte, also above ASCII', async () => {
    const { send, seen } = await start((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nX-Answer: \xe9\xff\r\nContent-Length: 0\r\n\r\n', 'latin1'),
    );
    const answer = await send(request('alice', `GET ${maps}`, ['X-Question: \xe4\xff']));
    expect(answer).toContain('X-Answer: \xe9\xff\r\n');
    expect(seen.join('')).toContain('x-question: \xe4\xff\r\n');
  });

  it.each([
    ['CR', 'X: a\rImpersonate-User: bob'],
    ['LF', 'X: a\nImpersonate-User: bob'],
    ['NUL', 'X: a\0b'],
    ['a blank in front of its colon', 'X : a'],
    ['no name', ': a'],
  ])('that holds %s reaches no target', async (_, header) => {
    const { send, seen } = await start((socket) => socket.write(ok));
    expect(await send(request('alice', `GET ${maps}`, [header]))).toMatch(/^HTTP\/1\.1 4/);
    expect(seen).toEqual([]);
  });
});

it('a target that answers in thousands of bytes that each come alone is read to its end', async () => {
  const body = 'a'.repeat(3_000);
  const { send } = await start((socket) => {
    socket.setNoDelay(true);
    const text = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const next = (at: number) => {
      if (at < text.length) socket.write(text.charAt(at), () => setImmediate(next, at + 1));
    };
    next(0);
  });
  expect((await send(request('alice'))).endsWith(body)).toBe(true);
});
