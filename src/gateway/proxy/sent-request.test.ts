import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { waitFor } from '../../../test/fakes/wait-for.ts';
import { RequestSlot, RequestSlots, UpstreamBusy } from '../turns/request-slots.ts';
import { SentRequest } from './sent-request.ts';

const targets: Server[] = [];
const pools: Pool[] = [];
let clock = new FakeClock();
beforeEach(() => {
  clock = new FakeClock();
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.destroy()));
  for (const target of targets.splice(0)) target.close();
});

/** A pool to a server that answers the first bytes of each connection. */
async function startTarget(answer: string | undefined, options: Pool.Options = {}) {
  const sockets: Socket[] = [];
  const target = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined).on('data', () => answer !== undefined && socket.write(answer));
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  targets.push(target);
  const { port } = target.address() as AddressInfo;
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 2, ...options });
  pools.push(pool);
  return { pool, sockets };
}

/** The outcome of a request. */
class Outcome implements Dispatcher.DispatchHandler {
  readonly events: string[] = [];
  error: Error | undefined;
  socket: Duplex | undefined;
  onUpgrade: (controller: Dispatcher.DispatchController) => void = () => undefined;

  onRequestStart(): void {
    this.events.push('start');
  }
  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    _status: number,
    _headers: object,
    socket: Duplex,
  ): void {
    this.events.push('upgrade');
    this.socket = socket;
    this.onUpgrade(controller);
  }
  onResponseStart(): void {
    this.events.push('answer');
  }
  onResponseEnd(): void {
    this.events.push('end');
  }
  onResponseError(_controller: unknown, error: Error): void {
    this.events.push('error');
    this.error = error;
  }
}

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
const get: Dispatcher.DispatchOptions = { path: '/', method: 'GET' };

function send(slots: RequestSlots, perform: (request: SentRequest) => void) {
  const outcome = new Outcome();
  const request = new SentRequest({
    ...{ user: 'alice', slots, handler: outcome, clock },
    maxWaitMs: 1_000,
    send: perform,
  });
  request.enter();
  return { request, outcome };
}

