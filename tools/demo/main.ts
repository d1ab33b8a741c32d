// npm run demo [-- --once] [--verbose]: Latchkey on a control plane of its own, on this machine. Nothing outlives it.
import { constants } from 'node:os';
import { endWithNpm } from '../../lab/controlplane/end-with-npm.ts';
import { readArguments, usage } from './arguments.ts';
import { runDemo } from './demo.ts';
import { Interrupt, Interrupted } from './interrupt.ts';
import { progress } from './progress.ts';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const say = progress((line) => void process.stderr.write(`${line}\n`));

async function main(): Promise<number> {
  endWithNpm();
  const options = readArguments(process.argv.slice(2), process.env);
  if ('problem' in options) {
    process.stderr.write(`demo: ${options.problem}\n${usage}\n`);
    return 2;
  }
  if (options.help) {
    print(usage);
    return 0;
  }
  const interrupt = new Interrupt();
  try {
    await runDemo({ once: options.once, verbose: options.verbose, print, say, interrupt });
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return 128 + constants.signals[error.signal];
    process.stderr.write(`\ndemo: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

// Explicit, because a build that was interrupted would keep the process alive until it is done.
process.exit(await main());
