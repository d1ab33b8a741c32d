import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { WorkQueue } from './work-queue.ts';

let clock: FakeClock;
let queue: WorkQueue;

beforeEach(() => {
  clock = new FakeClock();
  queue = new WorkQueue({ clock, random: () => 1 });
});

const takeAll = async () => {
  const keys: string[] = [];
  while (queue.length > 0) keys.push((await queue.get()) as string);
  return keys;
};

it('what waits for its time is added at once when the clock was set, and what comes later waits again', async () => {
  queue.addAfter('hour', 3_600_000);
  queue.addAfter('day', 86_400_000);
  queue.addDelayed();
  expect(await takeAll()).toEqual(['hour', 'day']);
  expect([queue.delayed, clock.pendingTimers]).toEqual([0, 0]);
  for (const key of ['hour', 'day']) queue.done(key);
  queue.addAfter('hour', 5_000);
  clock.advance(4_999);
  expect(queue.length).toBe(0);
  clock.advance(1);
  expect(await takeAll()).toEqual(['hour']);
});

describe('a queue with owners', () => {
  it('gives the key of another owner after one key of the owner who has thousands', async () => {
    queue = new WorkQueue({ clock, random: () => 1, ownerOf: (key) => key.charAt(0) });
    for (const key of ['m1', 'm2', 'm3', 'a1', 'm4', 'a2']) queue.add(key);
    expect(await takeAll()).toEqual(['m1', 'a1', 'm2', 'a2', 'm3', 'm4']);
  });

  it('takes turns with the owner that a key has when it begins to wait', async () => {
    let owner = 'm';
    queue = new WorkQueue({ clock, random: () => 1, ownerOf: () => owner });
    for (const key of ['m1', 'm2']) queue.add(key);
    owner = 'a';
    queue.add('a1');
    expect(await takeAll()).toEqual(['m1', 'a1', 'm2']);
  });
});

