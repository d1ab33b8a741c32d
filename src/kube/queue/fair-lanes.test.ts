import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairLanes } from './fair-lanes.ts';

const names = ['a', 'b', 'c'];
/** A name: push the next key of that lane. `take`: take one, if there is any. */
const steps = fc.array(fc.constantFrom(...names, 'take'), { maxLength: 200 });

interface Taken {
  readonly name: string;
  /** The lanes that had keys at that moment, this one included. */
  readonly waiting: readonly string[];
}

function run(sequence: readonly string[]) {
  const lanes = new FairLanes();
  const waiting = new Map<string, string[]>(names.map((name) => [name, []]));
  const taken: Taken[] = [];
  const take = () => {
    const withKeys = names.filter((name) => waiting.get(name)?.length);
    const key = lanes.take();
    const [name = ''] = (key ?? '').split('-');
    expect(key).toBe(waiting.get(name)?.shift());
    lanes.done(key ?? '');
    taken.push({ name, waiting: withKeys });
  };
  for (const [index, step] of sequence.entries()) {
    if (step === 'take') {
      if (lanes.length > 0) take();
      continue;
    }
    lanes.push(`${step}-${index}`, step);
    waiting.get(step)?.push(`${step}-${index}`);
  }
  while (lanes.length > 0) take();
  return { taken, left: [...waiting.values()].flat() };
}

describe('lanes', () => {
  it('give every key once, and those of one lane in the order in which they came', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        expect(run(sequence).left).toEqual([]);
      }),
    );
  });

  it('give no lane a second turn while another waits for its first', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const { taken } = run(sequence);
        for (const [index, { name, waiting }] of taken.entries())
          for (const other of waiting) expect(turnsWithout(other, name, taken.slice(index))).toBeLessThan(2);
      }),
    );
  });

  it('keep their order over many thousand keys', () => {
    const lanes = new FairLanes();
    for (let index = 0; index < 10_000; index++) lanes.push(`a-${index}`, 'a');
    for (let index = 0; index < 5_000; index++) expect(lanes.take()).toBe(`a-${index}`);
    lanes.push('b-0', 'b');
    expect([lanes.take(), lanes.take(), lanes.take()]).toEqual(['a-5000', 'b-0', 'a-5001']);
  });

  it('are empty after they are cleared', () => {
    const lanes = new FairLanes();
    lanes.push('a-0', 'a');
    lanes.clear();
    lanes.push('b-0', 'b');
    expect([lanes.length, lanes.take(), lanes.length]).toEqual([1, 'b-0', 0]);
  });
});

describe('lanes with a bound on what is taken', () => {
  it('pass over a lane that has as many as it may while another has any, and keep the order of the others', () => {
    const lanes = new FairLanes(1);
    for (const key of ['a-0', 'a-1', 'b-0', 'c-0']) lanes.push(key, key.charAt(0));
    expect([lanes.take(), lanes.take(), lanes.take(), lanes.take()]).toEqual([
      'a-0',
      'b-0',
      'c-0',
      undefined,
    ]);
    lanes.done('b-0');
    expect(lanes.take()).toBeUndefined();
    lanes.done('c-0');
    expect(lanes.take()).toBe('a-1');
  });

  it('let a lane have all again once the others are done', () => {
    const lanes = new FairLanes(1);
    for (const key of ['a-0', 'a-1', 'a-2', 'b-0']) lanes.push(key, key.charAt(0));
    expect([lanes.take(), lanes.take(), lanes.take()]).toEqual(['a-0', 'b-0', undefined]);
    lanes.done('b-0');
    expect([lanes.take(), lanes.take(), lanes.length]).toEqual(['a-1', 'a-2', 0]);
  });

  it('give a lane that is alone its own bound, so that the next lane finds a place', () => {
    const lanes = new FairLanes(1, 2);
    for (const key of ['a-0', 'a-1', 'a-2']) lanes.push(key, 'a');
    expect([lanes.take(), lanes.take(), lanes.take()]).toEqual(['a-0', 'a-1', undefined]);
    lanes.push('b-0', 'b');
    expect([lanes.take(), lanes.take()]).toEqual(['b-0', undefined]);
    lanes.done('b-0');
    expect(lanes.take()).toBeUndefined();
    lanes.done('a-0');
    expect(lanes.take()).toBe('a-2');
  });
});

