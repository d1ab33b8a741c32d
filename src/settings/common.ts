import {
  cidrs,
  duration,
  httpsURL,
  integer,
  listenAddress,
  oneOf,
  setting,
  text,
  type ValuesOf,
} from './types.ts';

/**
 * Settings of every long-running command: how it logs and where it listens, and what commands must agree on, or they
 * would judge the same credential differently. Durations are milliseconds in the program.
 */
export const commonSettingDefinitions = {
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
  audit: setting({
    name: 'LATCHKEY_AUDIT',
    type: oneOf('off', 'best-effort', 'require'),
    default: 'off',
    documentation:
      'Whether each request, and each credential that is issued or taken back, gets a line. `best-effort` drops lines that cannot be written. `require` lets no request go on without its line: it waits up to 5 seconds, then gets 503. The operator issues nothing while lines are stuck.',
  }),
  auditLog: setting({
    name: 'LATCHKEY_AUDIT_LOG',
    type: text(/^(?:-|\/.{1,1023})$/, '`-` or an absolute path'),
    default: '-',
    documentation:
      'Where the lines go: `-` for standard output, or the path of a file or pipe. A file is opened again on SIGHUP.',
  }),
  activityIntervalMs: setting({
    name: 'LATCHKEY_ACTIVITY_INTERVAL',
    type: duration('1s', '1h'),
    default: '60s',
    documentation:
      'How often the last activity of a key is written at most. Idle ends are acted on up to two intervals late, never early.',
  }),
  maxObjectsPerOwner: setting({
    name: 'LATCHKEY_MAX_OBJECTS_PER_OWNER',
    type: integer(0, 1_000_000),
    default: '1000',
    documentation:
      'How many live objects of each kind of credential one requester may have; the newest wait (`QuotaExceeded`). Requesters whose names begin with `system:` have no bound. Through the gateway, each user may make a tenth of it, or 100 if that is more: as many keys, and as many tokens and kubeconfigs that have not ended. One more gets 429. Two replicas may exceed it by what is under way. `0`: any number of both.',
  }),
  targetAddresses: setting({
    name: 'LATCHKEY_TARGET_ADDRESSES',
    type: cidrs,
    default: '0.0.0.0/0,::/0',
    documentation:
      'The addresses of virtual clusters and clusters that may be dialled. Loopback, link-local and other special addresses need an entry that lies wholly within their range, such as `127.0.0.0/8`.',
  }),
  projectNamespacePrefix: setting({
    name: 'LATCHKEY_PROJECT_NAMESPACE_PREFIX',
    type: text(/^[a-z0-9][a-z0-9-]{0,31}$/, 'lower-case letters, digits and `-`, 1 to 32'),
    default: 'p-',
    documentation:
      'The namespace of project `a` is this prefix and `a`, with the label `management.platform.sh/project: a`.',
  }),
} as const;

export type CommonSettings = ValuesOf<typeof commonSettingDefinitions>;