describe('a queue with slots', () => {
  const moved = new Map<string, undefined>();
  const needOf = (key: string) => (moved.has(key) ? undefined : { target: key.charAt(0) });
  beforeEach(() => {
    moved.clear();
    queue = new WorkQueue({ clock, random: () => 1, slots: { needOf, perTarget: 1, perTenant: 1 } });
  });
  const nothing = Symbol('nothing');
  /** Returns what a worker that waits has by now. */
  const now = (waiting: Promise<string | undefined>) => Promise.race([waiting, Promise.resolve(nothing)]);

  it('keeps a key without a slot until one is handed on, in order of arrival and without a timer', async () => {
    for (const key of ['t1', 't2', 't3', 'u1']) queue.add(key);
    expect([await queue.get(), await queue.get()]).toEqual(['t1', 'u1']);
    const idle = queue.get();
    expect([queue.length, queue.waitingForSlot, clock.pendingTimers]).toEqual([0, 2, 0]);
    expect(await now(idle)).toBe(nothing);
    queue.done('t1');
    expect(await idle).toBe('t2');
    queue.add('t1');
    queue.done('t2');
    expect(await queue.get()).toBe('t3');
    queue.done('t3');
    expect(await queue.get()).toBe('t1');
  });

  it('counts a key that stands in line once, however often it is added', async () => {
    let added = 0;
    const slots = { needOf, perTarget: 1, perTenant: 1 };
    queue = new WorkQueue({ clock, random: () => 1, slots, onAdd: () => added++ });
    for (const key of ['t1', 't2']) queue.add(key);
    await queue.get();
    void queue.get();
    for (let times = 0; times < 5; times++) queue.add('t2', 'changed');
    expect([added, queue.waitingForSlot]).toEqual([2, 1]);
  });

  it('keeps what a key has failed so far while it stands in line', async () => {
    for (const key of ['t1', 't2']) queue.add(key);
    queue.addRateLimited('t2');
    await queue.get();
    void queue.get();
    expect(queue.failures('t2')).toBe(1);
  });

  it('puts a key behind the others when it was added while it was worked on', async () => {
    for (const key of ['t1', 't2']) queue.add(key);
    expect(await queue.get()).toBe('t1');
    const idle = queue.get();
    queue.add('t1');
    queue.done('t1');
    expect(await idle).toBe('t2');
    queue.done('t2');
    expect(await queue.get()).toBe('t1');
  });

  it('gives a key at once when it needs no slot any more, and keeps no place in line for it', async () => {
    for (const key of ['t1', 't2', 't3']) queue.add(key);
    await queue.get();
    const [second, third] = [queue.get(), queue.get()];
    moved.set('t2', undefined);
    queue.add('t2');
    expect([await second, queue.waitingForSlot]).toEqual(['t2', 1]);
    queue.done('t1');
    expect(await third).toBe('t3');
  });

  it('gives a key when the time is over for which it needs a slot, whatever else it waits for', async () => {
    const end = clock.monotonic() + 5_000;
    const needOf = (key: string) => {
      const neededForMs = end - clock.monotonic();
      return neededForMs > 0 ? { target: key.charAt(0), neededForMs } : undefined;
    };
    queue = new WorkQueue({ clock, random: () => 1, slots: { needOf, perTarget: 1, perTenant: 1 } });
    queue.add('t1');
    await queue.get();
    queue.addAfter('t2', 1_000);
    queue.add('t2');
    const second = queue.get();
    clock.advance(4_999);
    expect(await now(second)).toBe(nothing);
    clock.advance(1);
    expect([await second, queue.waitingForSlot]).toEqual(['t2', 0]);
  });

  it('comes to an end when all that waits for its time is added, and some of it goes on to stand in line', async () => {
    const end = clock.monotonic() + 5_000;
    const needOf = (key: string) => ({ target: key.charAt(0), neededForMs: end - clock.monotonic() });
    queue = new WorkQueue({ clock, random: () => 1, slots: { needOf, perTarget: 1, perTenant: 1 } });
    for (const key of ['t1', 't2', 't3']) queue.add(key);
    await queue.get();
    const second = queue.get();
    queue.addDelayed();
    expect([await now(second), queue.waitingForSlot, queue.delayed]).toEqual([nothing, 2, 2]);
  });

  it('wakes an idle worker with what another key did not need any more', async () => {
    for (const key of ['t1', 't2', 't3']) queue.add(key);
    await queue.get();
    const second = queue.get();
    queue.done('t1');
    expect(await second).toBe('t2');
    queue.add('u1');
    const [idle, other] = [queue.get(), queue.get()];
    expect(await idle).toBe('u1');
    queue.done('t2');
    expect(await other).toBe('t3');
  });

  it('hands a slot to what changed before it does to what is only listed, also when it stood among that', async () => {
    const slots = { needOf, perTarget: 1, perTenant: 1 };
    queue = new WorkQueue({ clock, random: () => 1, slots });
    for (const key of ['a1', 'a2', 'a3', 'a4']) queue.add(key, 'listed');
    expect(await queue.get()).toBe('a1');
    const next = queue.get();
    queue.add('a-new', 'changed');
    queue.add('a4', 'changed');
    queue.done('a1');
    expect(await next).toBe('a-new');
    queue.done('a-new');
    expect(await queue.get()).toBe('a4');
  });

  it('hands a slot to the owner whose turn it is, however many keys another has in line', async () => {
    const slots = { needOf, perTarget: 1, perTenant: 1 };
    queue = new WorkQueue({ clock, random: () => 1, ownerOf: (key) => key.slice(1, 4), slots });
    for (let index = 0; index < 1_000; index++) queue.add(`teve${index}`);
    const waiting = Array.from({ length: 4 }, () => queue.get());
    queue.add('tann');
    expect([await waiting[0], queue.waitingForSlot]).toEqual(['teve0', 1_000]);
    queue.done('teve0');
    queue.done((await waiting[1]) as string);
    expect(await Promise.all(waiting.slice(1, 3))).toEqual(['teve1', 'tann']);
    queue.done('tann');
    expect(await waiting[3]).toBe('teve2');
  });

  it('drops the line when it is shut down for good, and ends its workers', async () => {
    for (const key of ['t1', 't2']) queue.add(key);
    await queue.get();
    const idle = queue.get();
    queue.shutDown({ discard: true });
    expect([await idle, queue.waitingForSlot]).toEqual([undefined, 0]);
    queue.done('t1');
    expect(await queue.get()).toBeUndefined();
  });

  it('gives what stands in line before it ends, when nothing is discarded', async () => {
    for (const key of ['t1', 't2']) queue.add(key);
    await queue.get();
    const idle = queue.get();
    queue.shutDown();
    expect(await now(idle)).toBe(nothing);
    queue.done('t1');
    expect(await idle).toBe('t2');
    queue.done('t2');
    expect(await queue.get()).toBeUndefined();
  });
});

