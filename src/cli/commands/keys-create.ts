import { asObject, asText, defined, type JsonObject } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import { outputOption, readForm, show } from '../output/output.ts';
import { connect, connectionOptions } from '../session/connection.ts';
import { readTTL } from '../session/durations.ts';
import { writePrivate } from '../session/private-file.ts';
import {
  type CommandSpec,
  type Context,
  type Invocation,
  isOn,
  listOption,
  textOption,
} from '../shared/context.ts';
import { Failure, printable, usage } from '../shared/failure.ts';

const scopeOptions = {
  project: {
    type: 'string',
    multiple: true,
    value: 'PROJECT',
    about: 'Scope: a project. Repeat it for more.',
  },
  'virtual-cluster': {
    type: 'string',
    multiple: true,
    value: 'PROJECT/NAME',
    about: 'Scope: a virtual cluster.',
  },
  space: { type: 'string', multiple: true, value: 'PROJECT/NAME', about: 'Scope: a space.' },
  cluster: { type: 'string', multiple: true, value: 'NAME', about: 'Scope: a connected cluster.' },
  role: { type: 'string', multiple: true, value: 'ROLE', about: 'Scope: a role, such as platform-cli.' },
} as const;

export const writeKeyOption = {
  'write-key': {
    type: 'string',
    value: 'FILE',
    about: 'Write the key to this file, for you alone, and not to standard output.',
  },
} as const;

export const keysCreate: CommandSpec = {
  name: 'keys create',
  summary: 'Makes an access key, and prints it once',
  details: [
    'The key is all that goes to standard output, so that you can pipe it. It is shown now and never again.',
    'A key that you make with a key that has an end, a scope or a parent is its child, and ends with it.',
  ],
  arguments: [{ name: 'name', about: 'Default: the gateway picks one.', isOptional: true }],
  options: {
    ttl: { type: 'string', value: 'TIME', about: 'How long it lives: 15m, 24h, 30d.' },
    'no-end': { type: 'boolean', about: 'It lives until you delete it.' },
    ...scopeOptions,
    description: { type: 'string', value: 'TEXT', about: 'The purpose of the key.' },
    parent: { type: 'string', value: 'KEY', about: 'The access key above it.' },
    ...writeKeyOption,
    ...connectionOptions,
    ...outputOption,
  },
  examples: [
    {
      about: 'For a pipeline, into a file',
      command: 'latchkey keys create shop-ci --ttl 24h --project demo --write-key shop-ci.key',
    },
    {
      about: 'For one virtual cluster',
      command: 'latchkey keys create --ttl 1h --virtual-cluster demo/shop --description "Look at the logs"',
    },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const form = readForm(invocation);
  const body = toObject(invocation);
  const made = await connect(invocation, context).own('ownedaccesskeys', { method: 'POST', body });
  const name = asText(asObject(made['metadata'])['name']) ?? '';
  const key = asText(asObject(made['spec'])['key']);
  if (form !== 'table' && form !== 'wide') {
    show(
      { object: made, rows: [name], name: (each) => `ownedaccesskey/${each}`, columns: [], none: '' },
      form,
      context,
    );
    if (form !== 'name') return undefined;
  }
  if (key === undefined || key.startsWith('sha256:'))
    throw new Failure(
      'failure',
      `the access key ${name} was made, and its key was not shown`,
      `Delete it: \`latchkey keys delete ${name}\`.`,
    );
  deliverKey(key, invocation, context);
  context.stderr.write(`The access key ${name} works now.\n`);
  return undefined;
}

/** To the file that was named, or to standard output. */
export function deliverKey(key: string, invocation: Invocation, { stdout, stderr }: Context): void {
  const file = textOption(invocation, 'write-key');
  if (file === undefined) return stdout.write(`${printable(key)}\n`);
  writePrivate(file, `${key}\n`);
  stderr.write(`The key is in ${file}.\n`);
}

/** Throws a Failure. */
function toObject(invocation: Invocation): JsonObject {
  const [name] = invocation.positionals;
  if (name !== undefined && !/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(name))
    throw usage(
      `${JSON.stringify(name)} cannot be the name of an object`,
      'Write small letters, digits, dots and hyphens.',
    );
  const spec = defined({
    displayName: textOption(invocation, 'description'),
    accessKey: textOption(invocation, 'parent'),
    ttl: lifeOf(invocation),
    scope: scopeOf(invocation),
  });
  const metadata = name === undefined ? {} : { name };
  return { apiVersion, kind: 'OwnedAccessKey', metadata, spec };
}

function lifeOf(invocation: Invocation): number | undefined {
  const ttl = textOption(invocation, 'ttl');
  const isEndless = isOn(invocation, 'no-end');
  if (ttl !== undefined && isEndless)
    throw usage('--ttl and --no-end exclude each other', 'Give one of them.');
  if (ttl === undefined && !isEndless)
    throw usage(
      'it is not said how long the key lives',
      'Give `--ttl 24h`, or `--no-end` if it shall have no end.',
    );
  return ttl === undefined ? undefined : readTTL(ttl);
}

function scopeOf(invocation: Invocation): JsonObject | undefined {
  const pairs = (option: string, name: string) =>
    listOption(invocation, option).map((text) => {
      const [project = '', one = '', ...more] = text.split('/');
      if (project === '' || one === '' || more.length > 0)
        throw usage(
          `--${option} ${text} names no project`,
          `Write PROJECT/NAME, such as \`--${option} demo/shop\`.`,
        );
      return { project, [name]: one };
    });
  const names = (option: string, name: string) =>
    listOption(invocation, option).map((text) => ({ [name]: text }));
  const scope = {
    projects: names('project', 'project'),
    virtualClusters: pairs('virtual-cluster', 'virtualCluster'),
    spaces: pairs('space', 'space'),
    clusters: names('cluster', 'cluster'),
    roles: names('role', 'role'),
  };
  const given = Object.entries(scope).filter(([, entries]) => entries.length > 0);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}
