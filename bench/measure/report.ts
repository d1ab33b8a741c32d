import type { Section } from '../benchmark.ts';

export interface Report {
  /** `2026-01-31` */
  readonly date: string;
  /** The command line that gives such a report again. */
  readonly command: string;
  readonly facts: readonly string[];
  readonly sections: readonly Section[];
}

/** The results as a Markdown page. */
export function renderReport({ date, command, facts, sections }: Report): string {
  return [
    `# Benchmarks of ${date}`,
    `\`${command}\``,
    list(facts),
    'Each figure is the median over all rounds, with the smallest and the largest in brackets. [How to read them](../README.md).',
    ...sections.map(renderSection),
  ].join('\n\n');
}

/** One benchmark as Markdown. */
export function renderSection({ title, about, table, notes }: Section): string {
  return [`## ${title}`, about, table, ...(notes.length === 0 ? [] : [list(notes)])]
    .join('\n\n')
    .concat('\n');
}

const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n');
