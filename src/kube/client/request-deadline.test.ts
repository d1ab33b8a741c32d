import type { Dispatcher } from 'undici';
import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { type ClientIdentity, type IdentitySource, makeIdentity } from './client-identity.ts';
import type { ConnectionSource } from './connections.ts';
import { Transport } from './transport.ts';

const identity = makeIdentity(new URL('https://127.0.0.1:6443'), {}, []);
const never = () => new Promise<never>(() => undefined);
const limit = 5_000;

/** A server that refuses our identity, over connections of no one. */
const refusing = {
  dispatch: (_: unknown, handler: Dispatcher.DispatchHandler) => {
    const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
    handler.onRequestStart?.(controller, {});
    handler.onResponseStart?.(controller, 401, {});
    handler.onResponseEnd?.(controller, {});
    return true;
  },
};

function start(authentication: IdentitySource) {
  const clock = new FakeClock();
  const connections = {
    for: () => ({ requests: refusing, watches: refusing }),
    single: () => connections,
    close: async () => undefined,
  } as unknown as ConnectionSource;
  const limits = { connections: 1, watchConnections: 1, maxWaiting: 1 };
  const transport = new Transport({ authentication, clock, userAgent: 'test', ...limits }, connections);
  const abort = new AbortController();
  const sent = transport.send({
    ...{ method: 'PUT', path: '/x', timeoutMs: limit, maxBytes: 1_000 },
    signal: abort.signal,
  });
  let outcome: unknown;
  sent.then(
    ({ status }) => {
      outcome = status;
    },
    (error: unknown) => {
      outcome = error;
    },
  );
  return { clock, abort, transport, outcome: () => outcome };
}

const loads = (): Promise<ClientIdentity> => never();
const secondLoad = () => {
  let count = 0;
  return (): ClientIdentity | Promise<ClientIdentity> => {
    count += 1;
    return count === 1 ? identity : never();
  };
};

it.each<[string, IdentitySource]>([
  ['the first load of credentials', { current: loads, refreshed: async () => false }],
  ['the renewal after a refusal', { current: () => identity, refreshed: never }],
  ['the load after a renewal', { current: secondLoad(), refreshed: async () => true }],
])('the time limit of a request counts %s', async (_, authentication) => {
  const { clock, outcome } = start(authentication);
  await clock.advanceAsync(limit - 1_000, 1_000);
  expect(outcome()).toBe(undefined);
  await clock.advanceAsync(1_000, 1_000);
  expect(outcome()).toMatchObject({ message: expect.stringContaining('5000 ms') });
});

it('a request that is given up ends while credentials are loaded', async () => {
  const { clock, abort, outcome } = start({ current: loads, refreshed: async () => false });
  const reason = new Error('given up');
  abort.abort(reason);
  await clock.settle();
  expect(outcome()).toBe(reason);
});

it('a stream that is given up ends while credentials are loaded', async () => {
  const { transport } = start({ current: loads, refreshed: async () => false });
  const abort = new AbortController();
  const opened = transport.stream({ path: '/x', query: '', signal: abort.signal });
  abort.abort(new Error('given up'));
  await expect(opened).rejects.toThrow('given up');
});

it('a request that got its answer leaves no timer', async () => {
  const { clock, outcome } = start({ current: () => identity, refreshed: async () => false });
  await clock.settle();
  expect(outcome()).toBe(401);
  expect(clock.pendingTimers).toBe(0);
});
