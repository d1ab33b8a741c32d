import { describe, expect, it } from 'vitest';
import { parseOptions } from './options.ts';

describe('the options of a benchmark run', () => {
  it('have the defaults of published results', () => {
    expect(parseOptions([])).toEqual({
      names: [],
      rounds: 5,
      warmUp: 15,
      seconds: 5,
      runs: 1000,
      objects: 10_000,
      keys: 100_000,
      watches: 1000,
      rate: 5000,
      flood: 20_000,
      storm: 5000,
      churn: 600,
      webhookCache: 120,
      eventForEach: false,
    });
  });

  it('take names and numbers', () => {
    const options = parseOptions(['token-issue', '--rounds', '2', '--warm-up=0', '--profile', 'out']);
    expect(options).toMatchObject({ names: ['token-issue'], rounds: 2, warmUp: 0, profile: 'out' });
    expect(parseOptions(['--keys', '0', '--webhook-cache', '2'])).toMatchObject({ keys: 0, webhookCache: 2 });
  });

  it.each([
    [['--rounds', '0'], '--rounds takes a whole number from 1 on, not "0"'],
    [['--objects', 'many'], '--objects takes a whole number from 1 on, not "many"'],
    [['--warm-up', '1.5'], '--warm-up takes a whole number from 0 on, not "1.5"'],
    [['--round', '3'], "Unknown option '--round'"],
  ])('refuse %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });
});
