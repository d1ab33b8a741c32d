import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../test/fakes/cpu-time.ts';
import { Refusal } from './refusal.ts';
import { parseBody, parseObject } from './request-body.ts';

const parse = (text: string, type = 'application/yaml') => parseBody(Buffer.from(text), type);
const read = (text: string, type = 'application/yaml') => parseObject(Buffer.from(text), type);
const aliases = (count: number) => `a: &a [1]\nb:\n${'  - *a\n'.repeat(count)}`;

describe('a body', () => {
  it.each([
    ['application/json', '{"spec":{"a":1}}', { spec: { a: 1 } }],
    ['', '{"a":1}', { a: 1 }],
    ['application/yaml', 'spec:\n  a: 1\n', { spec: { a: 1 } }],
    ['application/yaml', '{"spec":{"a":1}}', { spec: { a: 1 } }],
    ['application/yaml', '{spec: {a: 1}}', { spec: { a: 1 } }],
    ['application/yaml', 'a: yes', { a: true }],
    ['application/yaml', 'a: 0600', { a: 384 }],
    ['application/yaml', 'a: 2026-11-22', { a: '2026-11-22' }],
    ['application/yaml', 'a: !!js/function "x"', { a: 'x' }],
    ['application/yaml', '1: a', { 1: 'a' }],
    ['application/yaml', 'a: &x [1]\nb: *x', { a: [1], b: [1] }],
    ['application/yaml', 'a: {x: 1}\nb: {x: 1}', { a: { x: 1 }, b: { x: 1 } }],
    ['application/yaml', aliases(50), { a: [1], b: Array(50).fill([1]) }],
    ['application/json', `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`, expect.anything()],
  ])('of %s is read: %s', (type, text, value) => {
    expect(parse(text, type)).toEqual({ value });
  });

  it.each([
    ['{', 'application/json', 'not what its Content-Type says'],
    ['a: 1', 'application/json', 'not what its Content-Type says'],
    ['a: [', 'application/yaml', 'no YAML'],
    ['a: [1', 'application/yaml', 'no YAML'],
    ['a: 1\n---\nb: 2', 'application/yaml', 'more than one document'],
    ['spec: 1\nspec: 2', 'application/yaml', 'a key stands twice'],
    ['a: {x: 1, "x": 2}', 'application/yaml', 'a key stands twice'],
    ['? [a, b]\n: 1\n', 'application/yaml', 'no YAML'],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'application/json', 'deeper than 64 levels'],
    [`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, 'application/yaml', 'deeper than 64 levels'],
    [`${'['.repeat(66)}1${']'.repeat(66)}`, 'application/yaml', 'deeper than 64 levels'],
    ['a: &x [*x]', 'application/yaml', 'an alias stands in what has an anchor'],
    ['a: &x [1]\nb: &y {c: [*x]}', 'application/yaml', 'an alias stands in what has an anchor'],
    [aliases(101), 'application/yaml', 'more than 100 aliases'],
    ['a: &x {b: 1}\nc:\n  <<: *x', 'application/yaml', 'it merges maps'],
  ])('%s of %s is refused: %s', (text, type, problem) => {
    expect(parse(text, type)).toEqual({ problem: expect.stringContaining(problem) });
  });

  it('of YAML has a limit of its own, but for JSON under that name', () => {
    const long = 'b'.repeat(16_384);
    expect(parse(`a: ${long}`)).toEqual({ problem: 'more than 16384 characters of YAML' });
    expect(parse(JSON.stringify({ a: long }))).toEqual({ value: { a: long } });
  });

  it.each([
    ['no object', '- a'],
    ['nothing', ''],
  ])('with %s is no object', (_, text) => {
    expect(() => read(text)).toThrow(Refusal);
  });

  it('that cannot be read is not quoted', () => {
    try {
      read('{"key": "a-key-that-nobody-may-see', 'application/json');
      expect.unreachable();
    } catch (error) {
      expect((error as Refusal).answer.body).not.toContain('a-key');
    }
  });

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
    const ms = cpuMs(() => expect(parse(text)).toHaveProperty('problem'));
    expect(ms).toBeLessThan(1_000);
  });

  it.each([
    ['many keys', Array.from({ length: 1_800 }, (_, key) => `k${key}: 1`).join('\n')],
    ['many aliases of nothing', aliases(90)],
  ])('with %s is read in less than a second', (_, text) => {
    const ms = cpuMs(() => expect(parse(text)).toHaveProperty('value'));
    expect(ms).toBeLessThan(1_000);
  });
});
