import { outputOption, readForm, show } from '../output/output.ts';
import { connect, connectionOptions } from '../session/connection.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';
import { findTargets, type UsableTarget } from '../targets/targets.ts';

export const targets: CommandSpec = {
  name: 'targets',
  summary: 'Lists the clusters, spaces and virtual clusters that you may use',
  details: ['You see what your user has the verb `use` on, as far as the scope of your key names it.'],
  arguments: [],
  options: { ...connectionOptions, ...outputOption },
  examples: [
    { about: 'All of them, with the command that opens each', command: 'latchkey targets' },
    { about: 'Their names, for a script', command: 'latchkey targets -o name' },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const form = readForm(invocation);
  const found = await findTargets(connect(invocation, context));
  show<UsableTarget>(
    {
      object: { kind: 'List', apiVersion: 'v1', items: found.map(({ object }) => object) },
      rows: found,
      name: ({ name }) => name,
      columns: [
        { title: 'TARGET', cell: ({ name }) => name },
        { title: 'READY', cell: ({ ready }) => ready },
        { title: 'OPEN IT WITH', cell: ({ name }) => `latchkey kubeconfig ${name} --merge` },
        { title: 'PATH', cell: ({ path }) => `/kubernetes${path}`, isWide: true },
      ],
      none: 'You may use no target: ask for the verb "use" on one, or for a key whose scope names one.',
    },
    form,
    context,
  );
  return undefined;
}
