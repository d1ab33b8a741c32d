import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { type RefusalSum, Strangers } from './strangers.ts';

const refusal = (keyID?: string, source = '10.0.0.1') => ({
  ...{ error: 'ERR_UNAUTHENTICATED', status: 401, keyID, source },
});

function begin() {
  const clock = new FakeClock();
  const sums: RefusalSum[] = [];
  const strangers = new Strangers({ clock, onSum: (sum) => sums.push(sum) });
  /** So many have a line of their own. */
  const send = (count: number, keyID?: string) =>
    Array.from({ length: count }, (_, index) => strangers.admit(refusal(keyID, `10.0.0.${index}`))).filter(
      Boolean,
    ).length;
  return { clock, sums, strangers, send };
}

describe('refusals of strangers', () => {
  it('have a line each up to a rate, and are summed up beyond it', () => {
    const { clock, sums, send } = begin();
    expect(send(5_000)).toBe(100);
    expect(sums).toEqual([]);
    clock.advance(10_000);
    expect(sums.map(({ count, error, sources }) => [count, error, sources.size])).toEqual([
      [4_900, 'ERR_UNAUTHENTICATED', 16],
    ]);
    // In ten seconds.
    expect(send(5_000)).toBe(100);
  });

  it('are summed up for each credential that was sent, for so many at most', () => {
    const { sums, strangers, send } = begin();
    send(100);
    for (let number = 0; number < 1_000; number += 1) send(3, `key-${number}`);
    strangers.flush();
    expect(sums.length).toBeLessThanOrEqual(65);
    expect(sums[0]).toMatchObject({ keyID: 'key-0', count: 3 });
    expect(sums.at(-1)?.keyID).toBeUndefined();
    expect(sums.reduce((all, { count }) => all + count, 0)).toBe(3_000);
  });
});
