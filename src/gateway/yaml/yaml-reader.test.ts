import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../test/fakes/cpu-time.ts';
import { systemClock } from '../../kube/clock.ts';
import { readYAML } from './read-yaml.ts';
import { YAMLReader, type YAMLReaderLimits, yamlLimits } from './yaml-reader.ts';
import type { YAMLTurnsLimits } from './yaml-turns.ts';

const megabyte = 2 ** 20;
const fill = (begin: string, line: (index: number) => string) => {
  const lines = [begin];
  for (let size = begin.length, index = 0; size < megabyte - 200; index++) {
    const next = line(index);
    lines.push(next);
    size += next.length + 1;
  }
  return lines.join('\n');
};
const annotations = fill(
  'metadata:\n  annotations:',
  (index) => `    example.com/note-${index}: "a text as tools write it beside an object, for others to read"`,
);
const commas = `[${','.repeat(megabyte - 2)}`;
/** A long one. */
const text = (name: string) => `${name}: 1\n${'# as long as it takes\n'.repeat(600)}`;
const start = (limits: Partial<YAMLTurnsLimits> = {}, rest: Partial<YAMLReaderLimits> = {}) =>
  new YAMLReader({
    clock: systemClock,
    limits: {
      ...{ ...yamlLimits, ...rest },
      short: { ...yamlLimits.short, ...limits },
      long: { ...yamlLimits.long, ...limits },
    },
    isAlone: () => true,
  });
/** A short text of commas takes a quarter of a second. */
const shortCommas = `[${','.repeat(8_000)}]`;

/** The longest time in which nothing else came to its turn meanwhile. */
async function longestPause(work: Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const ticks = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  await work;
  clearInterval(ticks);
  return longest;
}

describe('a megabyte of YAML', () => {
  it('is read', async () => {
    const reading = await start().read('alice', annotations);
    const { metadata } = JSON.parse((reading as { json: string }).json);
    expect(Object.keys(metadata.annotations).length).toBeGreaterThan(10_000);
  });

  it('that takes memory without end is given up, and others are served meanwhile', async () => {
    const reader = start();
    const reading = reader.read('mallory', commas);
    const short = reader.read('alice', 'a: 1');
    const first = Promise.race([reading, short]);
    const pause = await longestPause(reading);
    expect(await first).toEqual({ json: '{"a":1}' });
    expect(await reading).toEqual({ problem: 'to read so much YAML takes too much memory' });
    // To read it here takes minutes.
    expect(pause).toBeLessThan(2_000);
  });

  it('that takes too long is given up', async () => {
    const reading = await start({ maxMs: 100, maxHeapBytes: 2 ** 40 }).read('mallory', commas);
    expect(reading).toEqual({ problem: 'to read so much YAML takes too long' });
  });

  it.each([
    ['aliases', `a: &a [1]\nb:\n${'  - *a\n'.repeat(10_000)}`, 'more than 100 aliases'],
    ['a key many times', 'key: 1\n'.repeat(10_000), 'a key stands twice'],
    ['levels', `a: ${'['.repeat(1_000)}${']'.repeat(1_000)}${' '.repeat(5_000)}`, 'nests deeper|no YAML'],
    [
      'merged maps',
      `a: ${'{<<: '.repeat(1_000)}{a: 1}${'}'.repeat(1_000)}`,
      'merges maps|nests deeper|no YAML',
    ],
  ])('is refused with %s as a short one is', async (_, given, problem) => {
    expect(await start().read('alice', given)).toEqual({ problem: expect.stringMatching(problem) });
  });
});

describe('users with long texts of YAML', () => {
  it('take turns', async () => {
    const reader = start();
    const order: string[] = [];
    const read = async (user: string) => {
      await reader.read(user, text(user));
      order.push(user);
    };
    await Promise.all(['mallory', 'mallory', 'mallory', 'alice', 'bob'].map(read));
    expect(order).toEqual(['mallory', 'mallory', 'alice', 'bob', 'mallory']);
  });

  it('have a limit each, and one in all', async () => {
    const reader = start({ ofUser: 2, ofAll: 3 });
    const users = ['mallory', 'mallory', 'mallory', 'alice', 'bob'];
    const readings = await Promise.all(users.map(async (user) => await reader.read(user, text(user))));
    expect(readings.map((reading) => reading !== undefined)).toEqual([true, true, false, true, false]);
    expect(await reader.read('bob', text('bob'))).toEqual({ json: '{"bob":1}' });
  });
});

describe('a short text of YAML', () => {
  it('takes the main thread less than half of the time that it takes to read', async () => {
    const direct = cpuMs(() => readYAML(shortCommas));
    const reader = start();
    await reader.read('alice', 'a: 1');
    const before = process.threadCpuUsage();
    await reader.read('mallory', shortCommas);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(direct / 2);
  });

  it('of one user waits for no more than one text of each other user', async () => {
    const reader = start();
    const order: string[] = [];
    const read = async (user: string, given: string) => {
      await reader.read(user, given);
      order.push(user);
    };
    const flood = Array.from({ length: 8 }, async () => await read('mallory', shortCommas));
    await Promise.all([...flood, read('alice', 'a: 1')]);
    expect(order.indexOf('alice')).toBeLessThanOrEqual(2);
  });

  it('is read after one that took too much, whose thread has ended', async () => {
    const reader = start({ maxHeapBytes: 64 * megabyte }, { maxShort: 2 * megabyte });
    const [bad, good] = await Promise.all([reader.read('mallory', commas), reader.read('alice', 'a: 1')]);
    expect(bad).toEqual({ problem: 'to read so much YAML takes too much memory' });
    expect(good).toEqual({ json: '{"a":1}' });
  });
});
