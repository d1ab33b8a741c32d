import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Misses, type MissesOptions } from './misses.ts';

function start(changes: Partial<MissesOptions> = {}) {
  const clock = new FakeClock();
  const misses = new Misses({ clock, perMinute: 60, maxAddresses: 1_000, ...changes });
  /** How many of so many misses are let through. */
  const miss = (address: string, count: number): number =>
    Array.from({ length: count }, () => misses.isTooMany(address)).filter((isTooMany) => !isTooMany).length;
  return { clock, miss };
}

describe('misses from one address', () => {
  it('are let through up to the limit at once, then at its rate', () => {
    const { clock, miss } = start();
    expect(miss('192.0.2.1', 100)).toBe(60);
    clock.advance(5_000);
    expect(miss('192.0.2.1', 100)).toBe(5);
    clock.advance(60_000);
    expect(miss('192.0.2.1', 100)).toBe(60);
  });

  it('are let through up to the limit at every moment', () => {
    const { clock, miss } = start({ perMinute: 1 });
    clock.advance(1_036_559.8776258755);
    expect(miss('192.0.2.1', 2)).toBe(1);
  });

  it('are let through without end at a lower rate', () => {
    const { clock, miss } = start();
    for (let second = 0; second < 300; second += 1) {
      expect(miss('192.0.2.1', 1)).toBe(1);
      clock.advance(1_000);
    }
  });

  it('are refused for as long as they go on too fast, and no longer', () => {
    const { clock, miss } = start();
    let passed = 0;
    for (let second = 0; second < 300; second += 1) {
      passed += miss('192.0.2.1', 10);
      clock.advance(1_000);
    }
    expect(passed).toBe(60 + 299);
    clock.advance(1_000);
    expect(miss('192.0.2.1', 1)).toBe(1);
  });

  it('do not count for another one, and one IPv6 network is one address', () => {
    const { miss } = start();
    miss('2001:db8::1', 100);
    expect(miss('2001:db8::ffff:2', 1)).toBe(0);
    expect(miss('2001:db8:0:1::1', 1)).toBe(1);
    expect(miss('192.0.2.1', 1)).toBe(1);
  });

  it('have no limit when it is 0', () => {
    expect(start({ perMinute: 0 }).miss('192.0.2.1', 10_000)).toBe(10_000);
  });
});

describe('more addresses than are remembered', () => {
  it('are never refused for that, and those that miss most recently stay remembered', () => {
    const { miss } = start({ maxAddresses: 100 });
    for (let index = 0; index < 10_000; index += 1)
      expect(miss(`10.0.${index >> 8}.${index & 255}`, 60)).toBe(60);
    expect(miss('10.0.39.15', 1)).toBe(0);
    expect(miss('10.0.0.0', 1)).toBe(1);
  });
});
