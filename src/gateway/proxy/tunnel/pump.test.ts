import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import { Pump } from './pump.ts';

/** Takes pieces when the test says so. */
class Receiver extends Writable {
  received = 0;
  pieces = 0;
  /** The last bytes of it. */
  text = '';
  readonly #taken: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: 16_384 });
  }

  override _write(bytes: Buffer, _encoding: string, taken: () => void): void {
    this.received += bytes.length;
    this.pieces += 1;
    this.text = (this.text + bytes.toString('latin1')).slice(-100);
    this.#taken.push(taken);
  }

  take(): void {
    this.#taken.shift()?.();
  }
}

function start(user = 'ann') {
  const [from, to] = [new PassThrough({ writableHighWaterMark: 2 ** 24 }), new Receiver()];
  const turns: { bytes: number; comes: () => void }[] = [];
  const turn = async (bytes: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    turns.push({ bytes, comes: resolve });
    await promise;
  };
  const pump = new Pump({ from, to, user, turn });
  pump.start();
  return { from, to, turns, pump };
}

const settled = async () => await new Promise((resolve) => setImmediate(resolve));

it('pieces of one byte that no one takes are put together, in one piece of memory', async () => {
  const { from, to, turns } = start();
  for (let count = 0; count < 1_000; count += 1) {
    from.write('a');
    await settled();
    turns.shift()?.comes();
  }
  expect(to.received).toBe(1);
  to.take();
  await waitFor('all the others', () => to.received === 1_000);
  expect(to.pieces).toBe(2);
});

it.each([1_000, 16_384, 300_000])(
  'leaves what no one takes where it is, in pieces of %i bytes',
  async (size) => {
    const { from, to, turns } = start();
    let sent = 0;
    for (; sent < 2 ** 20; sent += size) {
      from.write(Buffer.alloc(size));
      await settled();
      turns.shift()?.comes();
    }
    const taken = sent - from.readableLength - from.writableLength;
    expect(from.isPaused()).toBe(true);
    expect(taken).toBeLessThanOrEqual(65_536 + 262_144 + 2 * size);
    expect(to.writableLength).toBeLessThanOrEqual(65_536);
  },
);

it('passes on what the bytes were when they came', async () => {
  const { from, to } = start();
  const bytes = Buffer.from('first');
  for (const text of ['first', 'again', 'third']) {
    bytes.write(text);
    from.emit('data', bytes);
  }
  bytes.fill('x');
  to.take();
  await waitFor('all of it', () => to.text === 'firstagainthird');
});

async function expectAllToPass({ from, to, turns }: ReturnType<typeof start>): Promise<void> {
  for (let count = 0; count < 100; count += 1) from.write(Buffer.alloc(1_000));
  await waitFor('all of it', () => {
    to.take();
    turns.shift()?.comes();
    return to.received === 100_000;
  });
}

it('goes on when they are taken', async () => {
  await expectAllToPass(start());
});

it('what is passed on counts for the user, and waits for their turn', async () => {
  const { from, to, turns } = start();
  from.write(Buffer.alloc(300_000));
  await waitFor('the line', () => turns.length === 1);
  expect(turns[0]?.bytes).toBeGreaterThanOrEqual(2 * 262_144);
  for (let count = 0; count < 10; count += 1) {
    to.take();
    await settled();
  }
  from.write('behind');
  await settled();
  expect([to.received, turns.length]).toEqual([300_000, 1]);
  turns[0]?.comes();
  await waitFor('the rest', () => {
    to.take();
    return to.received === 300_006;
  });
});

it('small pieces count for more than their bytes', async () => {
  const { from, to, turns } = start();
  for (let count = 0; count < 64; count += 1) {
    from.write('a');
    await settled();
    to.take();
  }
  expect(turns).toHaveLength(1);
  expect(turns[0]?.bytes).toBeGreaterThan(100_000);
});

it('the user stands in the line once, and pays for all, when a socket hands on a thousand pieces although it was paused', async () => {
  const { from, to, turns } = start();
  for (let count = 0; count < 1_000; count += 1) from.emit('data', Buffer.from('a'));
  await settled();
  expect([turns.length, from.isPaused()]).toEqual([1, true]);
  turns[0]?.comes();
  await settled();
  expect([turns.length, from.isPaused()]).toEqual([2, true]);
  turns[1]?.comes();
  await waitFor('all of them', () => {
    to.take();
    return to.received === 1_000 && !from.isPaused();
  });
  expect(turns.map(({ bytes }) => bytes)).toEqual([64 * 8_192, 936 * 8_192]);
});

it('passes on what came before when it was stopped, and nothing more, also while it waits for its turn', async () => {
  const { from, to, turns, pump } = start();
  from.write(Buffer.alloc(300_000));
  await waitFor('the line', () => turns.length === 1);
  pump.stop();
  expect(to.writableLength).toBe(300_000);
  turns[0]?.comes();
  from.write('behind');
  await waitFor('what came before', () => {
    to.take();
    return to.received === 300_000;
  });
  to.take();
  await settled();
  expect([to.received, to.writableLength]).toEqual([300_000, 0]);
});

it('writes nothing to a receiver that has ended', async () => {
  const { from, to, pump } = start();
  from.write('first');
  await waitFor('it', () => to.received === 5);
  from.write('second');
  await settled();
  const errors: Error[] = [];
  to.on('error', (error) => errors.push(error)).end();
  pump.stop();
  to.take();
  await settled();
  expect([to.received, errors]).toEqual([5, []]);
});

const size = 16_384;

/** How many bytes one takes that no one takes from it. */
async function fill({ from }: ReturnType<typeof start>): Promise<number> {
  let taken = 0;
  from.on('data', ({ length }: Buffer) => {
    taken += length;
  });
  for (let sent = 0; sent < 12; sent += 1) {
    from.write(Buffer.alloc(size));
    await settled();
  }
  return taken;
}

it.each([
  [
    'of many users hold 64 MiB and one piece each',
    1_300,
    (count: number) => `user-${count % 100}`,
    'another',
  ],
  ['of one user hold 16 MiB and one piece each', 400, () => 'bob', 'bob'],
])(
  'receivers who take nothing %s, and those who come after them as much as the first',
  async (_, total, userOf, next) => {
    const stages = [];
    const taken: number[] = [];
    for (let count = 0; count < total; count += 1) {
      const stage = start(userOf(count));
      stages.push(stage);
      taken.push(await fill(stage));
    }
    expect(taken[0]).toBeGreaterThan(2 * size);
    expect(taken.slice(-100)).toEqual(Array.from({ length: 100 }, () => size));
    for (const { to } of stages) to.destroy();
    await settled();
    expect(await fill(start(next))).toBe(taken[0]);
  },
);

it('receivers of one user who take nothing leave those of others as much as before', async () => {
  const first = await fill(start('ann'));
  const stages = Array.from({ length: 1_300 }, () => start('bob'));
  for (const stage of stages.slice(300)) stage.from.write(Buffer.alloc(4 * size));
  for (const stage of stages.slice(0, 300)) await fill(stage);
  expect([await fill(start('bob')), await fill(start('ann'))]).toEqual([size, first]);
  for (const { to } of stages) to.destroy();
});

it('a receiver who takes what it gets has all of it, also while others hold as much as they may', async () => {
  const stages = Array.from({ length: 1_300 }, (_, count) => start(`user-${count % 100}`));
  for (const { from } of stages) from.write(Buffer.alloc(131_072));
  await settled();
  const late = start();
  expect(await fill(late)).toBe(size);
  late.to.destroy();
  await expectAllToPass(start());
  for (const stage of stages) stage.to.destroy();
});
