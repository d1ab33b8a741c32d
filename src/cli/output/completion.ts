import type { CommandSpec } from '../shared/context.ts';

type Writer = (commands: readonly CommandSpec[]) => string;

/** Undefined for a shell that there is none for. */
export const completionScript = (shell: string, commands: readonly CommandSpec[]): string | undefined =>
  Object.hasOwn(writers, shell) ? writers[shell]?.(commands) : undefined;

const optionsOf = ({ options }: CommandSpec): string =>
  [...Object.keys(options), 'help'].map((name) => `--${name}`).join(' ');

const firstWords = (commands: readonly CommandSpec[]): readonly string[] => [
  ...new Set(commands.map(({ name }) => name.split(' ')[0] ?? '')),
];

const secondWords = (commands: readonly CommandSpec[], first: string): readonly string[] =>
  commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name.split(' ')[1] ?? '');

const bash: Writer = (commands) => {
  const groups = firstWords(commands).filter((first) => secondWords(commands, first).length > 0);
  const cases = commands.map((command) => `    '${command.name}') words='${optionsOf(command)}' ;;`);
  return `_latchkey() {
  local words current="\${COMP_WORDS[COMP_CWORD]}" command="\${COMP_WORDS[1]}"
  case "$command" in ${groups.join('|')}) command="$command \${COMP_WORDS[2]}" ;; esac
  case "$command" in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words='${firstWords(commands).join(' ')}'; fi
${groups.map((first) => `  if [ "$COMP_CWORD" -eq 2 ] && [ "\${COMP_WORDS[1]}" = ${first} ]; then words='${secondWords(commands, first).join(' ')}'; fi`).join('\n')}
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _latchkey latchkey
`;
};

const writers: Readonly<Record<string, Writer>> = {
  bash,
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`,
  fish: (commands) => {
    const quote = (text: string) => `'${text.replaceAll("'", "\\'")}'`;
    const lines = commands.flatMap(({ name, summary, options }) => {
      const [first = '', second] = name.split(' ');
      const isHere = `__fish_seen_subcommand_from ${second ?? first}`;
      const begin =
        second === undefined
          ? `complete -c latchkey -n __fish_use_subcommand -a ${first} -d ${quote(summary)}`
          : `complete -c latchkey -n '__fish_seen_subcommand_from ${first}' -a ${second} -d ${quote(summary)}`;
      const flags = Object.entries(options).map(
        ([option, { about, type }]) =>
          `complete -c latchkey -n '${isHere}' -l ${option}${type === 'string' ? ' -r' : ''} -d ${quote(about)}`,
      );
      return [begin, ...flags];
    });
    return `complete -c latchkey -f\ncomplete -c latchkey -n __fish_use_subcommand -a keys\n${lines.join('\n')}\n`;
  },
};
