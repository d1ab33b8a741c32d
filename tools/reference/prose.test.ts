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
/** A sentence names its subject; headings and heads of tables end without a full stop. */
const standIn = /^(?:What|Whatever|Whoever|That|Those)\b.*[.:;]\**$/;
/** Words that only we know in this meaning, or that mean two things. `site policy` is a name. */
const privateWords =
  /\b(?:stamp(?:s|ed)?|gaps?|judge[sd]?|works on|stands? in|a return|neighbours?|the site(?! polic)|your site|a site)\b(?!-)/gi;
const stiff = String.raw`\b(?:whoever|whom|he|him|his|himself|nobody|anew)\b`;

/** Texts of several words in the sources that people read: messages, fixes, help and descriptions. */
const messages = globSync('src/**/*.ts', { cwd: root })
  .filter((file) => !file.endsWith('.test.ts') && !file.includes('generated'))
  .flatMap((file) =>
    textsIn(readFileSync(path.join(root, file), 'utf8')).map((text) => [file, text] as const),
  );

function textsIn(source: string): string[] {
  const code = source.replaceAll(/^\s*(?:\/\*\*.*?\*\/|\/\/.*?$)/gms, '');
  const texts = code.matchAll(/'([^'\\\n]*(?:\\.[^'\\\n]*)*)'|`([^`\\]*(?:\\.[^`\\]*)*)`/g);
  return [...texts]
    .map(([, plain, template]) => (plain ?? template ?? '').trim())
    .filter((text) => /\w \w/.test(text));
}

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

/** As a reader sees it, without what marks a list, a quote or a heading. */
const bare = (sentence: string): string => sentence.replace(/^(?:[-*#>[\s]+|\d+\.\s)*/, '');

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

it.each(pages)('%s names the subject of each sentence', (file) => {
  expect(
    sentencesOf(readDocument(file))
      .map(bare)
      .filter((sentence) => standIn.test(sentence)),
  ).toEqual([]);
});

it.each(pages)('%s uses the words of the field', (file) => {
  expect(withoutCode(readDocument(file)).match(privateWords) ?? []).toEqual([]);
});

it('messages name the subject of each sentence and use the words of the field', () => {
  const found = messages.flatMap(([file, text]) => {
    const words = text.match(privateWords) ?? [];
    const starts = text
      .split(/(?<=[.:;])\s/)
      .filter((sentence) => /^(?:What|Whatever|Whoever|Those)\b/i.test(sentence));
    return [...words, ...starts].map((each) => `${file}: ${each}`);
  });
  expect(messages.length).toBeGreaterThan(500);
  expect(found).toEqual([]);
});

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

it('docstrings name their thing', () => {
  // Only where a comment begins: its further lines may begin with any word.
  const begins = String.raw`(?:/\*\*\s+(?:\* )?|(?<!^ *//.*\n)^ *// )`;
  const starts = new RegExp(`${begins}(?:What|Whatever|Whoever|That|Those)\\b.*`, 'gm');
  const found = sources.flatMap((file) =>
    [...readFileSync(path.join(root, file), 'utf8').matchAll(starts)].map(([start]) => `${file}: ${start}`),
  );
  expect(found).toEqual([]);
});

it.each(pages)('%s has no semicolon in a diagram, where it would end the statement', (file) => {
  const diagrams = readDocument(file).match(/^```mermaid\n.*?^```/gms) ?? [];
  expect(diagrams.filter((diagram) => diagram.includes(';'))).toEqual([]);
});