describe('the slot of a request', () => {
  it('is given back with the answer', async () => {
    const { pool } = await startTarget('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const slots = new RequestSlots({ max: 1, maxWaiting: 0 });
    const { outcome } = send(slots, (request) => request.dispatchTo(pool, get));
    expect(slots.taken).toBe(1);
    await waitFor('the answer', () => outcome.events.includes('end'));
    expect(slots.taken).toBe(0);
  });

  it.each<[string, (request: SentRequest) => void]>([
    ['the pool is closed', (request) => request.dispatchTo(closed(), get)],
    ['the pool refuses it', (request) => request.dispatchTo(new Pool('http://a'), { ...get, path: 'b' })],
    ['it fails before', (request) => request.fail(new Error('no identity'))],
  ])('is given back when %s', (_, perform) => {
    const slots = new RequestSlots({ max: 1, maxWaiting: 0 });
    const { outcome } = send(slots, perform);
    expect(outcome.events).toEqual(['error']);
    expect(slots.taken).toBe(0);
  });

  it('is kept by a connection that switched protocols, until that ends', async () => {
    const { pool } = await startTarget(switching);
    const slots = new RequestSlots({ max: 1, maxWaiting: 0 });
    const { outcome } = send(slots, (request) => request.dispatchTo(pool, { ...get, upgrade: 'x' }));
    await waitFor('the switch', () => outcome.socket !== undefined);
    expect(slots.taken).toBe(1);
    outcome.socket?.destroy();
    await waitFor('the slot', () => slots.taken === 0);
  });

  it('is given back once when a switch of protocols is refused', async () => {
    const { pool } = await startTarget(switching);
    const slots = new RequestSlots({ max: 1, maxWaiting: 0 });
    const { outcome } = send(slots, (request) => request.dispatchTo(pool, { ...get, upgrade: 'x' }));
    outcome.onUpgrade = (controller) => controller.abort(new Error('not asked for'));
    await waitFor('the refusal', () => outcome.events.includes('error'));
    expect(slots.taken).toBe(0);
    send(slots, () => undefined);
    await waitFor('the end of the connection', () => outcome.socket?.closed === true);
    expect(slots.taken).toBe(1);
  });

  it('stays taken while a connection is made for a client that left, and nothing is sent then', async () => {
    const dialled = Promise.withResolvers<() => void>();
    const { pool, sockets } = await startTarget(undefined, {
      connect: (_, callback) => dialled.resolve(() => callback(new Error('unreachable'), null)),
    });
    const slots = new RequestSlots({ max: 1, maxWaiting: 0 });
    const { request, outcome } = send(slots, (ready) => ready.dispatchTo(pool, get));
    const fail = await dialled.promise;
    request.abort(new Error('gone'));
    expect(slots.taken).toBe(1);
    fail();
    expect(slots.taken).toBe(0);
    expect([outcome.events, sockets]).toEqual([['error'], []]);
  });

  it('is given back when the client leaves as the connection is there', async () => {
    const { pool } = await startTarget(undefined);
    const slots = new RequestSlots({ max: 1, maxWaiting: 0 });
    const { request, outcome } = send(slots, (ready) => ready.dispatchTo(pool, get));
    request.abort(new Error('gone'));
    await waitFor('the end', () => slots.taken === 0);
    expect(outcome.events).toEqual(['error']);
    expect(outcome.error?.message).toBe('gone');
  });
});

describe('a request in the line', () => {
  it('fails when it waited too long, or is aborted, and is not sent any more', () => {
    const slots = new RequestSlots({ max: 1, maxWaiting: 4 });
    const leave = hold(slots);
    const sent: SentRequest[] = [];
    const late = send(slots, (request) => void sent.push(request));
    clock.advance(500);
    const left = send(slots, (request) => void sent.push(request));
    left.request.abort(new Error('gone'));
    clock.advance(500);
    expect(late.outcome.error).toBeInstanceOf(UpstreamBusy);
    expect(left.outcome.error?.message).toBe('gone');
    leave();
    expect([slots.taken, slots.waiting, sent]).toEqual([0, 0, []]);
  });

  it('is not sent when its client leaves right after its turn came', async () => {
    const slots = new RequestSlots({ max: 1, maxWaiting: 4 });
    const leave = hold(slots);
    const sent: SentRequest[] = [];
    const second = send(slots, (request) => void sent.push(request));
    leave();
    second.request.abort(new Error('gone'));
    await new Promise((resolve) => setImmediate(resolve));
    expect([slots.taken, sent]).toEqual([0, []]);
  });

  it('fails with all others when each fails at once, however long the line is', async () => {
    const slots = new RequestSlots({ max: 1, maxWaiting: 40_000 });
    const leave = hold(slots);
    const requests = Array.from({ length: 20_000 }, () =>
      send(slots, (request) => request.fail(new Error('no identity'))),
    );
    leave();
    await waitFor('the end of all', () => slots.taken === 0 && slots.waiting === 0);
    expect(requests.every(({ outcome }) => outcome.error?.message === 'no identity')).toBe(true);
  });

  it('fails when no identity is there in time', () => {
    const slots = new RequestSlots({ max: 1, maxWaiting: 0 });
    const { outcome } = send(slots, () => undefined);
    clock.advance(1_000);
    expect(outcome.error).toBeInstanceOf(UpstreamBusy);
    expect(slots.taken).toBe(0);
  });
});

/** Takes a slot, and gives it back when called. */
function hold(slots: RequestSlots): () => void {
  class Held extends RequestSlot {
    override onTurn(): void {}
    override onRefused(): void {}
  }
  const slot = new Held('bob');
  slots.enter(slot);
  return () => slots.leave(slot);
}

function closed(): Pool {
  const pool = new Pool('http://127.0.0.1:1');
  void pool.destroy();
  return pool;
}
