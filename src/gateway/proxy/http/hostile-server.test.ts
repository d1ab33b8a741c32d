import { PassThrough } from 'node:stream';
import type { Dispatcher } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { exchange, ok, send, startPool, stopPools } from '../../../../test/builders/upstream-pool.ts';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import { BadResponse } from './response-head.ts';
import { UpstreamPool } from './upstream-pool.ts';

afterEach(stopPools);

const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
const answer = (headers: readonly string[], body = '') =>
  ['HTTP/1.1 200 OK', ...headers, '', body].join('\r\n');
const chunked = (body: string) => answer(['Transfer-Encoding: chunked'], body);
const hint = 'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n';

/** A server that does this on its first connection, and answers as it should on all others. */
async function startHostile(...pieces: readonly string[]) {
  const started = await startPool((socket) => {
    if (socket !== started.sockets[0]) return socket.write(ok);
    for (const piece of pieces) socket.write(piece, 'latin1');
    return undefined;
  });
  return started;
}

describe('an answer that can be read in two ways', () => {
  it.each<[string, string]>([
    [
      'has both lengths',
      answer(['Content-Length: 4', 'Transfer-Encoding: chunked'], '4\r\nevil\r\n0\r\n\r\n'),
    ],
    ['has both lengths the other way', answer(['Transfer-Encoding: chunked', 'Content-Length: 4'], 'evil')],
    ['has two lengths', answer(['Content-Length: 4', 'Content-Length: 0'], 'evil')],
    ['has two lengths in one header', answer(['Content-Length: 4, 0'], 'evil')],
    ['has chunks that are compressed', answer(['Transfer-Encoding: gzip, chunked'], 'evil')],
    ['has chunks twice', answer(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], 'evil')],
    ['has chunks in a tab of another kind', answer(['Transfer-Encoding: \x0bchunked'], 'evil')],
    ['has a blank behind the name of its length', answer(['Content-Length : 4'], 'evil')],
    ['hides its length in a continued line', answer(['X: a', ' Content-Length: 4'], 'evil')],
    ['begins with a continued line', answer([' X: a', 'Content-Length: 4'], 'evil')],
    ['hides its length behind LF', answer(['X: a\nContent-Length: 4'], 'evil')],
    ['hides its length behind CR', answer(['X: a\rContent-Length: 4'], 'evil')],
    ['holds NUL', answer(['X: \0', 'Content-Length: 4'], 'evil')],
    ['ends its head with two LF', 'HTTP/1.1 200 OK\nContent-Length: 4\n\nevil\r\n\r\n'],
    ['begins with an empty line', `\r\n\r\n${evil}`],
    ['has an endless head', answer([`X: ${'a'.repeat(20_000)}`])],
    ['has thousands of headers', answer(Array.from({ length: 5_000 }, () => 'a:'))],
    ['has no chunk', chunked('evil')],
    ['has a chunk with a sign', chunked('+4\r\nevil\r\n0\r\n\r\n')],
    ['has a chunk in LF', chunked('4\nevil\n0\n\n')],
    ['has a chunk of more than it says', chunked('4\r\nevil!\r\n0\r\n\r\n')],
    ['has a chunk of gigabytes', chunked('fffffffff\r\nevil')],
    ['hides a chunk in an extension', chunked('0;\n4\r\nevil\r\n0\r\n\r\n')],
    ['has an endless extension', chunked(`4;${'a'.repeat(20_000)}\r\nevil`)],
    ['has endless trailers', chunked(`0\r\n${'a: b\r\n'.repeat(5_000)}\r\n`)],
    ['tells us to go on', `HTTP/1.1 100 Continue\r\n\r\n${evil}`],
    [
      'switches protocols',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nevil',
    ],
    ['never ends its hints', hint.repeat(6) + evil],
    ['is of another protocol', 'HTTP/2 200\r\n\r\nevil'],
    ['is 204 with a length', 'HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil'],
    ['is 204 with chunks', 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['has a length in its hint', `HTTP/1.1 103 Early Hints\r\nContent-Length: ${evil.length}\r\n\r\n${evil}`],
    [
      'is HTTP/1.0 with chunks',
      `HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n`,
    ],
    ['has a status of two digits', 'HTTP/1.1 20 OK\r\nContent-Length: 4\r\n\r\nevil'],
  ])('ends its request and its connection: it %s', async (_, text) => {
    const { pool, sockets } = await startHostile(text);
    expect((await exchange(pool)).error).toBeInstanceOf(BadResponse);
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
    expect(await exchange(pool)).toMatchObject({ body: 'ok', error: undefined });
    expect(sockets).toHaveLength(2);
  });

  it('is over with its first fault: what looks like its end is none', async () => {
    const { pool, sockets } = await startHostile(chunked('5\r\nhello\r\nzz\r\n'), '0\r\n\r\n', evil);
    const outcome = await exchange(pool);
    expect([outcome.body, outcome.error]).toEqual(['hello', expect.any(BadResponse)]);
    expect((await exchange(pool)).body).toBe('ok');
    expect(sockets).toHaveLength(2);
  });

  it('does not end the request that comes next', async () => {
    const { pool } = await startHostile(chunked('5\r\nhello\r\nzz\r\n'));
    await exchange(pool);
    const next = Array.from({ length: 5 }, () => exchange(pool));
    for (const { body, error } of await Promise.all(next)) expect([body, error]).toEqual(['ok', undefined]);
  });

  it('is not one with a few hints in front', async () => {
    const { pool } = await startHostile(hint.repeat(5), ok);
    expect(await exchange(pool)).toMatchObject({ status: 200, body: 'ok' });
  });
});

