import { expect, it } from 'vitest';
import { readCommandLine } from './command-line.ts';
import { parseOptions, usage } from './options.ts';

it.each([
  ['--help prints what can be asked for', ['--help'], usage, 0],
  ['an unknown option is named, with what there is', ['--round', '3'], "'--round'", 1],
  ['a wrong value is named, with what there is', ['--rounds', 'x'], 'takes a whole number', 1],
])('%s', (_, args, text, exitCode) => {
  const read = readCommandLine(args, usage, parseOptions);
  expect(read).toEqual({ text: expect.stringContaining(text), exitCode });
  expect(read).toEqual({ text: expect.stringContaining(usage), exitCode });
});

it('what is asked for is run', () => {
  expect(readCommandLine(['revoke'], usage, parseOptions)).toMatchObject({ options: { names: ['revoke'] } });
});

it('a fault of the program is no fault of its arguments', () => {
  const parse = () => {
    throw new RangeError('a fault');
  };
  expect(() => readCommandLine([], usage, parse)).toThrow('a fault');
});
