import { expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { Ends } from './ends.ts';

function setUp({ behindMs = 0 } = {}) {
  const clock = new FakeClock();
  const ended: string[] = [];
  const ends = new Ends(
    clock,
    () => clock.now() - behindMs,
    (hash) => ended.push(hash),
  );
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 100) {
      ends.check();
      clock.advance(100);
    }
  };
  return { clock, ends, ended, pass };
}

it('calls back when a token ends, and not before', () => {
  const { clock, ends, ended, pass } = setUp();
  const start = clock.now();
  ends.add('soon', start + 1_500);
  ends.add('later', start + 90_000);
  pass(1_400);
  expect(ended).toEqual([]);
  pass(100);
  expect(ended).toEqual(['soon']);
  pass(90_000);
  expect(ended).toEqual(['soon', 'later']);
});

it('waits on where a timer comes before the end, by the clock of tokens', () => {
  const { clock, ends, ended, pass } = setUp({ behindMs: 250 });
  ends.add('soon', clock.now() + 1_000);
  pass(1_200);
  expect(ended).toEqual([]);
  pass(100);
  expect(ended).toEqual(['soon']);
});

it('makes no timer after it was stopped', () => {
  const { clock, ends, ended } = setUp();
  ends.add('soon', clock.now() + 500);
  ends.check();
  ends.stop();
  clock.advance(1_000);
  expect(ended).toEqual([]);
});
