import { parseArgs } from 'node:util';
import { LatchkeyError } from './errors.ts';

/** The request of a command line. */
export type Invocation =
  | { readonly help: true }
  | { readonly help: false; readonly command: string; readonly args?: readonly string[] };

/** Commands of two words. They take arguments and options, as programs that print something do. */
const printing: ReadonlySet<string> = new Set(['direct-endpoint print-config']);

/** `args` without the program. Throws ERR_USAGE. */
export function readCommandLine(args: readonly string[]): Invocation {
  const name = args.slice(0, 2).join(' ');
  if (printing.has(name)) return readPrinting(name, args.slice(2));
  const { values, positionals } = parse(args);
  const [command, ...rest] = positionals;
  if (values.help || command === 'help') return { help: true };
  if (values.version) return { help: false, command: 'version' };
  if (command === undefined) throw new LatchkeyError('ERR_USAGE', { problem: 'no command given' });
  if (rest.length > 0)
    throw new LatchkeyError('ERR_USAGE', { problem: `the command ${command} takes no arguments` });
  return { help: false, command };
}

/** They read options of their own. */
function readPrinting(command: string, args: readonly string[]): Invocation {
  const isAskedForHelp = args.some((arg) => arg === '--help' || arg === '-h');
  return isAskedForHelp ? { help: true } : { help: false, command, args };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } },
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message : 'the command line cannot be read';
    throw new LatchkeyError('ERR_USAGE', { problem }, { cause: error });
  }
}

/** The text of `--help`. */
export function helpText(commands: Readonly<Record<string, { readonly summary: string }>>): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    'Latchkey issues, limits, records and revokes credentials for Kubernetes platforms.',
    '',
    'Usage: latchkey <command>',
    '',
    'Commands:',
    ...lines,
    '',
    'Options:',
    '  -h, --help     Shows this text',
    '  -v, --version  Prints the version',
    '',
    'Settings come from environment variables named LATCHKEY_…; LATCHKEY_BASE_URL is required by operator and gateway.',
  ].join('\n');
}
