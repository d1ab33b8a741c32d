import { describe, expect, it } from 'vitest';
import { parseBody } from './request-body.ts';

const parse = (text: string, type = 'application/yaml') => parseBody(Buffer.from(text), type);

describe('a body', () => {
  it.each([
    ['application/json', '{"spec":{"a":1}}', { spec: { a: 1 } }],
    ['', '{"a":1}', { a: 1 }],
    ['application/yaml', 'spec:\n  a: 1\n', { spec: { a: 1 } }],
    ['application/yaml', '{"spec":{"a":1}}', { spec: { a: 1 } }],
    ['application/yaml', 'a: yes', { a: true }],
    ['application/yaml', '1: a', { 1: 'a' }],
    ['application/yaml', 'a: &x [1]\nb: *x', { a: [1], b: [1] }],
    ['application/yaml', 'a: {x: 1}\nb: {x: 1}', { a: { x: 1 }, b: { x: 1 } }],
    ['application/json', `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`, expect.anything()],
  ])('of %s is read: %s', (type, text, value) => {
    expect(parse(text, type)).toEqual({ value });
  });

  it.each([
    ['{', 'application/json', 'not what its Content-Type says'],
    ['a: 1', 'application/json', 'not what its Content-Type says'],
    ['a: [', 'application/yaml', 'no YAML'],
    ['a: 1\n---\nb: 2', 'application/yaml', 'more than one document'],
    ['spec: 1\nspec: 2', 'application/yaml', 'a key stands twice'],
    ['a: {x: 1, "x": 2}', 'application/yaml', 'a key stands twice'],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'application/json', 'deeper than 64 levels'],
    [`${'['.repeat(66)}1${']'.repeat(66)}`, 'application/yaml', 'deeper than 64 levels'],
    ['a: &x [*x]', 'application/yaml', 'not what its Content-Type says'],
  ])('%s of %s is refused: %s', (text, type, problem) => {
    expect(parse(text, type)).toEqual({ problem: expect.stringContaining(problem) });
  });

  const grow = (_: unknown, index: number) => `a${index + 1}: &a${index + 1} [${`*a${index},`.repeat(10)}]`;
  it.each([
    ['levels without end', `a: ${'['.repeat(8_000)}`],
    ['keys that are collections', `${'{'.repeat(400)}a${'}'.repeat(400)}: 1`],
    ['keys in keys', '? '.repeat(4_000)],
    ['aliases that grow', `a0: &a0 [1]\n${Array.from({ length: 12 }, grow).join('\n')}`],
    ['a key many times', 'k: 1\n'.repeat(1_600)],
  ])('with %s is refused soon', (_, text) => {
    const began = performance.now();
    expect(parse(text)).toHaveProperty('problem');
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