describe('a queue with keys that are only listed', () => {
  const list = (...keys: string[]) => {
    for (const key of keys) queue.add(key, 'listed');
  };

  it('gives the key that changes before thousands of its owner, also when it waits among them', async () => {
    list(...Array.from({ length: 11_000 }, (_, index) => `l${index}`));
    queue.add('l9000', 'changed');
    queue.add('new');
    expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['l9000', 'new', 'l0']);
  });

  it('leaves a key in its place that is added without an urgency, or listed once more', async () => {
    list('l1', 'l2');
    queue.add('l2');
    queue.add('c1', 'changed');
    list('c1', 'l1');
    expect(await takeAll()).toEqual(['c1', 'l1', 'l2']);
  });

  it('keeps the lane that a key had when it was listed', async () => {
    let owner: string | readonly [string, string] = 'm';
    queue = new WorkQueue({ clock, random: () => 1, ownerOf: () => owner });
    list('m1', 'm2', 'm3');
    owner = ['robot', 'm'];
    queue.add('m3', 'changed');
    expect(await takeAll()).toEqual(['m3', 'm1', 'm2']);
  });

  it('forgets what was discarded', async () => {
    list('l1');
    queue.shutDown({ discard: true });
    expect([queue.length, await queue.get()]).toEqual([0, undefined]);
  });
});

describe('a queue with a bound on what is worked on for one owner', () => {
  const ownerOf = (key: string) => key.charAt(0);

  beforeEach(() => {
    queue = new WorkQueue({ clock, random: () => 1, ownerOf, maxBusyPerOwner: 2 });
  });

  const startWorkers = (count: number) => {
    const got: string[] = [];
    for (let worker = 0; worker < count; worker++) void queue.get().then((key) => got.push(key ?? 'no more'));
    return got;
  };

  it('gives one owner all workers while there is no other', async () => {
    for (const key of ['m1', 'm2', 'm3']) queue.add(key);
    expect(await takeAll()).toEqual(['m1', 'm2', 'm3']);
  });

  it('gives workers that are free to no further key of the one while the other has any', async () => {
    for (const key of ['m1', 'm2', 'a1', 'm3', 'm4']) queue.add(key);
    const got = startWorkers(5);
    await Promise.resolve();
    expect([got, queue.length]).toEqual([['m1', 'a1', 'm2'], 2]);
    queue.done('m1');
    await Promise.resolve();
    expect(got).toEqual(['m1', 'a1', 'm2', 'm3']);
    queue.done('a1');
    await Promise.resolve();
    expect(got).toEqual(['m1', 'a1', 'm2', 'm3', 'm4']);
  });

  it('keeps a worker free of an owner without another, who gets it at once', async () => {
    queue = new WorkQueue({ clock, random: () => 1, ownerOf, maxBusyPerOwner: 1, maxBusyAlone: 2 });
    for (const key of ['m1', 'm2', 'm3', 'm4']) queue.add(key);
    const got = startWorkers(3);
    await Promise.resolve();
    expect(got).toEqual(['m1', 'm2']);
    queue.add('a1');
    await Promise.resolve();
    expect(got).toEqual(['m1', 'm2', 'a1']);
  });

  it('still gives what is queued after the shut-down, and then tells every worker that there is no more', async () => {
    for (const key of ['m1', 'm2', 'a1', 'm3']) queue.add(key);
    const got = startWorkers(5);
    queue.shutDown();
    await Promise.resolve();
    expect(got).toEqual(['m1', 'a1', 'm2']);
    queue.done('a1');
    await Promise.resolve();
    expect(got).toEqual(['m1', 'a1', 'm2', 'm3', 'no more']);
  });

  it('counts a key that is worked on and added again once', async () => {
    for (const key of ['m1', 'a1']) queue.add(key);
    expect(await takeAll()).toEqual(['m1', 'a1']);
    queue.add('m1');
    queue.done('m1');
    queue.add('m2');
    expect(await takeAll()).toEqual(['m1', 'm2']);
  });
});

