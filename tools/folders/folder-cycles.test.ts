import { describe, expect, it } from 'vitest';
import { folderCycles } from './folder-cycles.ts';

/** `{ 'a/x.ts': 'b/y.ts c/z.ts' }`: which file of `src` imports which others. */
function sources(imports: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const lines = (from: string, targets: string) =>
    targets
      .split(' ')
      .filter((target) => target !== '')
      .map((target) => `import { a } from '${'../'.repeat(from.split('/').length - 1) || './'}${target}';\n`);
  return new Map(
    Object.entries(imports).map(([from, targets]) => [`src/${from}`, lines(from, targets).join('')]),
  );
}

const circles: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
  [
    'two folders that import each other',
    { 'a/x.ts': 'b/y.ts', 'b/z.ts': 'a/w.ts' },
    'src: src/a/x.ts imports src/b/y.ts; src/b/z.ts imports src/a/w.ts',
  ],
  [
    'three folders in a circle',
    { 'a/x.ts': 'b/x.ts', 'b/x.ts': 'c/x.ts', 'c/x.ts': 'a/y.ts' },
    'src: src/a/x.ts imports src/b/x.ts; src/b/x.ts imports src/c/x.ts; src/c/x.ts imports src/a/y.ts',
  ],
  [
    'two folders far down',
    { 'a/b/c/x.ts': 'a/b/d/x.ts', 'a/b/d/y.ts': 'a/b/c/y.ts' },
    'src/a/b: src/a/b/c/x.ts imports src/a/b/d/x.ts; src/a/b/d/y.ts imports src/a/b/c/y.ts',
  ],
  [
    'folders whose subfolders import each other',
    { 'a/deep/x.ts': 'b/x.ts', 'b/deep/x.ts': 'a/x.ts' },
    'src: src/a/deep/x.ts imports src/b/x.ts; src/b/deep/x.ts imports src/a/x.ts',
  ],
  [
    'a folder and its own subfolder',
    { 'a/x.ts': 'a/sub/x.ts', 'a/sub/y.ts': 'a/y.ts' },
    'src/a: src/a/x.ts imports src/a/sub/x.ts; src/a/sub/y.ts imports src/a/y.ts',
  ],
  [
    'a folder and a file of the topmost folder',
    { 'a/x.ts': 'errors.ts', 'errors.ts': 'a/y.ts' },
    'src: src/a/x.ts imports src/errors.ts; src/errors.ts imports src/a/y.ts',
  ],
];

const straight: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['one way only', { 'a/x.ts': 'b/x.ts c/x.ts', 'b/x.ts': 'c/x.ts' }],
  ['files of one folder in a circle, which another rule refuses', { 'a/x.ts': 'a/y.ts', 'a/y.ts': 'a/x.ts' }],
  ['a subfolder that imports its parent', { 'a/sub/x.ts': 'a/y.ts', 'b/x.ts': 'a/sub/x.ts' }],
  ['files of the topmost folder above and below others', { 'main.ts': 'a/x.ts', 'a/x.ts': 'errors.ts' }],
];

describe('folderCycles', () => {
  it.each(circles)('refuses %s', (_, imports, message) => {
    expect(folderCycles(sources(imports), 'src')).toEqual([message]);
  });

  it.each(straight)('accepts %s', (_, imports) => {
    expect(folderCycles(sources(imports), 'src')).toEqual([]);
  });

  it.each([
    ['types', "import type { A } from '../b/x.ts';"],
    ['re-exports', "export { a } from '../b/x.ts';"],
    ['dynamic imports', "const a = await import('../b/x.ts');"],
    ['imports for their effect', "import '../b/x.ts';"],
  ])('counts %s', (_, line) => {
    const both = new Map([
      ['src/a/x.ts', line],
      ['src/b/x.ts', "import { a } from '../a/y.ts';"],
    ]);
    expect(folderCycles(both, 'src')).toHaveLength(1);
  });
});
