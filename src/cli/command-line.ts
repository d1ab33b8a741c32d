import { parseArgs } from 'node:util';
import { commands } from './commands/index.ts';
import { looksLikeKey } from './session/key-input.ts';
import type { CommandSpec, Invocation, OptionSpec, OptionValues } from './shared/context.ts';
import { usage } from './shared/failure.ts';

/** The request of a command line: `help` about one command, or about all. */
export type Parsed =
  | { readonly kind: 'help'; readonly command?: CommandSpec }
  | { readonly kind: 'version' }
  | { readonly kind: 'run'; readonly command: CommandSpec; readonly invocation: Invocation };

/** `words` without the program. Throws a Failure. */
export function readCommandLine(words: readonly string[]): Parsed {
  if (words.some(looksLikeKey))
    throw usage(
      'a key stands on the command line, where others on this machine can read it',
      'Replace that key, and give the next one on standard input or in a file.',
    );
  const [first] = words;
  if (first === undefined || first === '--help' || first === '-h') return { kind: 'help' };
  if (first === 'version' || first === '--version' || first === '-v') return { kind: 'version' };
  if (first === 'help') return helpFor(words.slice(1));
  if (first.startsWith('-'))
    throw usage('options come after the command', `Write \`latchkey COMMAND ${first}\`.`);
  const command = findCommand(words);
  const rest = words.slice(command.name.split(' ').length);
  if (rest.includes('--help') || rest.includes('-h')) return { kind: 'help', command };
  return { kind: 'run', command, invocation: readWords(command, rest) };
}

const helpFor = (words: readonly string[]): Parsed =>
  words.length === 0 ? { kind: 'help' } : { kind: 'help', command: findCommand(words) };

/** Words of other programs. */
const hints: Readonly<Record<string, string>> = {
  get: 'latchkey keys list',
  list: 'latchkey keys list',
  ls: 'latchkey keys list',
  create: 'latchkey keys create',
  rotate: 'latchkey keys rotate',
  disable: 'latchkey keys disable',
  delete: 'latchkey keys delete',
  rm: 'latchkey keys delete',
  token: 'latchkey credential',
  auth: 'latchkey login',
  signin: 'latchkey login',
  config: 'latchkey kubeconfig',
  connect: 'latchkey kubeconfig',
  use: 'latchkey kubeconfig',
  'can-i': 'latchkey explain',
  doctor: 'latchkey check',
  operator: 'the program of the container image',
  gateway: 'the program of the container image',
};

function findCommand(words: readonly string[]): CommandSpec {
  const [first = '', second = ''] = words;
  const found =
    commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first);
  if (found !== undefined) return found;
  const below = commands
    .filter(({ name }) => name.startsWith(`${first} `))
    .map(({ name }) => name.split(' ')[1] ?? '');
  if (below.length > 0) {
    const problem =
      second === '' || second.startsWith('-')
        ? `${first} needs to know what to do`
        : `there is no command "${first} ${second}"`;
    throw usage(problem, `Write \`latchkey ${first} ${closest(second, below) ?? below.join('|')}\`.`);
  }
  const known = commands.map(({ name }) => name.split(' ')[0] ?? '');
  const hint = hints[first] ?? (closest(first, known) && `latchkey ${closest(first, known)}`);
  throw usage(
    `there is no command "${first}"`,
    hint === undefined ? 'Run `latchkey --help` to see the commands.' : `Did you mean \`${hint}\`?`,
  );
}

function readWords(command: CommandSpec, words: readonly string[]): Invocation {
  const { tokens = [], positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    strict: false,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(command.options).map(([name, { type, short, multiple }]) => [
        name,
        { type, ...(short && { short }), ...(multiple && { multiple }) },
      ]),
    ),
  });
  const options: Record<string, string | boolean | readonly string[]> = {};
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const spec = command.options[token.name];
    if (spec === undefined) throw unknownOption(command, token.rawName);
    addOption(options, { ...token, spec });
  }
  return { positionals: checkPositionals(command, positionals), options: options as OptionValues };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
  readonly spec: OptionSpec;
}

function addOption(
  options: Record<string, string | boolean | readonly string[]>,
  { name, rawName, value, inlineValue, spec }: OptionToken,
): void {
  if (spec.type === 'boolean') {
    if (value !== undefined) throw usage(`${rawName} takes no value`, `Write \`${rawName}\` alone.`);
    options[name] = true;
    return;
  }
  const isNextOption = inlineValue !== true && value !== undefined && /^-./.test(value);
  if (value === undefined || value === '' || isNextOption)
    throw usage(
      `${rawName} needs a value`,
      `Write \`${rawName} ${spec.value ?? 'VALUE'}\`; a variable may not be set.`,
    );
  const before = options[name];
  if (spec.multiple) options[name] = [...(Array.isArray(before) ? before : []), value];
  else if (before !== undefined) throw usage(`${rawName} is given twice`, 'Give it once.');
  else options[name] = value;
}

function unknownOption({ name, options }: CommandSpec, rawName: string) {
  const known = Object.keys(options);
  const near = closest(rawName.replace(/^-+/, ''), known);
  return usage(
    `${name} has no option ${rawName}`,
    near === undefined ? `Run \`latchkey ${name} --help\` to see them.` : `Did you mean \`--${near}\`?`,
  );
}

function checkPositionals(command: CommandSpec, given: readonly string[]): readonly string[] {
  const { name, arguments: wanted } = command;
  const needed = wanted.filter(({ isOptional }) => isOptional !== true);
  const missing = needed[given.length];
  if (missing !== undefined)
    throw usage(
      `${name} needs the argument ${missing.name.toUpperCase()}`,
      `Write \`${usageLine(command)}\`.`,
    );
  const hasRest = wanted.some(({ isRest }) => isRest);
  const extra = given[wanted.length];
  if (extra !== undefined && !hasRest)
    throw usage(
      `${name} takes ${wanted.length === 0 ? 'no arguments' : `at most ${wanted.length}`}, and ${JSON.stringify(extra)} is one more`,
      `Write \`${usageLine(command)}\`; put texts with spaces in quotes.`,
    );
  if (given.includes('')) throw usage(`an argument of ${name} is empty`, 'A variable may not be set.');
  return given;
}

/** The first line of the help of a command. */
export function usageLine({ name, arguments: wanted, options }: CommandSpec): string {
  const words = wanted.map((argument) => {
    const text = argument.name.toUpperCase() + (argument.isRest ? '…' : '');
    return argument.isOptional ? `[${text}]` : text;
  });
  return ['latchkey', name, ...words, ...(Object.keys(options).length === 0 ? [] : ['[options]'])].join(' ');
}

/** The known word that is a typing error away. */
function closest(word: string, known: readonly string[]): string | undefined {
  const near = known.map((each) => [each, distance(word, each)] as const).filter(([, steps]) => steps <= 2);
  return near.sort(([, one], [, other]) => one - other)[0]?.[0];
}

/** Letters to add, take away or change. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [place, wanted] of [...other].entries()) {
      const changed = (row[place] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(changed, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