describe('what stands behind an answer is given to no one', () => {
  it.each<[string, string, Partial<Dispatcher.DispatchOptions>]>([
    ['a length', ok, {}],
    ['the length 0', answer(['Content-Length: 0']), {}],
    ['chunks', chunked('2\r\nok\r\n0\r\n\r\n'), {}],
    ['chunks and trailers', chunked('0\r\nA: b\r\n\r\n'), {}],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', {}],
    ['204 and a length', 'HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n', {}],
    ['304', 'HTTP/1.1 304 Not Modified\r\n\r\n', {}],
    ['304 and a length', `HTTP/1.1 304 Not Modified\r\nContent-Length: ${evil.length}\r\n\r\n`, {}],
    ['304 and chunks', 'HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n', {}],
    ['no body, to HEAD', answer(['Content-Length: 4']), { method: 'HEAD' }],
    ['a body, to HEAD', evil, { method: 'HEAD' }],
  ])('after one with %s', async (_, text, options) => {
    for (const pieces of [
      [text + evil],
      [text, evil],
      [text.slice(0, 20), text.slice(20) + evil.slice(0, 9), evil.slice(9)],
    ]) {
      const { pool, sockets } = await startHostile(...pieces);
      expect((await exchange(pool, options)).body).not.toContain('evil');
      await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
      expect(await exchange(pool)).toMatchObject({ body: 'ok', error: undefined });
      expect(sockets).toHaveLength(2);
    }
  });
});

describe('a connection', () => {
  it.each([
    ['timeout=5', 2_900, 1],
    ['timeout=5', 3_000, 2],
    ['max=100, Timeout=5', 3_000, 2],
    ['timeout=2', 0, 2],
    ['timeout=0', 0, 2],
    ['timeout=999999999', 59_900, 1],
    ['timeout=999999999', 60_000, 2],
    ['timeout=soon', 59_900, 1],
    ['max=1', 59_900, 1],
  ])('with "Keep-Alive: %s" that is idle for %i ms is one of %i', async (hint, idleMs, count) => {
    const { pool, clock, sockets } = await startPool((socket) =>
      socket.write(answer(['Connection: Keep-Alive', `Keep-Alive: ${hint}`, 'Content-Length: 2'], 'ok')),
    );
    await exchange(pool);
    clock.advance(idleMs);
    await exchange(pool);
    expect(sockets).toHaveLength(count);
  });

  it.each(['GET', 'PUT', 'POST', 'DELETE'] as const)(
    'that ends with a %s on it: the server may have done that, and it is not sent again',
    async (method) => {
      const { pool, sockets, seen } = await startPool((socket) =>
        seen.length === 1 ? socket.write(ok) : socket.destroy(),
      );
      await exchange(pool);
      const { error, status } = await exchange(pool, {
        method,
        body: method === 'PUT' ? Buffer.from('a') : null,
      });
      expect([error, status]).toEqual([expect.any(Error), 0]);
      expect([sockets.length, seen.length]).toEqual([1, 2]);
    },
  );

  it('that is free is cut with all others', async () => {
    const { pool, sockets } = await startPool();
    await exchange(pool);
    await pool.destroy();
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
  });

  it('that cannot even be tried fails its request, and keeps nothing open', async () => {
    const pool = new UpstreamPool(new URL('https://127.0.0.1:1'), new FakeClock(), () => () => {
      throw new Error('no key');
    });
    expect((await exchange(pool)).error?.message).toBe('no key');
    await pool.close();
  });

  it('that is reset in the middle of an answer fails it', async () => {
    const { pool, sockets } = await startHostile(answer(['Content-Length: 10'], 'half'));
    const outcome = send(pool);
    await waitFor('the first half', () => outcome.body === 'half');
    sockets[0]?.resetAndDestroy();
    await outcome.over;
    expect([outcome.body, outcome.error]).toEqual(['half', expect.any(Error)]);
  });
});

