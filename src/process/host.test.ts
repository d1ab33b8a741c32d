import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Host, withinGrace } from './host.ts';

const graceMs = 20_000;
const part = 'the operator';

describe('withinGrace', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('lets work take as long as it likes while no one asks it to stop', async () => {
    const work = Promise.withResolvers<void>();
    const waiting = withinGrace(work.promise, part, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(365 * 86_400_000);
    work.resolve();
    await expect(waiting).resolves.toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('passes on what the work fails with', async () => {
    const failure = new Error('the work failed');
    await expect(withinGrace(Promise.reject(failure), part, new AbortController().signal)).rejects.toBe(
      failure,
    );
  });

  it('waits for work that ends within the grace', async () => {
    const stop = new AbortController();
    const work = Promise.withResolvers<void>();
    const waiting = withinGrace(work.promise, part, stop.signal);
    stop.abort();
    await vi.advanceTimersByTimeAsync(graceMs - 1);
    work.resolve();
    await expect(waiting).resolves.toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives up when the grace is over, and says how long it was', async () => {
    const stop = new AbortController();
    const waiting = withinGrace(new Promise(() => undefined), part, stop.signal);
    const outcome = expect(waiting).rejects.toMatchObject({
      code: 'ERR_SHUTDOWN_TIMEOUT',
      message: 'the operator did not stop within 20000 ms',
    });
    await vi.advanceTimersByTimeAsync(graceMs);
    stop.abort();
    await vi.advanceTimersByTimeAsync(graceMs);
    await outcome;
  });

  it('counts from the first abort, also one that came before', async () => {
    const waiting = withinGrace(new Promise(() => undefined), part, AbortSignal.abort(), 100);
    const outcome = expect(waiting).rejects.toMatchObject({ code: 'ERR_SHUTDOWN_TIMEOUT' });
    await vi.advanceTimersByTimeAsync(100);
    await outcome;
  });

  it('does not start counting when the signal aborts after the work has ended', async () => {
    const stop = new AbortController();
    await withinGrace(Promise.resolve(), part, stop.signal);
    stop.abort();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('Host', () => {
  const loopback = { host: '127.0.0.1' };

  /** A host on ports that were free a moment ago. */
  async function start() {
    const [health, metrics] = await freePorts();
    const settings = {
      logLevel: 'fatal',
      healthAddress: { ...loopback, port: health },
      metricsAddress: { ...loopback, port: metrics },
    } as const;
    const host = new Host({ component: 'tester', environment: {}, settings });
    const get = async (port: number, path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    return {
      host,
      settings,
      health: (path: string) => get(health, path),
      metrics: () => get(metrics, '/metrics'),
    };
  }

  it('serves probes and metrics while the work runs, and no longer', async () => {
    const { host, health, metrics } = await start();
    const stop = new AbortController();
    const readiness = { sync: () => 'not synced: secrets' };
    const seen = Promise.withResolvers<void>();
    const run = async () => {
      expect(await health('/livez')).toEqual({ status: 200, text: 'ok\n' });
      expect(await health('/readyz')).toMatchObject({ status: 503 });
      expect((await metrics()).text).toContain('latchkey_build_info');
      seen.resolve();
    };
    await host.run({ readiness, run }, stop.signal);
    await seen.promise;
    await expect(health('/livez')).rejects.toThrow();
  });

  it('lets the work be an object with a state of its own', async () => {
    class Counter {
      readonly readiness = {};
      count = 0;
      async run(): Promise<void> {
        this.count += 1;
      }
    }
    const work = new Counter();
    await (await start()).host.run(work, new AbortController().signal);
    expect(work.count).toBe(1);
  });

  it('passes on what the work fails with, unless it was told to stop', async () => {
    const failure = new Error('the work failed');
    const work = { readiness: {}, run: () => Promise.reject(failure) };
    await expect((await start()).host.run(work, new AbortController().signal)).rejects.toBe(failure);
    await expect((await start()).host.run(work, AbortSignal.abort())).resolves.toBeUndefined();
  });

  it('does not begin to work on an address that is taken', async () => {
    const { host, settings } = await start();
    const taken = createServer().listen(settings.healthAddress);
    await once(taken, 'listening');
    const run = vi.fn();
    const work = { readiness: {}, run };
    await expect(host.run(work, new AbortController().signal)).rejects.toMatchObject({ code: 'ERR_LISTEN' });
    expect(run).not.toHaveBeenCalled();
    taken.close();
  });
});

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()].map((server) => server.listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => promisify(server.close.bind(server))()));
  return ports as [number, number];
}
