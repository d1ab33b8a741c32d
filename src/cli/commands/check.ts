import type { Finding } from '../check/check.ts';
import { Kubectl } from '../check/check.ts';
import { checkCluster } from '../check/cluster.ts';
import { checkGateway } from '../check/gateway.ts';
import { Platform } from '../gateway/platform.ts';
import { outputOption, readForm } from '../output/output.ts';
import { toJSON, toYAML } from '../output/yaml.ts';
import { connectionOptions, readPlace } from '../session/connection.ts';
import { type CommandSpec, type Context, type Invocation, isOn, textOption } from '../shared/context.ts';
import { Failure, printable, usage } from '../shared/failure.ts';

const { 'key-file': _, ...placeOptions } = connectionOptions;

export const check: CommandSpec = {
  name: 'check',
  summary: 'For administrators: says what an installation of Latchkey lacks',
  details: [
    'It asks the API server of the platform by kubectl, with your kubeconfig: its version, the kinds, the policies, and the rights of the four accounts of Latchkey. It asks the gateway without a key: base URL, certificate, release and clock.',
    'Before an installation, leave the gateway out with `--cluster-only`. The exit code is 0 if all is well, and else 1.',
  ],
  arguments: [],
  options: {
    'cluster-only': { type: 'boolean', about: 'Ask no gateway.' },
    'gateway-only': { type: 'boolean', about: 'Ask no API server: you need no kubectl.' },
    context: {
      type: 'string',
      value: 'CONTEXT',
      about: 'The context of your kubeconfig. Default: the current one.',
    },
    ...placeOptions,
    ...outputOption,
  },
  examples: [
    { about: 'Before you install', command: 'latchkey check --cluster-only' },
    { about: 'Afterwards', command: 'latchkey check --base-url https://latchkey.example.com' },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<number> {
  const form = readForm(invocation);
  const [noGateway, noCluster] = ['cluster-only', 'gateway-only'].map((name) => isOn(invocation, name));
  if (noGateway && noCluster)
    throw usage('--cluster-only and --gateway-only exclude each other', 'Give one of them.');
  const gateway = noGateway ? undefined : new Platform(readPlace(invocation, context), context);
  const findings = [
    ...(noCluster ? [] : await clusterFindings(invocation, context)),
    ...(gateway === undefined ? [] : await checkGateway(gateway, context.now)),
  ];
  const isWell = findings.every(({ state }) => state === 'ok');
  if (form === 'json') context.stdout.write(toJSON({ ok: isWell, findings }));
  else if (form === 'yaml') context.stdout.write(toYAML({ ok: isWell, findings }));
  else context.stdout.write(inWords(findings));
  return isWell ? 0 : 1;
}

async function clusterFindings(invocation: Invocation, context: Context): Promise<readonly Finding[]> {
  const named = textOption(invocation, 'context');
  try {
    return await checkCluster(new Kubectl(context, named === undefined ? [] : ['--context', named]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Failure(
      'usage',
      'there is no kubectl in your PATH',
      'Install it, or leave the cluster out with `--gateway-only`.',
    );
  }
}

const words = { ok: 'ok     ', failed: 'FAILED ', unknown: 'unknown' } as const;

const inWords = (findings: readonly Finding[]): string =>
  findings
    .map(
      ({ subject, state, detail, fix }) =>
        `${words[state]}  ${printable(`${subject}: ${detail}`)}\n${fix === '' ? '' : `         ${printable(fix)}\n`}`,
    )
    .join('');
