import { asText, defined } from '../../api/json.ts';
import { type CachePlace, cachePlace, sourceVersion } from '../credential/cache.ts';
import { confirmedSource } from '../credential/confirmed-endpoint.ts';
import { directSource, directTTL, parentOf } from '../credential/direct-source.ts';
import { exchangedKey } from '../credential/exchanged-key.ts';
import {
  assertAtGateway,
  assertLeadsTo,
  type ExecCluster,
  readExecCluster,
} from '../credential/exec-cluster.ts';
import { execCredential } from '../credential/exec-credential.ts';
import { fileOf, sourceOf } from '../credential/fast-path.ts';
import { currentCredential, type Source } from '../credential/renewal.ts';
import { childSource, keySource, trustSource } from '../credential/sources.ts';
import { type Connection, Platform } from '../gateway/platform.ts';
import { connectionOptions, findKey, noKey, readPlace } from '../session/connection.ts';
import { readTTL } from '../session/durations.ts';
import {
  type CommandSpec,
  type Context,
  type Invocation,
  isOn,
  type OptionSpec,
  textOption,
} from '../shared/context.ts';
import { type Failure, usage } from '../shared/failure.ts';
import { findDirectEndpoint } from '../targets/direct-endpoint.ts';
import { readTarget, type Target } from '../targets/targets.ts';

/** Of those who write the command into a kubeconfig, too. */
export const childOptions = {
  'child-ttl': {
    type: 'string',
    value: 'TIME',
    about:
      'Use a key below yours that lives so long, such as 15m. For a direct endpoint: the token, 1h without this.',
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
    'The answer comes from a cache in which only you can read. With `--child-ttl`, `--trust` or `--direct` the credential is renewed when a fifth of its life is left. One process renews, however many ask at once. If the gateway is away, the present one is used until its end.',
  ],
  arguments: [],
  options: {
    ...connectionOptions,
    ...childOptions,
    'cluster-profile': {
      type: 'boolean',
      about:
        'The client took the server from a ClusterProfile, which others may change: give it a credential for what the gateway says, and for nothing else.',
    },
    direct: {
      type: 'string',
      value: 'TARGET',
      about: 'Give a token for the direct endpoint of this cluster or space, in place of a key.',
    },
  },
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
  const { direct, ca, profile } = readDestination(invocation, info, place);
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
  const request = defined({ baseURL: place.baseURL, trust, keyFile, childTTL: ttl, direct });
  const version = variables.key === undefined ? sourceVersion(fileOf(request, context)) : '';
  const find = () => findKey(invocation, context, session);
  const plain = sourceFor({ platform, version, ttl, trust, direct }, find, context);
  const cache = cachePlace(sourceOf(request, variables.key), context);
  const holder = async () =>
    (trust === undefined ? find() : await exchangedKey(platform, trust, context)) ??
    fail(noKey(place.baseURL));
  const source =
    profile === undefined || direct === undefined
      ? plain
      : await confirmedAt(profile, plain, { platform, cache, holder }, context);
  const found = await currentCredential(source, cache, context);
  context.stdout.write(execCredential(found, info, context.now()));
  return undefined;
}

interface Destination {
  /** The target whose direct endpoint gets the credential, and otherwise the gateway. */
  readonly direct?: string | undefined;
  /** Of the gateway. */
  readonly ca?: string | undefined;
  readonly profile?: Profile;
}

/** Where the credential goes. Refuses every other place than the gateway and a direct endpoint, which is asked for later. Throws a Failure. */
function readDestination(invocation: Invocation, info: string | undefined, place: Connection): Destination {
  const cluster = readExecCluster(info);
  if (isOn(invocation, 'cluster-profile')) {
    const profile = readProfile(invocation, cluster);
    const isDirect = profile.cluster.config['direct'] === true;
    if (!isDirect) assertLeadsTo(profile.cluster, profile.target, place);
    return { profile, ca: place.ca, direct: isDirect ? profile.target.name : undefined };
  }
  const direct = textOption(invocation, 'direct');
  // The authority of a direct endpoint is that of another place: with it, that place could pose as the gateway and get the key.
  if (direct !== undefined) return { direct, ca: place.ca };
  assertAtGateway(cluster, place.baseURL);
  return { ca: place.ca ?? cluster?.ca };
}

interface Asking {
  readonly platform: Platform;
  readonly cache: CachePlace;
  /** The key with which the platform is asked. */
  readonly holder: () => Promise<string>;
}

async function confirmedAt(
  { cluster, target }: Profile,
  source: Source,
  { platform, cache, holder }: Asking,
  context: Context,
): Promise<Source> {
  const ask = async () =>
    await findDirectEndpoint(target, platform, { key: await holder(), timeoutMs: confirmMs });
  const check = (endpoint: Pick<Connection, 'baseURL' | 'ca'>) => assertLeadsTo(cluster, target, endpoint);
  const { ca: platformCA } = platform.connection;
  return await confirmedSource(source, { cache, platformCA, ask, check }, context);
}

/** In an outage each start of a tool waits so long. */
const confirmMs = 4_000;

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
  readonly direct: string | undefined;
}

function sourceFor(wanted: Wanted, find: () => string | undefined, context: Context): Source {
  const { platform, version, ttl, trust, direct } = wanted;
  const ownKey = (): string => find() ?? fail(noKey(platform.connection.baseURL));
  if (direct !== undefined) {
    const life = ttl === undefined ? directTTL : readTTL(ttl);
    // The gateway puts what an exchanged key makes below that key by itself.
    const parent = async () =>
      trust === undefined
        ? await parentOf(platform, ownKey())
        : { key: await exchangedKey(platform, trust, context) };
    const isParentRenewed = trust !== undefined;
    return directSource({ platform, version, target: direct, ttl: life, parent, isParentRenewed }, context);
  }
  if (trust !== undefined) return trustSource(platform, trust, context);
  const key = ownKey();
  return ttl === undefined
    ? keySource(platform, key, version)
    : childSource(platform, key, version, readTTL(ttl));
}

function fail(failure: Failure): never {
  throw failure;
}

interface Profile {
  readonly cluster: ExecCluster;
  readonly target: Target;
}

/** The target of a ClusterProfile, as the client passes it on. It is a wish, and no proof. Throws a Failure. */
function readProfile(invocation: Invocation, cluster: ExecCluster | undefined): Profile {
  if (textOption(invocation, 'direct') !== undefined)
    throw usage('--cluster-profile and --direct exclude each other', 'The ClusterProfile names the target.');
  const name = asText(cluster?.config['target']);
  if (cluster === undefined || name === undefined)
    throw usage(
      'the client passes no target on',
      'Set `provideClusterInfo: true` for this command, and use a ClusterProfile of Latchkey.',
    );
  const target = readTarget(name);
  // The operator publishes no other. Through a changed profile a tool would write to the platform itself.
  if (!/^(?:cluster|virtualcluster)\//.test(target.name))
    throw usage(
      `a ClusterProfile leads to no ${target.name}`,
      'Use a ClusterProfile of Latchkey, and find out who has changed this one.',
    );
  return { cluster, target };
}
