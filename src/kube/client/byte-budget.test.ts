import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { ByteBudget } from './byte-budget.ts';

function stageOf({ bytesPerSecond = 10, maxBurst = 10 } = {}) {
  const clock = new FakeClock();
  const budget = new ByteBudget({ clock, bytesPerSecond, maxBurst });
  const paid: string[] = [];
  const laneOf = () => {
    const lane = budget.lane();
    return (name: string, bytes: number) => lane.pay(bytes, () => paid.push(name));
  };
  return { clock, paid, laneOf };
}

describe('a budget of bytes', () => {
  it('lets a burst through at once, and the rest as time goes by', () => {
    const { clock, paid, laneOf } = stageOf();
    const pay = laneOf();
    for (const name of ['a', 'b', 'c']) pay(name, 6);
    expect(paid).toEqual(['a']);
    clock.advance(199);
    expect(paid).toEqual(['a']);
    clock.advance(1);
    expect(paid).toEqual(['a', 'b']);
    clock.advance(600);
    expect(paid).toEqual(['a', 'b', 'c']);
  });

  it('saves up no more than one burst', () => {
    const { clock, paid, laneOf } = stageOf();
    clock.advance(60_000);
    const pay = laneOf();
    for (const name of ['a', 'b', 'c']) pay(name, 5);
    expect(paid).toEqual(['a', 'b']);
  });

  it('lets the lanes take turns, however much one of them wants', () => {
    const { clock, paid, laneOf } = stageOf();
    const [greedy, modest] = [laneOf(), laneOf()];
    for (let count = 0; count < 100; count++) greedy('greedy', 5);
    modest('modest', 5);
    modest('modest', 5);
    clock.advance(2_000);
    expect(paid).toEqual(['greedy', 'greedy', 'greedy', 'modest', 'greedy', 'modest']);
  });

  it('forgets who gives up waiting', () => {
    const { clock, paid, laneOf } = stageOf();
    const [one, other] = [laneOf(), laneOf()];
    one('a', 10);
    const giveUp = one('b', 10);
    other('c', 5);
    giveUp();
    giveUp();
    clock.advance(1_000);
    expect(paid).toEqual(['a', 'c']);
  });

  it('can be asked again while it pays', () => {
    const clock = new FakeClock();
    const lane = new ByteBudget({ clock, bytesPerSecond: 10, maxBurst: 10 }).lane();
    let count = 0;
    const again = (): void => {
      if (++count < 4) lane.pay(5, again);
    };
    lane.pay(5, again);
    expect(count).toBe(2);
    clock.advance(1_000);
    expect(count).toBe(4);
  });

  it('pays everything in the end, and never more than a burst and what time has brought', () => {
    const wishes = fc.array(fc.record({ lane: fc.nat(3), bytes: fc.integer({ min: 1, max: 10 }) }), {
      maxLength: 40,
    });
    const pauses = fc.infiniteStream(fc.nat(500));
    fc.assert(
      fc.property(wishes, pauses, (sizes, times) => {
        const clock = new FakeClock();
        const budget = new ByteBudget({ clock, bytesPerSecond: 10, maxBurst: 10 });
        const lanes = Array.from({ length: 4 }, () => budget.lane());
        const start = clock.monotonic();
        let paid = 0;
        let wanted = 0;
        for (const { lane, bytes } of sizes) {
          wanted += bytes;
          lanes[lane]?.pay(bytes, () => {
            paid += bytes;
            expect(paid).toBeLessThanOrEqual(10 + (clock.monotonic() - start) / 100 + 1e-6);
          });
          clock.advance(times.next().value as number);
        }
        clock.advance(wanted * 110);
        expect(paid).toBe(wanted);
      }),
    );
  });
});
