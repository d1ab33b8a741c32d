import { helpText, readCommandLine } from './command-line.ts';
import { commands, loadCommand } from './commands/index.ts';
import { exitCodes } from './error-catalogue.ts';
import { exitCodeOf, fixOf } from './errors.ts';
import { requireNode } from './node-version.ts';
import { describeError } from './telemetry/error-description.ts';
import { withoutSecrets } from './telemetry/redaction.ts';

async function main(): Promise<number> {
  requireNode(process.versions.node);
  const invocation = readCommandLine(process.argv.slice(2));
  if (invocation.help) {
    console.log(helpText(commands));
    return exitCodes.success;
  }
  const run = await loadCommand(invocation.command);
  const { args = [] } = invocation;
  return run({ environment: process.env, args, signal: stopSignal(), print: (line) => console.log(line) });
}

/** Aborts at the first SIGINT or SIGTERM. More of them change nothing: a terminal and npm may both deliver one Ctrl-C. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => controller.abort());
  return controller.signal;
}

/** Writes what went wrong and what to do; gives the exit code. */
function report(error: unknown): number {
  const fix = fixOf(error);
  const { message, stack } = describeError(error);
  console.error(withoutSecrets([`latchkey: ${message}`, fix ?? stack ?? ''].join('\n')));
  return exitCodeOf(error);
}

// By default Node prints a stray error with all its fields: the headers and bodies of HTTP errors would be among them.
process.on('uncaughtException', (error) => process.exit(report(error)));
process.exit(await main().catch(report));