describe('basic queue', () => {
  it('gives keys in the order in which they came', async () => {
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(await takeAll()).toEqual(['a', 'b', 'c']);
  });

  it('gives a key once that was added twice while it waited', async () => {
    queue.add('a');
    queue.add('a');
    expect([queue.length, await takeAll()]).toEqual([1, ['a']]);
  });

  it('reports each key that is put into it, once while it waits there', async () => {
    let added = 0;
    queue = new WorkQueue({ clock, random: () => 1, onAdd: () => void added++ });
    for (const key of ['a', 'a', 'b']) queue.add(key);
    expect(added).toBe(2);
    queue.add((await queue.get()) as string);
    expect(added).toBe(3);
    queue.addAfter('c', 10);
    expect(added).toBe(3);
    clock.advance(10);
    expect(added).toBe(4);
    queue.shutDown();
    queue.add('d');
    expect(added).toBe(4);
  });

  it('gives a key again that was added while it was worked on, but only after done', async () => {
    queue.add('a');
    await queue.get();
    queue.add('a');
    expect(queue.length).toBe(0);
    queue.done('a');
    expect(await takeAll()).toEqual(['a']);
  });

  it('does not give a key again that was done without being added', async () => {
    queue.add('a');
    await queue.get();
    queue.done('a');
    expect([queue.length, queue.processing]).toEqual([0, 0]);
  });

  it('hands a key straight to a worker that waits', async () => {
    const [first, second] = [queue.get(), queue.get()];
    queue.add('a');
    queue.add('b');
    expect(await Promise.all([first, second])).toEqual(['a', 'b']);
    expect(queue.length).toBe(0);
  });

  it('keeps the order over more keys than one batch of housekeeping', async () => {
    const keys = Array.from({ length: 5_000 }, (_, n) => `key-${n}`);
    for (const key of keys) queue.add(key);
    expect(await takeAll()).toEqual(keys);
  });
});

