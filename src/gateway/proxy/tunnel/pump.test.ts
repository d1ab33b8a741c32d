import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import { Pump } from './pump.ts';

/** Takes pieces when the test says so. */
class Receiver extends Writable {
  received = 0;
  readonly #taken: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: 16_384 });
  }

  override _write(bytes: Buffer, _encoding: string, taken: () => void): void {
    this.received += bytes.length;
    this.#taken.push(taken);
  }

  take(): void {
    this.#taken.shift()?.();
  }
}

function start() {
  const [from, to] = [new PassThrough({ writableHighWaterMark: 2 ** 24 }), new Receiver()];
  const turns: { bytes: number; comes: () => void }[] = [];
  const turn = async (bytes: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    turns.push({ bytes, comes: resolve });
    await promise;
  };
  const pump = new Pump({ from, to, turn });
  pump.start();
  return { from, to, turns, pump };
}

const settled = async () => await new Promise((resolve) => setImmediate(resolve));

it('pieces of one byte that no one takes are left where they are', async () => {
  const { from, to, turns } = start();
  for (let count = 0; count < 1_000; count += 1) {
    from.write('a');
    await settled();
    turns.shift()?.comes();
  }
  expect(to.writableLength).toBeLessThan(100);
  expect(from.isPaused()).toBe(true);
});

it('what follows more than the receiver has room for is left where it is', async () => {
  const { from, to } = start();
  from.write(Buffer.alloc(20_000));
  await waitFor('the first piece', () => to.received === 20_000);
  from.write('behind');
  await settled();
  expect(to.writableLength).toBe(20_000);
});

it('goes on when they are taken', async () => {
  const { from, to, turns } = start();
  for (let count = 0; count < 100; count += 1) from.write(Buffer.alloc(1_000));
  await waitFor('all of it', () => {
    to.take();
    turns.shift()?.comes();
    return to.received === 100_000;
  });
});

it('what is passed on counts for the user, and waits for their turn', async () => {
  const { from, to, turns } = start();
  from.write(Buffer.alloc(300_000));
  await waitFor('the line', () => turns.length === 1);
  const { received } = to;
  expect(turns[0]?.bytes).toBeGreaterThanOrEqual(2 * 262_144);
  for (let count = 0; count < 10; count += 1) {
    to.take();
    await settled();
  }
  from.write('behind');
  await settled();
  expect([to.received, turns.length]).toEqual([received, 1]);
  turns[0]?.comes();
  await waitFor('the rest', () => {
    to.take();
    return to.received === 300_006;
  });
});

it('small pieces count for more than their bytes', async () => {
  const { from, to, turns } = start();
  for (let count = 0; count < 16; count += 1) {
    from.write('a');
    await settled();
    to.take();
  }
  expect(turns).toHaveLength(1);
  expect(turns[0]?.bytes).toBeGreaterThan(100_000);
});

it('passes nothing on when it was stopped, also while it waits for its turn', async () => {
  const { from, to, turns, pump } = start();
  from.write(Buffer.alloc(300_000));
  await waitFor('the line', () => turns.length === 1);
  const { received } = to;
  pump.stop();
  turns[0]?.comes();
  to.take();
  from.write('behind');
  await settled();
  expect(to.received).toBe(received);
});
