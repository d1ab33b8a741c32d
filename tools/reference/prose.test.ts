import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readDocument } from './document.ts';

const root = path.resolve(import.meta.dirname, '../..');
const pages = ['*.md', 'docs/**/*.md'].flatMap((pattern) => globSync(pattern, { cwd: root }));
/** People read their comments, descriptions and messages. */
const manifests = ['config/**/*.yaml', 'config/**/*.lua', 'crds/*.yaml'].flatMap((pattern) =>
  globSync(pattern, { cwd: root }),
);
/** Their comments, messages and test titles. */
const sources = globSync('{src,lab,tools,bench,test}/**/*.ts', { cwd: root }).filter(
  (file) => !file.includes('generated') && file !== 'tools/reference/prose.test.ts',
);
const maxWords = 27;
const stiff = String.raw`\b(?:whoever|whom|he|him|his|himself|nobody|anew)\b`;

const withoutCode = (text: string): string =>
  text
    .replaceAll(/^ *```.*?^ *```/gms, '')
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(/`[^`]*`/g, 'code');

/** Sentences of paragraphs, list items and table cells; a link counts with its text. */
function sentencesOf(text: string): string[] {
  const blocks = withoutCode(text)
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/\n\s*\n|\n(?= *(?:-|\d+\.|\||#) )|\|/);
  return blocks
    .flatMap((block) => block.replaceAll(/\s+/g, ' ').split(/(?<=[.?!:]\**)\s/))
    .map((sentence) => sentence.trim());
}

const wordsOf = (sentence: string): number => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

it.each(pages)('%s has short sentences', (file) => {
  const long = sentencesOf(readDocument(file)).filter((sentence) => wordsOf(sentence) > maxWords);
  expect(long).toEqual([]);
});

it.each(pages)('%s speaks to you, and of people as "you" and "they"', (file) => {
  const words = withoutCode(readDocument(file)).match(new RegExp(stiff, 'gi')) ?? [];
  expect(words).toEqual([]);
});

it.each(pages.filter((file) => /^docs\/(?:guide|reference)\//.test(file)))(
  '%s never says "contract"',
  (file) => {
    expect(readDocument(file).match(/\w*contract\w*/gi) ?? []).toEqual([]);
  },
);

it.each(manifests)('%s speaks of people as "you" and "they"', (file) => {
  // A word between hyphens is part of a name.
  const words = readDocument(file).match(new RegExp(`(?<!-)${stiff}(?!-)`, 'gi')) ?? [];
  expect(words).toEqual([]);
});

it('sources speak of people as "you" and "they"', () => {
  // A whole text, or a word between hyphens or dots, is a value.
  const words = new RegExp(`(?<!['"_.-])${stiff}(?!['"-])`, 'gi');
  const found = sources.flatMap((file) =>
    [...readFileSync(path.join(root, file), 'utf8').matchAll(words)].map(([word]) => `${file}: ${word}`),
  );
  expect(found).toEqual([]);
});

it.each(pages)('%s has no semicolon in a diagram, where it would end the statement', (file) => {
  const diagrams = readDocument(file).match(/^```mermaid\n.*?^```/gms) ?? [];
  expect(diagrams.filter((diagram) => diagram.includes(';'))).toEqual([]);
});
