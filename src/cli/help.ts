import { usageLine } from './command-line.ts';
import { commands } from './commands/index.ts';
import type { CommandSpec, OptionSpec } from './shared/context.ts';
import { exitCodes } from './shared/failure.ts';

/** The text of `latchkey --help`. */
export function helpText(): string {
  return lines([
    'Latchkey gives you keys for the clusters of a platform, and takes them back.',
    '',
    'Usage: latchkey COMMAND [options]',
    '',
    'Commands:',
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    '',
    'Begin with `latchkey login --base-url https://…`. `latchkey COMMAND --help` shows one command.',
    `Exit codes: ${Object.values(exitCodes)
      .map(({ code, about }) => `${code} ${about.replace(/\.$/, '')}`)
      .join('; ')}.`,
  ]);
}

/** The text of `latchkey COMMAND --help`: one screen. */
export function commandHelp(command: CommandSpec): string {
  const { summary, details, arguments: wanted, options, examples } = command;
  return lines([
    `${summary}.`,
    '',
    `Usage: ${usageLine(command)}`,
    ...section(
      'Arguments',
      wanted.map(({ name, about }) => [name.toUpperCase(), about]),
    ),
    ...section(
      'Options',
      Object.entries(options).map(([name, option]) => [optionName(name, option), option.about]),
    ),
    '',
    ...details.flatMap((text) => wrap(text, screenWidth)),
    '',
    'Examples:',
    ...examples.flatMap(({ about, command: text }) => [`  # ${about}`, `  ${text}`]),
  ]);
}

export const optionName = (name: string, { short, value }: OptionSpec): string =>
  `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;

const screenWidth = 100;

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;

const section = (title: string, rows: readonly (readonly [string, string])[]): readonly string[] =>
  rows.length === 0 ? [] : ['', `${title}:`, ...columns(rows)];

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.flatMap(([first, second]) => {
    const [begin = '', ...rest] = wrap(second, screenWidth - width - 4);
    return [`  ${first.padEnd(width)}  ${begin}`, ...rest.map((line) => `${' '.repeat(width + 4)}${line}`)];
  });
}

function wrap(text: string, width: number): readonly string[] {
  const wrapped: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      wrapped.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...wrapped, line];
}
