import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { OperatorMetrics } from '../../../src/telemetry/metrics/operator.ts';
import { metricsHandler } from '../../../src/telemetry/metrics/registry.ts';
import { type Handler, TelemetryServer } from '../../../src/telemetry/telemetry-server.ts';

const open: TelemetryServer[] = [];

async function start(handler: Handler, closeGraceMs = 50) {
  const address = { host: '127.0.0.1', port: 0 };
  const server = new TelemetryServer({ address, purpose: 'health', handler, closeGraceMs });
  open.push(server);
  const { port } = await server.listen();
  return { server, port };
}

async function send(port: number, path: string, method = 'GET', body = '') {
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>();
  request({ host: '127.0.0.1', port, path, method, agent: false }, resolve).on('error', reject).end(body);
  const answer = await promise;
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

const raw = async (port: number, bytes: string) => {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
};

const hello: Handler = ({ pathname }) => (pathname === '/a' ? { status: 200, body: 'hello\n' } : undefined);

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

describe('TelemetryServer', () => {
  it('answers with what the handler gives, as text that no one caches', async () => {
    const { port } = await start(hello);
    const { status, headers, body } = await send(port, '/a');
    expect({ status, body }).toEqual({ status: 200, body: 'hello\n' });
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '6',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });

  it('answers HEAD without a body, other paths with 404, other methods with 405', async () => {
    const { port } = await start(hello);
    expect(await send(port, '/a', 'HEAD')).toMatchObject({ status: 200, body: '' });
    expect(await send(port, '/b')).toMatchObject({ status: 404, body: 'not found\n' });
    expect(await send(port, '/a', 'POST', 'x')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD', connection: 'close' },
    });
  });

  it('tells nothing of a handler that fails', async () => {
    const { port } = await start(() => {
      throw new Error('secret detail');
    });
    expect(await send(port, '/a')).toMatchObject({ status: 500, body: 'internal error\n' });
  });

  it('refuses a target that is no path, and headers that are too long', async () => {
    const { port } = await start(hello);
    await expect(
      raw(port, 'GET http://[ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
    ).resolves.toContain(' 400 Bad Request');
    await expect(
      raw(port, `GET /a HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`),
    ).resolves.toContain(' 431 Request Header Fields Too Large');
  });

  it('serves metrics in the Prometheus text format', async () => {
    const registry = new Registry();
    new OperatorMetrics(registry);
    const { port } = await start(metricsHandler(registry));
    const { headers, body } = await send(port, '/metrics');
    expect(headers['content-type']).toContain('text/plain; version=0.0.4');
    expect(body).toContain('# TYPE latchkey_leader gauge');
    expect(await send(port, '/')).toMatchObject({ status: 404 });
  });

  it('says which address is taken, and for what', async () => {
    const { port } = await start(hello);
    const second = new TelemetryServer({
      address: { host: '127.0.0.1', port },
      purpose: 'metrics',
      handler: hello,
    });
    await expect(second.listen()).rejects.toMatchObject({
      code: 'ERR_LISTEN',
      message: `cannot listen on 127.0.0.1:${port} for metrics: EADDRINUSE`,
    });
  });

  it('lets an answer under way end when it closes', async () => {
    const answer = Promise.withResolvers<{ status: number; body: string }>();
    const arrived = Promise.withResolvers<void>();
    const { server, port } = await start(() => {
      arrived.resolve();
      return answer.promise;
    }, 5_000);
    const pending = send(port, '/a');
    await arrived.promise;
    const closed = server.close();
    answer.resolve({ status: 200, body: 'late\n' });
    await expect(pending).resolves.toMatchObject({ status: 200, body: 'late\n' });
    await closed;
  });

  it('cuts an answer that takes longer than the grace, and closes twice without harm', async () => {
    const arrived = Promise.withResolvers<void>();
    const { server, port } = await start(() => {
      arrived.resolve();
      return new Promise(() => undefined);
    }, 20);
    const pending = send(port, '/a');
    await arrived.promise;
    const closed = server.close();
    await expect(pending).rejects.toMatchObject({ code: 'ECONNRESET' });
    await closed;
    await expect(server.close()).resolves.toBeUndefined();
  });
});
