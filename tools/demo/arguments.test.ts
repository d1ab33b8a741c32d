import { expect, it } from 'vitest';
import { readArguments } from './arguments.ts';

it.each([
  [[], { once: false, help: false }],
  [['--once'], { once: true, help: false }],
  [['--help'], { once: false, help: true }],
  [['--once', 'twice'], { problem: 'unknown argument "twice"' }],
])('reads %j', (args, expected) => {
  expect(readArguments(args)).toEqual(expected);
});
