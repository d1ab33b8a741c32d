import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** The text of a file of the project. */
export const readDocument = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** The part of a Markdown text below the heading with this title, up to the next heading. @throws Error without one. */
export function sectionOf(text: string, title: string): string {
  const [, ...parts] = text.split(/^(?=#{1,6} )/m).reduce(collect, ['']);
  const found = parts.find((part) => part.split('\n')[0]?.replace(/^#+ /, '') === title);
  if (found === undefined) throw new Error(`no heading "${title}"`);
  return found;
}

const collect = (parts: string[], part: string): string[] => [...parts, part];

/** The cells of all rows of all tables in a Markdown text, their heads left out. */
export function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  return lines.filter((_, index) => !isHead(lines, index)).map(cellsOf);
}

function isHead(lines: readonly string[], index: number): boolean {
  const isRule = (line: string | undefined): boolean => line !== undefined && /^\|( --- \|)+$/.test(line);
  return isRule(lines[index]) || isRule(lines[index + 1]);
}

const cellsOf = (line: string): string[] =>
  line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());

/** Lists the texts in backquotes in a cell. */
export const codesIn = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
