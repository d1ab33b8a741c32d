import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDocument } from './document.ts';

const root = path.resolve(import.meta.dirname, '../..');
const documents = [
  '*.md',
  'docs/**/*.md',
  'lab/**/*.md',
  'test/**/*.md',
  'bench/**/*.md',
  'config/**/*.md',
].flatMap((pattern) => globSync(pattern, { cwd: root }));

const prose = (text: string): string => text.replaceAll(/^```.*?^```/gms, '');

/** Links to files of the project, with the anchors behind them. */
const linksIn = (text: string): string[] =>
  [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^(https?|mailto):/.test(target));

/** As code hosts make them of headings. */
const anchorsIn = (text: string): string[] =>
  [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

const links = documents.flatMap((file) => linksIn(readDocument(file)).map((target) => ({ file, target })));

describe('links between documents', () => {
  it.each(links)('$file points to $target, which is there', ({ file, target }) => {
    const [name = '', anchor] = target.split('#');
    const linked = name === '' ? file : path.join(path.dirname(file), name);
    expect(existsSync(path.join(root, linked))).toBe(true);
    if (anchor !== undefined) expect(anchorsIn(readDocument(linked))).toContain(anchor);
  });

  it('reach every page of docs/ from its index', () => {
    const pages = documents.filter((file) => file.startsWith('docs/') && file !== 'docs/README.md');
    const reached = links.map(({ file, target }) =>
      path.join(path.dirname(file), (target.split('#')[0] ?? '') || path.basename(file)),
    );
    expect(pages.filter((page) => !reached.includes(page))).toEqual([]);
  });
});