describe('a request', () => {
  it.each([
    ...['Connection', 'Content-Length', 'Expect', 'Host', 'Keep-Alive', 'Proxy-Connection', 'TE', 'Trailer'],
    ...['Transfer-Encoding', 'Upgrade'],
  ])('says nothing about its connection but what is said here: %s', async (name) => {
    const { pool, seen } = await startPool();
    for (const spelled of [name, name.toLowerCase()].filter((each) => each !== 'content-length')) {
      const { error } = await exchange(pool, {
        method: 'POST',
        headers: [spelled, '1'],
        body: Buffer.from('a'),
      });
      expect(error).toBeInstanceOf(TypeError);
    }
    expect(seen).toEqual([]);
  });

  it.each([
    ['longer, in one piece', ['hello!!']],
    ['longer, in two pieces', ['hello', '!!']],
    ['shorter', ['hell']],
  ])('with a body that is %s than announced fails, and nothing follows it', async (_, pieces) => {
    const { pool, sockets, seen } = await startPool(
      (socket, text) => text.includes('GET') && socket.write(ok),
    );
    const body = new PassThrough();
    const outcome = send(pool, { method: 'POST', headers: ['content-length', '5'], body });
    for (const piece of pieces) body.write(piece);
    body.end();
    await outcome.over;
    expect(outcome.error?.message).toMatch(
      /^the body of the request (?:is longer than announced|ended too early)$/,
    );
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
    expect((await exchange(pool)).body).toBe('ok');
    expect(seen.join('')).not.toContain('!');
  });

  it('whose body is gone is not sent', async () => {
    const { pool, seen } = await startPool();
    const body = new PassThrough();
    body.on('error', () => undefined).destroy(new Error('the client is gone'));
    expect((await exchange(pool, { method: 'POST', body })).error).toBeInstanceOf(Error);
    expect((await exchange(pool)).body).toBe('ok');
    expect(seen.join('')).not.toContain('POST');
  });

  it('that was answered early sends no more of its body, on no connection', async () => {
    const { pool, sockets, seen } = await startPool();
    const body = new PassThrough();
    const outcome = send(pool, { method: 'POST', headers: ['content-length', '1000'], body });
    await outcome.over;
    body.write('GET /evil HTTP/1.1\r\n\r\n');
    expect((await exchange(pool)).body).toBe('ok');
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
    expect(seen.join('')).not.toContain('evil');
  });

  it('gets headers by name, and no server chooses what else that leads to', async () => {
    const headers = [
      'X-A: 1',
      'x-a: 2',
      'X-A: 3',
      'Warning: w',
      '__proto__: a',
      '__PROTO__: b',
      'toString: c',
    ];
    const { pool } = await startPool((socket) => socket.write(answer([...headers, 'Content-Length: 0'])));
    const { headers: byName } = await exchange(pool);
    expect(Object.entries(byName)).toEqual([
      ['x-a', ['1', '2', '3']],
      ['warning', 'w'],
      ['__proto__', ['a', 'b']],
      ['tostring', 'c'],
      ['content-length', '0'],
    ]);
  });
});
