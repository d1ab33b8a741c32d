import { version } from '../version.ts';
import { readCommandLine } from './command-line.ts';
import { commandHelp, helpText } from './help.ts';
import { processContext } from './process-context.ts';
import type { Context } from './shared/context.ts';
import { exitCodes, Failure, printable } from './shared/failure.ts';

/** Runs one command line to its end, and gives the exit code. It throws nothing. */
export async function runCommandLine(words: readonly string[], context: Context): Promise<number> {
  try {
    const parsed = readCommandLine(words);
    switch (parsed.kind) {
      case 'help':
        context.stdout.write(parsed.command === undefined ? helpText() : commandHelp(parsed.command));
        return 0;
      case 'version':
        context.stdout.write(`latchkey ${version}\n`);
        return 0;
      case 'run':
        return (await parsed.command.run(parsed.invocation, withPlainNotes(context))) ?? 0;
    }
  } catch (error) {
    return report(error, context);
  }
}

/** Notes quote names that a server gave, and no command has a reason to move the cursor. */
const withPlainNotes = (context: Context): Context => {
  const { stderr } = context;
  return { ...context, stderr: { ...stderr, write: (text) => stderr.write(printable(text)) } };
};

function report(error: unknown, { stderr, env, signal }: Context): number {
  if (signal.aborted) {
    stderr.write('latchkey: stopped\n');
    return stopped;
  }
  const failure = error instanceof Failure ? error : defect(error);
  const isColoured = stderr.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const [red, plain] = isColoured ? ['\u001b[31m', '\u001b[0m'] : ['', ''];
  stderr.write(`${red}latchkey:${plain} ${sentence(failure.message)}\n${sentence(failure.fix)}\n`);
  return exitCodes[failure.kind].code;
}

/** As shells have it for a program that Ctrl-C ended. */
const stopped = 130;

/** Its own text could quote what was read, such as a key. */
const defect = (error: unknown): Failure => {
  const name = error instanceof Error ? error.name : 'Error';
  return new Failure(
    'failure',
    `this program has a defect (${name})`,
    'Report it, with the command that you ran.',
  );
};

const sentence = (text: string): string => printable(text).trim();

/** The same with the process around it. */
export async function runProcess(words: readonly string[]): Promise<void> {
  const { context, end } = processContext();
  process.exitCode = await runCommandLine(words, context);
  end();
}
