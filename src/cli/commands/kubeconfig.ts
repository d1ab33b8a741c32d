import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { defined } from '../../api/json.ts';
import { exchangedKey } from '../credential/exchanged-key.ts';
import { type Connection, Platform } from '../gateway/platform.ts';
import { toYAML } from '../output/yaml.ts';
import { connect, connectionOptions, readPlace } from '../session/connection.ts';
import { readTTL } from '../session/durations.ts';
import { homeOf } from '../session/places.ts';
import { writePrivate } from '../session/private-file.ts';
import { type CommandSpec, type Context, type Invocation, isOn, textOption } from '../shared/context.ts';
import { usage } from '../shared/failure.ts';
import { findDirectEndpoint } from '../targets/direct-endpoint.ts';
import { resolveTarget, type Target } from '../targets/targets.ts';
import { childOptions } from './credential.ts';

export const kubeconfig: CommandSpec = {
  name: 'kubeconfig',
  summary: 'Writes a kubeconfig for a target, without a key in it',
  details: [
    'kubectl then asks `latchkey credential` for a key. It finds the command by its bare name, so that the allow list of a kuberc can name it.',
    'Without `--merge` and `--file` the kubeconfig goes to standard output.',
    'With `--direct` kubectl goes past the gateway, to the direct endpoint of a cluster, for it and the spaces in it. Its tokens open this target alone, live for an hour, and end with your key.',
  ],
  arguments: [
    {
      name: 'target',
      about: 'platform, cluster/NAME, space/PROJECT/NAME, virtualcluster/PROJECT/NAME, or NAME.',
    },
  ],
  options: {
    ...connectionOptions,
    merge: {
      type: 'boolean',
      about: 'Add it to the kubeconfig in use (KUBECONFIG, or ~/.kube/config), and make it current.',
    },
    file: { type: 'string', value: 'FILE', about: 'Add it to this file, and make it current there.' },
    direct: {
      type: 'boolean',
      about: 'Lead to the direct endpoint of the cluster, past the gateway, with a token in place of a key.',
    },
    ...childOptions,
  },
  examples: [
    { about: 'Print it', command: 'latchkey kubeconfig virtualcluster/demo/shop' },
    {
      about: 'kubectl uses it from now on',
      command: 'latchkey kubeconfig cluster/staging --merge --child-ttl 15m',
    },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const [wanted = ''] = invocation.positionals;
  const ttl = textOption(invocation, 'child-ttl');
  if (ttl !== undefined) readTTL(ttl);
  const file = fileFor(invocation, context);
  const { session: _, ...place } = readPlace(invocation, context);
  const target = await resolveTarget(wanted, () => connect(invocation, context));
  const isDirect = isOn(invocation, 'direct');
  const server = isDirect ? await directEndpointOf(target, invocation, context) : place;
  const args = execArguments(invocation, context, {
    baseURL: place.baseURL,
    direct: isDirect ? target : undefined,
  });
  const document = kubeconfigFor(target, server, args);
  if (file === undefined) {
    context.stdout.write(toYAML(document));
    return undefined;
  }
  const { mergeKubeconfig } = await import('../kubeconfig/merge.ts');
  // A link stays one.
  writePrivate(existsSync(file) ? realpathSync(file) : file, mergeKubeconfig(file, document));
  context.stderr.write(
    `${file} has the context ${document['current-context']}, and uses it. Try: kubectl get namespaces\n`,
  );
  return undefined;
}

function fileFor(invocation: Invocation, { env }: Context): string | undefined {
  const file = textOption(invocation, 'file');
  if (!isOn(invocation, 'merge')) return file;
  if (file !== undefined) throw usage('--merge and --file exclude each other', 'Give one of them.');
  const first = (env['KUBECONFIG'] ?? '').split(path.delimiter).find((each) => each !== '');
  return first ?? path.join(homeOf(env), '.kube', 'config');
}

/** The gateway says where it is, to the holder of a key; in a pipeline, to the one that its token is exchanged for. */
async function directEndpointOf(target: Target, invocation: Invocation, context: Context) {
  const trust = textOption(invocation, 'trust');
  if (trust === undefined) return await findDirectEndpoint(target, connect(invocation, context));
  const { session: _, ...place } = readPlace(invocation, context);
  const platform = new Platform(place, context);
  const key = await exchangedKey(platform, trust, context);
  return await findDirectEndpoint(target, platform, { key });
}

function execArguments(
  invocation: Invocation,
  context: Context,
  { baseURL, direct }: { readonly baseURL: string; readonly direct: Target | undefined },
): readonly string[] {
  const file = textOption(invocation, 'key-file');
  const given = defined({
    'base-url': baseURL,
    'key-file': file === undefined ? undefined : path.resolve(file),
    'child-ttl': textOption(invocation, 'child-ttl'),
    trust: textOption(invocation, 'trust'),
    direct: direct?.name,
    'certificate-authority': direct === undefined ? undefined : authorityFile(invocation, context),
  });
  return ['credential', ...Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)])];
}

/** The authority of the gateway: a kubeconfig for a direct endpoint has no other place for it. A login keeps its own. */
function authorityFile(invocation: Invocation, { env }: Context): string | undefined {
  const file =
    textOption(invocation, 'certificate-authority') ?? (env['LATCHKEY_CERTIFICATE_AUTHORITY'] || undefined);
  return file === undefined ? undefined : path.resolve(file);
}

export function kubeconfigFor(
  target: Target,
  { baseURL, ca }: Pick<Connection, 'baseURL' | 'ca'>,
  args: readonly string[],
) {
  const name = `${target.name.replaceAll('/', '-')}@${new URL(baseURL).host}`;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server: `${baseURL}/kubernetes${target.path}`,
          ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [
      {
        name,
        user: {
          exec: {
            apiVersion: 'client.authentication.k8s.io/v1',
            command: 'latchkey',
            args,
            interactiveMode: 'IfAvailable',
            provideClusterInfo: true,
            installHint:
              'This kubeconfig needs the command latchkey in your PATH: npm install --global latchkey',
          },
        },
      },
    ],
    'current-context': name,
  } as const;
}
