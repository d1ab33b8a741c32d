import type { JsonObject } from '../../api/json.ts';
import { type Context, type Invocation, type OptionSpec, textOption } from '../shared/context.ts';
import { printable, usage } from '../shared/failure.ts';
import { toJSON, toYAML } from './yaml.ts';

export const outputOption = {
  output: { type: 'string', short: 'o', value: 'FORM', about: 'json, yaml, name or wide. Default: a table.' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export type Form = 'table' | 'wide' | 'json' | 'yaml' | 'name';
const forms: readonly string[] = ['json', 'yaml', 'name', 'wide'];

/** Throws a Failure. */
export function readForm(invocation: Invocation): Form {
  const given = textOption(invocation, 'output');
  if (given === undefined) return 'table';
  if (forms.includes(given)) return given as Form;
  throw usage(
    `there is no output form ${JSON.stringify(given)}`,
    'Write `-o json`, `yaml`, `name` or `wide`.',
  );
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly isWide?: true;
}

export interface Shown<Row> {
  /** For `json` and `yaml`. */
  readonly object: JsonObject;
  readonly rows: readonly Row[];
  readonly name: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** In place of a table without rows. */
  readonly none: string;
}

export function show<Row>(
  shown: Shown<Row>,
  form: Form,
  { stdout, stderr }: Pick<Context, 'stdout' | 'stderr'>,
) {
  switch (form) {
    case 'json':
      return stdout.write(toJSON(shown.object));
    case 'yaml':
      return stdout.write(toYAML(shown.object));
    case 'name':
      return stdout.write(shown.rows.map((row) => `${printable(shown.name(row))}\n`).join(''));
    case 'table':
    case 'wide':
      if (shown.rows.length === 0) return stderr.write(`${shown.none}\n`);
      return stdout.write(
        table(
          shown.rows,
          shown.columns.filter(({ isWide }) => !isWide || form === 'wide'),
        ),
      );
  }
}

function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ cell }) => printable(cell(row)).replaceAll('\n', ' ') || '-')),
  ];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  const lines = cells.map((line) => line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('   '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** One object as a list of its facts. */
export function facts(pairs: readonly (readonly [name: string, value: string | undefined])[]): string {
  const known = pairs.filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '');
  const width = Math.max(...known.map(([name]) => name.length)) + 1;
  return known.map(([name, value]) => `${`${name}:`.padEnd(width)}  ${printable(value)}\n`).join('');
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** A length of time as people say it, in its largest unit. */
export function shortTime(ms: number): string {
  const [unit, size] = units.find(([, size]) => ms >= 2 * size) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ms / size))}${unit}`;
}
