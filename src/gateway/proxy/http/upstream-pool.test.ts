import { PassThrough } from 'node:stream';
import type { Dispatcher } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import {
  exchange,
  get,
  Outcome,
  ok,
  send,
  startPool,
  stopPools,
} from '../../../../test/builders/upstream-pool.ts';
import { untilStill, waitFor } from '../../../../test/fakes/wait-for.ts';

afterEach(stopPools);

describe('a pool', () => {
  it('sends requests that follow one another over one connection', async () => {
    const { pool, sockets, seen } = await startPool();
    for (let count = 0; count < 5; count += 1)
      expect(await exchange(pool)).toMatchObject({ status: 200, body: 'ok' });
    expect([sockets.length, seen.length]).toEqual([1, 5]);
  });

  it('has a connection for each request under way', async () => {
    const { pool, sockets } = await startPool((socket) => void setTimeout(() => socket.write(ok), 50));
    await Promise.all(Array.from({ length: 5 }, () => exchange(pool)));
    expect(sockets).toHaveLength(5);
    await Promise.all(Array.from({ length: 5 }, () => exchange(pool)));
    expect(sockets).toHaveLength(5);
  });

  it.each<[string, string, Partial<Dispatcher.DispatchOptions>]>([
    ['the server closes it', ok.replace('Content', 'Connection: close\r\nContent'), {}],
    ['more follows than was announced', `${ok}evil`, {}],
    ['the request was HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n', { method: 'HEAD' }],
    ['an answer has a body that it may not have', 'HTTP/1.1 304 X\r\nContent-Length: 4\r\n\r\nevil', {}],
    ['an answer ends with it', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', {}],
  ])('uses no connection again when %s', async (_, answer, options) => {
    const { pool, sockets } = await startPool((socket) => socket.write(answer));
    for (let count = 0; count < 2; count += 1)
      expect((await exchange(pool, options)).body).not.toContain('evil');
    expect(sockets).toHaveLength(2);
  });

  it('takes nothing that a server sends unasked for an answer', async () => {
    const { pool, sockets } = await startPool();
    await exchange(pool);
    const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
    sockets[0]?.write(evil);
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
    expect((await exchange(pool)).body).toBe('ok');
    expect(sockets).toHaveLength(2);
  });

  it('sends a request over another connection when its own has ended just before', async () => {
    const { pool, sockets } = await startPool();
    await exchange(pool);
    const outcome = send(pool);
    sockets[0]?.destroy();
    await outcome.over;
    expect([outcome.body, outcome.error?.message]).not.toEqual(['', undefined]);
    expect((await exchange(pool)).body).toBe('ok');
  });

  it('closes connections that were idle for a minute', async () => {
    const { pool, sockets, clock } = await startPool();
    await exchange(pool);
    await clock.advanceAsync(59_000, 1_000);
    expect(sockets[0]?.destroyed).toBe(false);
    await clock.advanceAsync(12_000, 1_000);
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
    expect((await exchange(pool)).body).toBe('ok');
  });

  it('lets answers end before it is closed, and takes no more requests', async () => {
    const { pool, sockets } = await startPool(() => undefined);
    const outcome = send(pool);
    await waitFor('the request', () => sockets.length === 1 && outcome.controller !== undefined);
    const closed = pool.close();
    expect((await exchange(pool)).error).toBeInstanceOf(Error);
    sockets[0]?.write(ok);
    await closed;
    expect(outcome).toMatchObject({ body: 'ok', error: undefined });
  });

  it('cuts everything when it is destroyed, also what is being dialled', async () => {
    const { pool, sockets } = await startPool(() => undefined);
    const first = send(pool);
    await waitFor('the request', () => first.controller !== undefined);
    const second = send(pool);
    await pool.destroy();
    await Promise.all([first.over, second.over]);
    expect([first.error, second.error]).toEqual([expect.any(Error), expect.any(Error)]);
    await waitFor('the end at the server', () => sockets.every((socket) => socket.destroyed));
  });
});

describe('a request', () => {
  it('fails when no one listens', async () => {
    const { pool, server } = await startPool();
    server.close();
    expect((await exchange(pool)).error).toBeInstanceOf(Error);
  });

  it.each<[string, Partial<Dispatcher.DispatchOptions>]>([
    ['a line end in a header', { headers: ['a', 'b\r\nimpersonate-user: eve'] }],
    ['a line end in the name of a header', { headers: ['a\r\nb', 'c'] }],
    ['a character that is no byte', { headers: ['a', '\u0100'] }],
    ['a blank in its path', { path: '/a HTTP/1.1' }],
    ['a path without a slash', { path: 'a' }],
    ['a blank in its method', { method: 'GET /' }],
  ])('with %s is not sent', async (_, options) => {
    const { pool, seen } = await startPool();
    expect((await exchange(pool, options)).error).toBeInstanceOf(TypeError);
    expect(seen).toEqual([]);
  });

  it.each<[string, Partial<Dispatcher.DispatchOptions>, string]>([
    ['no body', {}, ''],
    ['no body, where some wait for one', { method: 'POST' }, 'content-length: 0'],
    ['a body that is there', { method: 'PUT', body: Buffer.from('hello') }, 'content-length: 5'],
    ['an empty body', { method: 'PUT', body: Buffer.alloc(0) }, 'content-length: 0'],
    [
      'another length than its body',
      { headers: ['content-length', '9'], body: Buffer.from('hello') },
      'content-length: 5',
    ],
  ])('with %s says so', async (_, options, length) => {
    const { pool, seen } = await startPool();
    await exchange(pool, options);
    const body = options.body ?? '';
    expect(seen.join('')).toMatch(new RegExp(`\r\n${length}\r\n(?:\r\n)?${body}$`));
    expect(seen.join('').match(/content-length/g) ?? []).toHaveLength(length === '' ? 0 : 1);
  });

  it.each<[string, readonly string[], string]>([
    ['of a known length', ['content-length', '10'], 'content-length: 10\r\n\r\nhellohello'],
    ['of an unknown length', [], 'transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n'],
  ])('streams a body %s', async (_, headers, expected) => {
    const { pool, seen } = await startPool((socket) => seen.join('').endsWith(expected) && socket.write(ok));
    const body = new PassThrough();
    const outcome = send(pool, { method: 'POST', headers: [...headers], body });
    body.write('hello');
    await waitFor('the first half', () => seen.join('').includes('hello'));
    body.end('hello');
    await outcome.over;
    expect(outcome.body).toBe('ok');
  });

  it('fails with its body, and ends at the server', async () => {
    const { pool, sockets } = await startPool(() => undefined);
    const body = new PassThrough();
    const outcome = send(pool, { method: 'POST', body });
    await waitFor('the request', () => sockets.length === 1 && outcome.controller !== undefined);
    body.destroy(new Error('the client is gone'));
    await outcome.over;
    expect(outcome.error?.message).toBe('the client is gone');
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
  });

  it('that is answered before its body is whole ends its connection', async () => {
    const { pool, sockets } = await startPool((socket) => socket.write(ok));
    const outcome = await exchange(pool, { method: 'POST', body: new PassThrough() });
    expect(outcome.body).toBe('ok');
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
  });

  it('that is answered before its server has taken all of it holds up no other', async () => {
    const { pool, sockets } = await startPool((socket) => {
      socket.write(ok);
      if (socket === sockets[0]) socket.pause();
    });
    const body = Buffer.alloc(32 * 2 ** 20);
    expect((await exchange(pool, { method: 'POST', body })).body).toBe('ok');
    expect((await exchange(pool)).body).toBe('ok');
    expect(sockets).toHaveLength(2);
    sockets[0]?.destroy();
  });

  it('is aborted once, and ends at the server', async () => {
    const { pool, sockets } = await startPool(() => undefined);
    const outcome = send(pool);
    await waitFor('the request', () => sockets.length === 1 && outcome.controller !== undefined);
    outcome.controller?.abort(new Error('first'));
    outcome.controller?.abort(new Error('second'));
    expect(outcome.error?.message).toBe('first');
    await waitFor('the end at the server', () => sockets[0]?.destroyed === true);
  });

  it('gets what came before the server cut its answer', async () => {
    const { pool } = await startPool((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'),
    );
    const outcome = await exchange(pool);
    expect([outcome.body, outcome.error]).toEqual(['half', expect.any(Error)]);
  });

  it('that waits holds its server back, and gets the rest when it goes on', async () => {
    const size = 50 * 2 ** 20;
    let written = 0;
    const { pool } = await startPool((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
      const fill = () => {
        while (written < size) {
          written += 2 ** 16;
          if (!socket.write(Buffer.alloc(2 ** 16, 'a'))) return;
        }
      };
      socket.on('drain', fill);
      fill();
    });
    const outcome = new Outcome();
    let received = 0;
    outcome.onResponseData = (_: unknown, chunk: Buffer) => {
      if (received === 0) outcome.controller?.pause();
      received += chunk.length;
    };
    pool.dispatch(get, outcome);
    await waitFor('the first bytes', () => received > 0);
    await untilStill('the origin', () => written);
    expect(received).toBeLessThan(2 ** 20);
    expect(written).toBeLessThan(size);
    outcome.controller?.resume();
    await outcome.over;
    expect(received).toBe(size);
  });

  it('may wait at the end of its answer without holding the connection', async () => {
    const { pool, sockets } = await startPool();
    const outcome = new Outcome();
    outcome.onResponseData = () => outcome.controller?.pause();
    pool.dispatch(get, outcome);
    await outcome.over;
    expect((await exchange(pool)).body).toBe('ok');
    expect(sockets).toHaveLength(1);
  });
});
