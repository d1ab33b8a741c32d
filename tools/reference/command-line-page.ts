import { usageLine } from '../../src/cli/command-line.ts';
import { commands } from '../../src/cli/commands/index.ts';
import { optionName } from '../../src/cli/help.ts';
import type { CommandSpec } from '../../src/cli/shared/context.ts';
import { exitCodes } from '../../src/cli/shared/failure.ts';
import { version } from '../../src/version.ts';
import { code, page, table } from './markdown.ts';

const variables = [
  ['LATCHKEY_BASE_URL', 'The gateway, in place of `--base-url`.'],
  ['LATCHKEY_ACCESS_KEY_FILE', 'A file with the key, in place of `--key-file`.'],
  ['LATCHKEY_ACCESS_KEY', 'The key itself. It counts before the file.'],
  ['LATCHKEY_CERTIFICATE_AUTHORITY', 'PEM of the authority to trust, in place of `--certificate-authority`.'],
  [
    'LATCHKEY_LOGIN_ISSUER, LATCHKEY_LOGIN_CLIENT_ID',
    'The provider of `latchkey login`, where the gateway does not name it.',
  ],
  ['LATCHKEY_ID_TOKEN, LATCHKEY_ID_TOKEN_FILE', 'The token of a pipeline or workload for `--trust`.'],
  ['HTTPS_PROXY, NO_PROXY', 'The proxy, as in other programs. Needs Node 24.5 or newer.'],
  ['NO_COLOR', 'No colours, whatever the terminal.'],
  [
    'XDG_CONFIG_HOME, XDG_CACHE_HOME',
    'Folders of the login and of the cache. Default: `~/.config` and `~/.cache`.',
  ],
] as const;

/** docs/reference/command-line.md */
export function commandLinePage(): string {
  return page('Command line', 'src/cli/commands', [
    'Here you look up every command of `latchkey`: its arguments, options and examples. All you need is the base URL of a gateway, and a key or a login.',
    'In 60 seconds: `latchkey login --base-url https://latchkey.example.com`, then `latchkey targets`. `latchkey kubeconfig virtualcluster/demo/shop --merge` lets kubectl in.',
    '## Install',
    'It is one file that needs Node 22.15 or newer. A release has it as a package, which gives you `latchkey` and `kubectl latchkey`:',
    `\`\`\`sh\nnpm install --global ./latchkey-cli-${version}.tgz\n\`\`\``,
    'From the sources, `npm run bundle` writes `dist/latchkey-cli.cjs`. On a machine without Node you need a single executable: `npm run executable` writes `dist/latchkey`, of about 120 MB, for the system that it runs on. It is tested on Linux.',
    'If your kuberc has `credentialPluginPolicy: Allowlist`, add this entry:',
    '```yaml\ncredentialPluginAllowlist:\n  - name: latchkey\n```',
    '## Keys stay secret',
    'A key never stands on the command line, where other users of the machine could read it. It comes from a file, from standard input, or from a variable. A file with a key must be readable by you alone. A login is kept in `~/.config/latchkey`, and credentials of kubectl in `~/.cache/latchkey`.',
    '## How kubectl gets a credential',
    '`latchkey credential` gives kubectl a key out of its cache. With `--child-ttl` or `--trust` it renews the key when a fifth of its life is left. Twenty kubectl at once make one renewal. While the gateway is away, the present key is used until its end.',
    'If the gateway answers 401, kubectl fails once and the next call works: the refused key is not used again. A key that is not renewed is checked every five minutes.',
    'With `latchkey kubeconfig --direct` the credential is a token for one [direct endpoint](direct-endpoint.md#with-kubectl). The command asks that endpoint whether it accepts the token, and makes tokens at the gateway.',
    'A key is given for servers behind the gateway alone: their address begins with the base URL. If the address comes from others, as from a [ClusterProfile](cluster-profiles.md), add `--cluster-profile`.',
    '## Exit codes',
    table(
      ['Code', 'Meaning'],
      Object.values(exitCodes).map(({ code: number, about }) => [String(number), about]),
    ),
    '## Variables',
    table(
      ['Variable', 'Meaning'],
      variables.map(([names, about]) => [names.split(', ').map(code).join(', '), about]),
    ),
    ...commands.map(section),
  ]);
}

function section(command: CommandSpec): string {
  const { name, summary, details, arguments: wanted, options, examples } = command;
  const rows = [
    ...wanted.map(({ name: argument, about }) => [code(argument.toUpperCase()), about]),
    ...Object.entries(options).map(([option, spec]) => [code(optionName(option, spec)), spec.about]),
  ];
  return [
    `## ${name}`,
    `${summary}. Usage: ${code(usageLine(command))}.`,
    ...details,
    ...(rows.length === 0 ? [] : [table(['Argument or option', 'Meaning'], rows)]),
    `\`\`\`sh\n${examples.map(({ about, command: text }) => `# ${about}\n${text}`).join('\n')}\n\`\`\``,
  ].join('\n\n');
}