describe('delaying queue', () => {
  it('gives a key when its time has come', async () => {
    queue.addAfter('a', 50);
    clock.advance(49);
    expect(queue.length).toBe(0);
    clock.advance(1);
    expect(await takeAll()).toEqual(['a']);
  });

  it('gives a key at the earliest of its times, once', async () => {
    queue.addAfter('a', 50);
    queue.addAfter('a', 30);
    queue.addAfter('a', 70);
    clock.advance(30);
    expect(await takeAll()).toEqual(['a']);
    queue.done('a');
    clock.advance(100);
    expect(queue.length).toBe(0);
  });

  it('gives several keys in the order of their times', async () => {
    queue.addAfter('late', 30);
    queue.addAfter('early', 10);
    clock.advance(30);
    expect(await takeAll()).toEqual(['early', 'late']);
  });

  it('adds at once without a delay', () => {
    queue.addAfter('a', 0);
    queue.addAfter('b', -5);
    expect(queue.length).toBe(2);
  });

  it('still gives a delayed key that was added directly meanwhile', async () => {
    queue.addAfter('a', 50);
    queue.add('a');
    expect(await takeAll()).toEqual(['a']);
    queue.done('a');
    clock.advance(50);
    expect(await takeAll()).toEqual(['a']);
  });

  it('refuses a delay that is no number', () => {
    expect(() => queue.addAfter('a', Number.NaN)).toThrow('delayMs must be a finite number');
  });

  it('waits for a time beyond the longest timer of Node', () => {
    const timers: number[] = [];
    const clamped = new FakeClock();
    const real = clamped.setTimer.bind(clamped);
    clamped.setTimer = (callback, delayMs) => {
      timers.push(delayMs);
      return real(callback, Math.min(delayMs, 2 ** 31 - 1));
    };
    const slow = new WorkQueue({ clock: clamped, random: () => 1 });
    slow.addAfter('a', 2 ** 32);
    clamped.advance(2 ** 32 - 1);
    expect([slow.length, timers.length]).toEqual([0, 3]);
    clamped.advance(1);
    expect(slow.length).toBe(1);
  });
});

describe('rate limiting queue', () => {
  it('doubles the delay of each failing key by itself, up to the limit', async () => {
    const limited = new WorkQueue({ clock, random: () => 1, maxBackOffMs: 20 });
    for (const delay of [5, 10, 20, 20]) {
      limited.addRateLimited('a');
      clock.advance(delay - 1);
      expect(limited.length).toBe(0);
      clock.advance(1);
      expect(await limited.get()).toBe('a');
      limited.done('a');
    }
    expect([limited.failures('a'), limited.failures('b')]).toEqual([4, 0]);
  });

  it('reaches 1,000 seconds and no more by default', () => {
    for (let n = 0; n < 40; n++) queue.addRateLimited('a');
    clock.advance(5);
    void queue.get();
    queue.done('a');
    queue.addRateLimited('a');
    clock.advance(999_999);
    expect(queue.length).toBe(0);
    clock.advance(1);
    expect(queue.length).toBe(1);
  });

  it('starts again after forget', () => {
    queue.addRateLimited('a');
    queue.addRateLimited('a');
    queue.forget('a');
    expect(queue.failures('a')).toBe(0);
  });

  it('spreads the delays of keys that fail together', () => {
    const half = new WorkQueue({ clock, random: () => 0 });
    half.addRateLimited('a');
    clock.advance(2.5);
    expect(half.length).toBe(1);
  });
});

describe('shut down', () => {
  it('gives what is queued, then undefined', async () => {
    queue.add('a');
    queue.shutDown();
    queue.add('b');
    expect([await queue.get(), await queue.get()]).toEqual(['a', undefined]);
  });

  it('wakes workers that wait', async () => {
    const waiting = queue.get();
    queue.shutDown();
    expect(await waiting).toBeUndefined();
  });

  it('drops delayed keys and their timer', () => {
    queue.addAfter('a', 50);
    queue.shutDown();
    expect(clock.pendingTimers).toBe(0);
    queue.addAfter('b', 50);
    expect([clock.pendingTimers, queue.delayed]).toEqual([0, 0]);
  });

  it('still gives a key that was added again before the end', async () => {
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.shutDown();
    queue.done('a');
    expect(await queue.get()).toBe('a');
  });

  it('drops what is queued on request', async () => {
    queue.add('a');
    queue.add('b');
    await queue.get();
    queue.shutDown({ discard: true });
    expect(await queue.get()).toBeUndefined();
    queue.done('a');
    expect(queue.length).toBe(0);
  });
});
