import { LatchkeyError } from './errors.ts';
import {
  cidrs,
  duration,
  httpsURL,
  integer,
  listenAddress,
  oneOf,
  type SettingType,
  seconds,
  text,
} from './setting-types.ts';

interface Setting<Value> {
  /** The environment variable. */
  readonly name: `LATCHKEY_${string}`;
  readonly type: SettingType<Value>;
  /** As it would be written in the environment. Absent: the setting is required, or computed (`computed` says how). */
  readonly default?: string;
  readonly computed?: string;
  /** One or two sentences of Markdown for docs/reference/settings.md. */
  readonly documentation: string;
}

const setting = <Value>(definition: Setting<Value>): Setting<Value> => definition;

/** Every setting, once. Durations are milliseconds in the program, except where the name says seconds. */
export const settingDefinitions = {
  baseURL: setting({
    name: 'LATCHKEY_BASE_URL',
    type: httpsURL,
    documentation:
      'Where clients reach Latchkey. It is the issuer (`iss`) and the base of the audiences of every token: a change ends all tokens.',
  }),
  logLevel: setting({
    name: 'LATCHKEY_LOG_LEVEL',
    type: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'),
    default: 'info',
    documentation: 'The least severe log line that is written.',
  }),
  healthAddress: setting({
    name: 'LATCHKEY_HEALTH_ADDRESS',
    type: listenAddress,
    default: ':8081',
    documentation: 'Where `/livez` and `/readyz` are served. Port 0 takes a free port and logs it.',
  }),
  metricsAddress: setting({
    name: 'LATCHKEY_METRICS_ADDRESS',
    type: listenAddress,
    default: ':8080',
    documentation: 'Where `/metrics` is served. Port 0 takes a free port and logs it.',
  }),
  identity: setting({
    name: 'LATCHKEY_IDENTITY',
    type: text(/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/, 'letters, digits, `.`, `_` and `-`, at most 200'),
    computed: 'host name and a random suffix',
    documentation:
      'The name of this process in the leader lease and in events. It must differ between replicas.',
  }),
  leaseDurationMs: setting({
    name: 'LATCHKEY_LEASE_DURATION',
    type: duration('1s', '5m'),
    default: '15s',
    documentation:
      'How long another replica waits before it takes over from a leader that died. The leader stops writing at two thirds of it.',
  }),
  concurrency: setting({
    name: 'LATCHKEY_CONCURRENCY',
    type: integer(1, 256),
    default: '16',
    documentation: 'How many objects each controller reconciles at the same time.',
  }),
  activityIntervalMs: setting({
    name: 'LATCHKEY_ACTIVITY_INTERVAL',
    type: duration('1s', '1h'),
    default: '60s',
    documentation:
      'How often the last activity of a key is written at most. Idle ends are acted on up to two intervals late, never early.',
  }),
  rotationOverlapMs: setting({
    name: 'LATCHKEY_ROTATION_OVERLAP',
    type: duration('0', '1d'),
    default: '10m',
    documentation: 'How long a credential stays valid after its planned renewal, at most to its own end.',
  }),
  expiredRetentionMs: setting({
    name: 'LATCHKEY_EXPIRED_RETENTION',
    type: duration('0', '30d'),
    default: '1h',
    documentation: 'How long an ephemeral object, or a key of type `Login`, is kept after its end.',
  }),
  signingKeyRotationMs: setting({
    name: 'LATCHKEY_SIGNING_KEY_ROTATION',
    type: duration('1m', '365d'),
    default: '30d',
    documentation: 'The age at which the key that signs tokens is replaced.',
  }),
  maxTokenTTLSeconds: setting({
    name: 'LATCHKEY_MAX_TOKEN_TTL',
    type: seconds('60s', '90d'),
    default: '90d',
    documentation: 'The longest life of a token. A longer `ttl` is shortened.',
  }),
  expiryWritesPerSecond: setting({
    name: 'LATCHKEY_EXPIRY_WRITES_PER_SECOND',
    type: integer(1, 10_000),
    default: '100',
    documentation:
      'The budget of writes that mark ended credentials. The soonest ended goes first; access ends at once in any case.',
  }),
  maxKubeConfigTTLSeconds: setting({
    name: 'LATCHKEY_MAX_KUBECONFIG_TTL',
    type: seconds('60s', '3650d'),
    default: '365d',
    documentation:
      'The longest life of a kubeconfig with a token, and the life of one with `certificateTTL: 0`. Of certificates the signer of the virtual cluster decides besides.',
  }),
  targetAddresses: setting({
    name: 'LATCHKEY_TARGET_ADDRESSES',
    type: cidrs,
    default: '0.0.0.0/0,::/0',
    documentation:
      'The addresses of virtual clusters and clusters that may be dialled. Loopback, link-local and other special addresses only where an entry lies wholly within their range, as `127.0.0.0/8`.',
  }),
  targetRecheckMs: setting({
    name: 'LATCHKEY_TARGET_RECHECK',
    type: duration('1s', '1h'),
    default: '60s',
    documentation:
      'How often each virtual cluster and cluster is looked at, its administrator kubeconfig read, and what is missing in it repaired.',
  }),
  baseURLAuthorityFile: setting({
    name: 'LATCHKEY_BASE_URL_CA_FILE',
    type: text(/^(?:none|\/.{1,1023})$/, '`none` or the absolute path of a PEM file'),
    default: 'none',
    documentation:
      'The certificate authority of the base URL, which stands in kubeconfigs with a token. `none`: clients trust it anyway. Read at start.',
  }),
  finalizerLimitMs: setting({
    name: 'LATCHKEY_FINALIZER_LIMIT',
    type: duration('1s', '10m'),
    default: '60s',
    documentation:
      'How long a deleted object may wait for its clean-up before it goes all the same. Tokens wait 5 seconds at most.',
  }),
  projectNamespacePrefix: setting({
    name: 'LATCHKEY_PROJECT_NAMESPACE_PREFIX',
    type: text(/^[a-z0-9][a-z0-9-]{0,31}$/, 'lower-case letters, digits and `-`, 1 to 32'),
    default: 'p-',
    documentation:
      'The namespace of project `a` is this prefix and `a`, with the label `management.platform.sh/project: a`.',
  }),
} as const;

