import { globSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readDocument } from './document.ts';

/** A reader finds a page, and reads it. Facts that people look up stand in docs/reference. */
const maxWords = 15_000;
const maxWordsOfPage = 1_200;
const root = path.resolve(import.meta.dirname, '../..');
const pages = globSync('docs/guide/*.md', { cwd: root }).map((file) => ({ file, words: wordsIn(file) }));

function wordsIn(file: string): number {
  return readDocument(file).split(/\s+/).filter(Boolean).length;
}

it.each(pages)(`$file has at most ${maxWordsOfPage} words`, ({ words }) => {
  expect(words).toBeLessThanOrEqual(maxWordsOfPage);
});

it(`the guide has at most ${maxWords} words`, () => {
  expect(pages.length).toBeGreaterThan(10);
  expect(pages.reduce((sum, { words }) => sum + words, 0)).toBeLessThanOrEqual(maxWords);
});

it.each(pages)('$file begins with its purpose and a 60-second answer', ({ file }) => {
  const [title, purpose, ...sections] = readDocument(file).split(/\n\n/);
  expect(title).toMatch(/^# \S/);
  expect(purpose).toMatch(/\bhere you\b/i);
  expect(sections[0]).toBe('## In 60 seconds');
});
