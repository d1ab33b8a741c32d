import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../test/fakes/cpu-time.ts';
import { readYAML } from './read-yaml.ts';

const aliases = (count: number) => `a: &a [1]\nb:\n${'  - *a\n'.repeat(count)}`;
const lines = (line: string, length: number) => line.repeat(Math.ceil(length / line.length));

describe('a short text of YAML', () => {
  const anchored = (_: unknown, index: number) => `- &a${index} 1\n- *a${index}\n`;
  const grow = (_: unknown, index: number) => `a${index + 1}: &a${index + 1} [${`*a${index},`.repeat(10)}]`;
  it.each([
    ['levels without end', `a: ${'['.repeat(10_000)}`],
    ['commas', `[${','.repeat(16_000)}`],
    ['keys that are collections', `${'{'.repeat(400)}a${'}'.repeat(400)}: 1`],
    ['keys in keys', '? '.repeat(4_000)],
    ['keys in keys and an end', `${'? '.repeat(2_000)}a`],
    ['aliases that grow', `a0: &a0 [1]\n${Array.from({ length: 12 }, grow).join('\n')}`],
    ['aliases of many', `a: &a 1\nb: &b\n${'- *a\n'.repeat(3_000)}\nc: *b`],
    ['aliases of many anchors', `a:\n${Array.from({ length: 700 }, anchored).join('')}`],
    ['lists below many levels', `a: ${'['.repeat(1_000)}${'[],'.repeat(4_000)}${']'.repeat(1_000)}`],
    ['merged maps', `a: ${'{<<: '.repeat(1_000)}{a: 1}${'}'.repeat(1_000)}`],
    ['a key many times', 'k: 1\n'.repeat(1_600)],
  ])('with %s is refused in less than a second', (_, text) => {
    const ms = cpuMs(() => expect(readYAML(text)).toHaveProperty('problem'));
    expect(ms).toBeLessThan(1_000);
  });

  it.each([
    ['many keys', Array.from({ length: 1_800 }, (_, key) => `k${key}: 1`).join('\n')],
    ['many aliases of nothing', aliases(90)],
  ])('with %s is read in less than a second', (_, text) => {
    const ms = cpuMs(() => expect(readYAML(text)).toHaveProperty('json'));
    expect(ms).toBeLessThan(1_000);
  });

  it.each([
    ['aliases of a long text', `a: &a "${'x'.repeat(20_000)}"\nb:\n${lines('  - *a\n', 600)}`],
    ['aliases of a long list', `a: &a [${lines('1, ', 20_000)}1]\nb:\n${lines('  - *a\n', 600)}`],
    ['texts that grow', `a: "${lines('\\0', 400_000)}"`],
  ])('with %s is refused, as it would be more than a megabyte of JSON', (_, text) => {
    expect(readYAML(text)).toEqual({ problem: 'it is longer than 1048576 characters as JSON' });
  });
});