type Definitions = typeof settingDefinitions;
type ValueOf<Definition> = Definition extends Setting<infer Value> ? Value : never;

/** The settings of one process, read and checked. */
export type Settings = { readonly [Key in keyof Definitions]: ValueOf<Definitions[Key]> };

/** What is computed where the environment says nothing. */
export type ComputedSettings = Pick<Settings, 'identity'>;

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads every setting from `environment`.
 * Throws ERR_SETTINGS_INVALID that names each unusable variable with its fix, all at once.
 */
export function readSettings(environment: Environment, computed: ComputedSettings): Settings {
  const problems: string[] = [];
  const values = Object.entries(settingDefinitions).map(([key, definition]) => {
    const parsed = readOne(definition, environment, computed[key as keyof ComputedSettings]);
    if ('problem' in parsed) problems.push(`  ${definition.name} ${parsed.problem}`);
    return [key, 'value' in parsed ? parsed.value : undefined];
  });
  if (problems.length > 0) throw new LatchkeyError('ERR_SETTINGS_INVALID', { problems: problems.join('\n') });
  return Object.fromEntries(values) as Settings;
}

function readOne(definition: Setting<unknown>, environment: Environment, computed: string | undefined) {
  const given = environment[definition.name] ?? definition.default ?? computed;
  if (given === undefined)
    return { problem: `is required: set it to a value (${definition.type.description})` };
  if (given === '') return { problem: 'is set but empty: give it a value or remove it' };
  return definition.type.parse(given);
}

// Kubernetes adds these for every Service of the namespace, ours included.
const serviceLink = /_(?:SERVICE_HOST|SERVICE_PORT|PORT)(?:_|$)/;

/** Names that look like settings of ours and are none: likely a typing error. */
export function unknownSettings(environment: Environment): readonly string[] {
  const known = new Set<string>(Object.values(settingDefinitions).map(({ name }) => name));
  return Object.keys(environment)
    .filter((name) => name.startsWith('LATCHKEY_') && !known.has(name) && !serviceLink.test(name))
    .sort();
}
