import { expect, it } from 'vitest';
import { progress } from './progress.ts';

it('puts the seconds since the start before each line', () => {
  const lines: string[] = [];
  let now = 5000;
  const say = progress(
    (line) => lines.push(line),
    () => now,
  );
  say('a');
  now += 61_250;
  say('b');
  expect(lines).toEqual(['[   0.0 s] a', '[  61.3 s] b']);
});
