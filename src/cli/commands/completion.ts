import { completionScript } from '../output/completion.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';
import { usage } from '../shared/failure.ts';

/** `commands`: all of them, this one too. */
export const completion = (commands: () => readonly CommandSpec[]): CommandSpec => ({
  name: 'completion',
  summary: 'Prints a script with which your shell completes commands and options',
  details: ['Names of targets and keys are not completed: the shell would send your key for each of them.'],
  arguments: [{ name: 'shell', about: 'bash, zsh or fish.' }],
  options: {},
  examples: [
    { about: 'In this bash', command: 'source <(latchkey completion bash)' },
    {
      about: 'In every fish',
      command: 'latchkey completion fish > ~/.config/fish/completions/latchkey.fish',
    },
  ],
  run: async (invocation: Invocation, context: Context) => {
    const [shell = ''] = invocation.positionals;
    const script = completionScript(shell, commands());
    if (script === undefined)
      throw usage(`there is no completion for ${JSON.stringify(shell)}`, 'Write bash, zsh or fish.');
    context.stdout.write(script);
    return undefined;
  },
});
