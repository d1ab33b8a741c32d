import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { WorkQueue } from './work-queue.ts';

/** The promises of a queue, without any of its machinery. */
class Model {
  now = 0;
  readonly waiting: string[] = [];
  readonly working = new Set<string>();
  readonly again = new Set<string>();
  readonly delayed = new Map<string, number>();

  add(key: string): void {
    if (this.working.has(key)) this.again.add(key);
    else if (!this.waiting.includes(key)) this.waiting.push(key);
  }

  addAfter(key: string, delay: number): void {
    if (delay === 0) return this.add(key);
    const due = this.now + delay;
    this.delayed.set(key, Math.min(due, this.delayed.get(key) ?? due));
  }

  advance(ms: number): void {
    this.now += ms;
    const due = [...this.delayed].filter(([, at]) => at <= this.now).toSorted(([, a], [, b]) => a - b);
    for (const [key] of due) {
      this.delayed.delete(key);
      this.add(key);
    }
  }

  get(): string {
    const key = this.waiting.shift() as string;
    this.working.add(key);
    return key;
  }

  done(key: string): void {
    this.working.delete(key);
    if (this.again.delete(key)) this.waiting.push(key);
  }
}

interface Real {
  readonly clock: FakeClock;
  readonly queue: WorkQueue;
}
type Command = fc.AsyncCommand<Model, Real>;

const command = (
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, real: Real) => unknown,
) => ({
  check,
  toString: () => name,
  async run(model: Model, real: Real) {
    await run(model, real);
    expect(real.queue.length).toBe(model.waiting.length);
    expect(real.queue.processing).toBe(model.working.size);
    expect(real.queue.delayed).toBe(model.delayed.size);
  },
});

const always = () => true;
const keys = fc.constantFrom('a', 'b', 'c', 'd');

const commands: fc.Arbitrary<Command>[] = [
  keys.map((key) =>
    command(`add ${key}`, always, (model, { queue }) => {
      model.add(key);
      queue.add(key);
    }),
  ),
  fc.tuple(keys, fc.nat(20)).map(([key, delay]) =>
    command(`addAfter ${key} ${delay}`, always, (model, { queue }) => {
      // Distinct times, because keys of one time have no order among themselves.
      const distinct = delay === 0 ? 0 : delay + 'abcd'.indexOf(key) / 8;
      model.addAfter(key, distinct);
      queue.addAfter(key, distinct);
    }),
  ),
  fc.nat(25).map((ms) =>
    command(`advance ${ms}`, always, (model, { clock }) => {
      model.advance(ms);
      clock.advance(ms);
    }),
  ),
  fc.constant(
    command(
      'get',
      (model) => model.waiting.length > 0,
      async (model, { queue }) => expect(await queue.get()).toBe(model.get()),
    ),
  ),
  keys.map((key) =>
    command(
      `done ${key}`,
      (model) => model.working.has(key),
      (model, { queue }) => {
        model.done(key);
        queue.done(key);
      },
    ),
  ),
];

it('gives every key that was added, to one worker at a time, delayed ones at their earliest time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 80 }), (sequence) =>
      fc.asyncModelRun(() => {
        const clock = new FakeClock();
        return { model: new Model(), real: { clock, queue: new WorkQueue({ clock, random: () => 1 }) } };
      }, sequence),
    ),
    { numRuns: 300 },
  );
});
