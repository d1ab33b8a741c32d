import { asObject, asText, defined, parseJSON } from '../../api/json.ts';
import { cachePlace, sourceVersion } from '../credential/cache.ts';
import { execCredential } from '../credential/exec-credential.ts';
import { fileOf, sourceOf } from '../credential/fast-path.ts';
import { currentCredential, type Source } from '../credential/renewal.ts';
import { childSource, keySource, trustSource } from '../credential/sources.ts';
import { Platform } from '../gateway/platform.ts';
import { connectionOptions, findKey, noKey, readPlace } from '../session/connection.ts';
import { readTTL } from '../session/durations.ts';
import {
  type CommandSpec,
  type Context,
  type Invocation,
  type OptionSpec,
  textOption,
} from '../shared/context.ts';
import { usage } from '../shared/failure.ts';

/** Of those who write the command into a kubeconfig, too. */
export const childOptions = {
  'child-ttl': {
    type: 'string',
    value: 'TIME',
    about: 'Use a key below yours that lives so long, such as 15m.',
  },
  trust: {
    type: 'string',
    value: 'KEY',
    about: 'Exchange the token of this pipeline or workload for a child of the access key KEY.',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export const credential: CommandSpec = {
  name: 'credential',
  summary: 'Gives kubectl and other Kubernetes clients a credential',
  details: [
    'Kubernetes clients run this command themselves: `latchkey kubeconfig` writes it into a kubeconfig. Its answer is an ExecCredential with a key.',
    'The answer comes from a cache in which only you can read. With `--child-ttl` or `--trust` the key is renewed when a fifth of its life is left. One process renews, however many ask at once. If the gateway is away, the present key is used until its end.',
  ],
  arguments: [],
  options: { ...connectionOptions, ...childOptions },
  examples: [
    { about: 'Your own key', command: 'latchkey credential --base-url https://latchkey.example.com' },
    {
      about: 'A key for 15 minutes below it',
      command: 'latchkey credential --base-url https://latchkey.example.com --child-ttl 15m',
    },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const { session, ...place } = readPlace(invocation, context);
  const info = context.env['KUBERNETES_EXEC_INFO'];
  const ca = place.ca ?? authorityIn(info);
  const platform = new Platform(defined({ baseURL: place.baseURL, ca }), context);
  const ttl = textOption(invocation, 'child-ttl');
  const trust = textOption(invocation, 'trust');
  if (ttl !== undefined && trust !== undefined)
    throw usage(
      '--child-ttl and --trust exclude each other',
      'An exchanged key lives as long as spec.exchange says.',
    );
  const variables = trust === undefined ? keyVariables(invocation, context) : {};
  const keyFile = textOption(invocation, 'key-file') ?? variables.file;
  const request = defined({ baseURL: place.baseURL, trust, keyFile, childTTL: ttl });
  const version = variables.key === undefined ? sourceVersion(fileOf(request, context)) : '';
  const find = () => findKey(invocation, context, session);
  const source = sourceFor({ platform, version, ttl, trust }, find, context);
  const cache = cachePlace(sourceOf(request, variables.key), context);
  const found = await currentCredential(source, cache, context);
  context.stdout.write(execCredential(found, info, context.now()));
  return undefined;
}

/** An option counts before them, and the key itself before its file. */
function keyVariables(invocation: Invocation, { env }: Context) {
  if (textOption(invocation, 'key-file') !== undefined) return {};
  const { LATCHKEY_ACCESS_KEY: key, LATCHKEY_ACCESS_KEY_FILE: file } = env;
  if (key) return { key };
  return file ? { file } : {};
}

interface Wanted {
  readonly platform: Platform;
  readonly version: string;
  readonly ttl: string | undefined;
  readonly trust: string | undefined;
}

function sourceFor(
  { platform, version, ttl, trust }: Wanted,
  find: () => string | undefined,
  context: Context,
): Source {
  if (trust !== undefined) return trustSource(platform, trust, context);
  const key = find();
  if (key === undefined) throw noKey(platform.connection.baseURL);
  return ttl === undefined
    ? keySource(platform, key, version)
    : childSource(platform, key, version, readTTL(ttl));
}

/** A kubeconfig with `provideClusterInfo` passes its authority on. */
function authorityIn(info: string | undefined): string | undefined {
  const { cluster } = asObject(asObject(parseJSON(info ?? ''))['spec']);
  const data = asText(asObject(cluster)['certificate-authority-data']);
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8');
}