describe('lanes in a lane', () => {
  it('take turns in the turn of the lane that they are in, however many they are', () => {
    const lanes = new FairLanes();
    for (const user of ['a', 'b', 'c']) for (const nr of [0, 1]) lanes.push(`${user}-${nr}`, ['robot', user]);
    lanes.push('p-0', 'person');
    lanes.push('p-1', 'person');
    const taken = Array.from({ length: 8 }, () => lanes.take());
    expect(taken).toEqual(['a-0', 'p-0', 'b-0', 'p-1', 'c-0', 'a-1', 'b-1', 'c-1']);
    expect([lanes.length, lanes.take()]).toEqual([0, undefined]);
  });

  it('have the bound of the lane together, and each its own while another has any', () => {
    const lanes = new FairLanes(1);
    for (const key of ['a-0', 'a-1', 'b-0']) lanes.push(key, ['robot', key.charAt(0)]);
    expect([lanes.take(), lanes.take(), lanes.take()]).toEqual(['a-0', 'b-0', undefined]);
    lanes.push('p-0', 'person');
    expect([lanes.take(), lanes.take()]).toEqual(['p-0', undefined]);
    for (const key of ['a-0', 'b-0', 'p-0']) lanes.done(key);
    expect([lanes.take(), lanes.take(), lanes.length]).toEqual(['a-1', undefined, 0]);
  });

  it('are empty after they are cleared', () => {
    const lanes = new FairLanes();
    lanes.push('a-0', ['robot', 'a']);
    lanes.push('a-1', ['robot', 'a']);
    lanes.take();
    lanes.clear();
    lanes.push('b-0', ['robot', 'b']);
    expect([lanes.length, lanes.take(), lanes.take()]).toEqual([1, 'b-0', undefined]);
  });
});

describe('keys of one lane that are only listed', () => {
  const takeAll = (lanes: FairLanes) => Array.from({ length: lanes.length }, () => lanes.take());

  it('let those that changed go first, but not more than four in a row', () => {
    const lanes = new FairLanes();
    for (const key of ['l-0', 'l-1', 'l-2']) lanes.push(key, 'a', true);
    for (let index = 0; index < 6; index++) lanes.push(`c-${index}`, 'a');
    expect(takeAll(lanes)).toEqual(['c-0', 'c-1', 'c-2', 'c-3', 'l-0', 'c-4', 'c-5', 'l-1', 'l-2']);
  });

  it('take nothing from the turns of other lanes', () => {
    const lanes = new FairLanes();
    for (const key of ['a-0', 'a-1']) lanes.push(key, 'a', true);
    for (const key of ['b-0', 'b-1', 'b-2']) lanes.push(key, 'b');
    expect(takeAll(lanes)).toEqual(['a-0', 'b-0', 'a-1', 'b-1', 'b-2']);
  });

  it('go forward when they change, in a lane that has lanes of its own too, and count once', () => {
    for (const lane of ['a', ['robot', 'a']] as const) {
      const lanes = new FairLanes();
      for (let index = 0; index < 10_000; index++) lanes.push(`l-${index}`, lane, true);
      expect([lanes.take(), lanes.take()]).toEqual(['l-0', 'l-1']);
      lanes.advance('l-9000', lane);
      for (const gone of ['l-0', 'l-9000']) lanes.advance(gone, lane);
      expect([lanes.length, lanes.take(), lanes.take()]).toEqual([9_998, 'l-9000', 'l-2']);
    }
  });

  it('come all, each once, whatever came between', () => {
    const orders = fc.array(fc.constantFrom('list', 'change', 'advance', 'take'), { maxLength: 200 });
    fc.assert(
      fc.property(orders, (sequence) => {
        const lanes = new FairLanes();
        const taken: (string | undefined)[] = [];
        const pushed: string[] = [];
        const push = (isListed: boolean) => lanes.push(`${pushed.push('') - 1}`, 'a', isListed);
        const steps: Record<string, (index: number) => unknown> = {
          list: () => push(true),
          change: () => push(false),
          advance: (index) => lanes.advance(`${index % 8}`, 'a'),
          take: () => taken.push(lanes.take()),
        };
        for (const [index, step] of sequence.entries()) steps[step]?.(index);
        const keys = [...taken, ...takeAll(lanes)].filter((key) => key !== undefined);
        expect(keys.toSorted()).toEqual(pushed.map((_, index) => `${index}`).toSorted());
      }),
    );
  });
});

/** How often `name` had its turn from here on while `other` waited without one. */
function turnsWithout(other: string, name: string, taken: readonly Taken[]): number {
  if (other === name) return 0;
  const next = taken.findIndex((turn) => turn.name === other || !turn.waiting.includes(other));
  return taken.slice(0, next === -1 ? undefined : next).filter((turn) => turn.name === name).length;
}
