import type { Samples } from './rounds.ts';
import { summarize } from './statistics.ts';

/** A column: the figure of that key in each sample. */
export interface Measure {
  readonly key: string;
  /** With its unit. */
  readonly title: string;
}

/**
 * A Markdown table with a row for each contender: median and spread (min–max) over all rounds. A figure that a contender
 * does not have is a dash.
 */
export function tableOf(samples: Samples, measures: readonly Measure[]): string {
  const rows = [...samples].map(([name, rounds]) => [
    name,
    ...measures.map(({ key }) =>
      cellOf(rounds.map((sample) => sample[key]).filter((value) => value !== undefined)),
    ),
  ]);
  const head = ['', ...measures.map(({ title }) => title)];
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cellOf(values: readonly number[]): string {
  if (values.length === 0) return '–';
  const { median, min, max } = summarize(values);
  return values.length === 1
    ? `**${figure(median)}**`
    : `**${figure(median)}** (${figure(min)}–${figure(max)})`;
}

/** Three digits are more than a shared machine can tell; whole numbers above that keep all of theirs. */
export function figure(value: number): string {
  const size = Math.abs(value);
  const digits = Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
