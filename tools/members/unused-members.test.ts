import { describe, expect, it } from 'vitest';
import { unusedMembers } from './unused-members.ts';

const find = (...files: readonly string[]) =>
  unusedMembers(new Map(files.map((text, index) => [`src/${index}.ts`, text])));

const withMember = (member: string) => `export class Queue {\n  ${member}\n}\n`;

describe('unusedMembers', () => {
  it.each([
    ['a method', 'drained(): Promise<void> {}'],
    ['a generic method', 'drained<T>(value: T): T {}'],
    ['an asynchronous method', 'async drained(): Promise<void> {}'],
    ['a getter', 'get drained(): boolean {}'],
    ['a field', 'readonly drained = new Set();'],
    ['a field with a type', 'drained: string;'],
    ['a static method', 'static drained(): Queue {}'],
    ['a method over several lines', 'drained(\n    value: string,\n  ): void {}'],
  ])('reports %s that nothing names', (_what, member) => {
    expect(find(withMember(member))).toEqual(['src/0.ts: Queue.drained']);
  });

  it.each([
    ['another file', withMember('drained(): void {}'), 'await queue.drained();'],
    ['the file itself', `${withMember('drained(): void {}')}new Queue().drained();`, ''],
    ['a destructuring', withMember('readonly drained = 1;'), 'const { drained } = queue;'],
  ])('accepts what %s uses', (_what, ...files) => {
    expect(find(...files)).toEqual([]);
  });

  it.each([
    ['an object', 'const a = {\n  drained: 1,\n};'],
    ['an object on one line', 'const a = { drained: 1 };'],
    ['a type', 'interface A {\n  readonly drained?: boolean;\n}'],
  ])('counts no key of %s as a use', (_what, text) => {
    expect(find(withMember('drained(): void {}'), text)).toEqual(['src/0.ts: Queue.drained']);
  });

  it('counts no comment as a use', () => {
    const files = [withMember('drained(): void {}'), '/** See drained. */\nconst a = 1; // drained'];
    expect(find(...files)).toEqual(['src/0.ts: Queue.drained']);
  });

  it('counts nothing in a generated file as a use', () => {
    const files = [
      ['src/queue.ts', withMember('drained(): void {}')],
      ['src/generated/policies.ts', 'export const policies = [\n  {"drained":true}];'],
    ] as const;
    expect(unusedMembers(new Map(files))).toEqual(['src/queue.ts: Queue.drained']);
  });

  it.each([
    ['constructors', withMember('constructor(options: Options) {}')],
    ['private members', withMember('readonly #drained = 1;')],
    ['what says why it stays', withMember('/** @public for others. */\n  drained(): void {}')],
    ['what a base class may call', 'class A extends Base {\n  drained(): void {}\n}\n'],
    ['what an interface asks for', 'class A implements Handler {\n  drained(): void {}\n}\n'],
    ['statements in bodies', withMember('#run(): void {\n    drained();\n  }')],
  ])('says nothing of %s', (_what, text) => {
    expect(find(text)).toEqual([]);
  });
});
