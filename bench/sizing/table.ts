import type { Sizing, SizingFigure } from './plot.ts';

const head = ['', 'Access keys', 'Memory, MiB', 'Start, s', 'Relist, s', 'Idle CPU, % of a core'];

/** As it stands in the guide. */
export function sizingTable({ figures }: Sizing): string {
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  const rows = figures.toSorted(byProgramAndKeys).map(cellsOf);
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`.replace('|  |', '| |')).join('\n');
}

const byProgramAndKeys = (one: SizingFigure, other: SizingFigure): number =>
  one.program.localeCompare(other.program) || one.keys - other.keys;

const cellsOf = (figure: SizingFigure): readonly string[] => [
  figure.program,
  numberOf(figure.keys),
  numberOf(Math.round(figure.residentMebibytes)),
  numberOf(figure.startSeconds),
  numberOf(figure.relistSeconds),
  numberOf(figure.idlePercent),
];

const numberOf = (value: number | undefined): string =>
  value === undefined ? '–' : value.toLocaleString('en', { maximumFractionDigits: 1 });
