import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { systemClock } from '../clock.ts';
import { WorkQueue } from './work-queue.ts';
import { runWorkers } from './workers.ts';

let clock: FakeClock;
let queue: WorkQueue;

beforeEach(() => {
  clock = new FakeClock();
  queue = new WorkQueue({ clock, random: () => 1 });
});

it('works on as many keys at a time as there are workers, and on every key', async () => {
  let running = 0;
  let most = 0;
  const worked: string[] = [];
  for (let n = 0; n < 20; n++) queue.add(`key-${n}`);
  queue.shutDown();
  await runWorkers({
    queue,
    workers: 3,
    clock,
    log: silentLogger,
    work: async (key) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      worked.push(key);
      return undefined;
    },
  });
  expect([most, worked.length]).toEqual([3, 20]);
});

it('brings a key again with growing delay when the work throws, and forgets after success', async () => {
  const errors: [string, number][] = [];
  let attempts = 0;
  const running = runWorkers({
    queue,
    workers: 1,
    clock,
    log: silentLogger,
    onError: (key, _error, failures) => errors.push([key, failures]),
    work: async () => {
      if (++attempts <= 2) throw new Error('not yet');
      return undefined;
    },
  });
  queue.add('a');
  await clock.advanceAsync(50, 1);
  expect([attempts, queue.failures('a')]).toEqual([3, 0]);
  expect(errors).toEqual([
    ['a', 1],
    ['a', 2],
  ]);
  queue.shutDown();
  await running;
});

it('logs a failure once when there is no handler', async () => {
  const messages: string[] = [];
  queue.add('a');
  queue.shutDown();
  const work = async () => Promise.reject(new Error('no'));
  await runWorkers({
    queue,
    workers: 1,
    clock,
    work,
    log: { ...silentLogger, error: (_, text) => messages.push(text) },
  });
  expect(messages).toEqual(['reconcile failed; it will be tried again']);
});

it('works on a key again when the work asks for it', async () => {
  let attempts = 0;
  const work = async () => (++attempts === 1 ? { requeueAfterMs: 100 } : undefined);
  const running = runWorkers({ queue, workers: 1, clock, log: silentLogger, work });
  queue.add('a');
  await clock.settle();
  await clock.advanceAsync(99, 33);
  expect(attempts).toBe(1);
  await clock.advanceAsync(2, 1);
  expect(attempts).toBe(2);
  queue.shutDown();
  await running;
});

it('lets timers run while it works on keys that never wait for anything', async () => {
  const busy = new WorkQueue({ clock: systemClock, random: () => 1 });
  for (let n = 0; n < 60; n++) busy.add(`key-${n}`);
  busy.shutDown();
  let left = -1;
  setImmediate(() => (left = busy.length));
  const work = async () => {
    const end = performance.now() + 1;
    while (performance.now() < end);
    return undefined;
  };
  await runWorkers({ queue: busy, workers: 2, clock: systemClock, log: silentLogger, work });
  expect(left).toBeGreaterThan(0);
});
