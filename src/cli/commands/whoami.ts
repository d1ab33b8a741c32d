import { parseInstant } from '../../api/instant.ts';
import { asObject, asText, asTexts } from '../../api/json.ts';
import { facts, outputOption, readForm, shortTime, show } from '../output/output.ts';
import { describeScopes } from '../output/scopes.ts';
import { connect, connectionOptions } from '../session/connection.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';

export const whoami: CommandSpec = {
  name: 'whoami',
  summary: 'Says who your key speaks for, what limits it, and when it ends',
  details: ['Works with every key, whatever its scope.'],
  arguments: [],
  options: { ...connectionOptions, ...outputOption },
  examples: [
    { about: 'The key of your login', command: 'latchkey whoami' },
    { about: 'A key in a file, for a script', command: 'latchkey whoami --key-file ci.key -o name' },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const form = readForm(invocation);
  const platform = connect(invocation, context);
  const self = await platform.self();
  const status = asObject(self['status']);
  const user = asText(status['subject']) ?? '';
  if (form === 'table' || form === 'wide') {
    const credential = asObject(status['credential']);
    const end = parseInstant(status['expirationTimestamp']);
    context.stdout.write(
      facts([
        ['User', user],
        ['Groups', asTexts(status['groups']).join(', ')],
        ['Credential', `${asText(credential['kind'])} ${asText(credential['name'])}`],
        [
          'Ends',
          end === undefined
            ? 'never'
            : `in ${shortTime(end - context.now())} (${new Date(end).toISOString()})`,
        ],
        ['Scope', describeScopes(status['scopes']).join('; ') || 'none: it may do all that its user may do'],
        ['Gateway', platform.connection.baseURL],
      ]),
    );
    return undefined;
  }
  show({ object: self, rows: [user], name: (name) => name, columns: [], none: '' }, form, context);
  return undefined;
}
