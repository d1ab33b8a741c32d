import { certificateFile } from './certificate-file.ts';
import { commonSettingDefinitions } from './common.ts';
import { duration, integer, namespaceOrNone, seconds, setting, type ValuesOf } from './types.ts';

/** Settings of the operator alone. Durations are milliseconds in the program, except where the name says seconds. */
export const operatorSettingDefinitions = {
  leaseDurationMs: setting({
    name: 'LATCHKEY_LEASE_DURATION',
    type: duration('1s', '5m'),
    default: '15s',
    documentation:
      'How long another replica waits before it takes over from a leader that died. The leader stops writing at two thirds of it.',
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
      'The longest life of a kubeconfig with a token, and the life of one with `certificateTTL: 0`. For certificates, the signer of the virtual cluster decides as well.',
  }),
  targetRecheckMs: setting({
    name: 'LATCHKEY_TARGET_RECHECK',
    type: duration('1s', '1h'),
    default: '60s',
    documentation:
      'How often the operator checks each virtual cluster and cluster: it reads the administrator kubeconfig and repairs what is missing.',
  }),
  baseURLCA: setting({
    name: 'LATCHKEY_BASE_URL_CA_FILE',
    type: certificateFile,
    default: 'auto',
    documentation:
      'The certificate authority of the base URL, for kubeconfigs with a token. `auto`: that of the operator, while the gateway serves with the certificate that the operator made. `none`: clients trust it anyway. A file is read at start.',
  }),
  clusterProfilesNamespace: setting({
    name: 'LATCHKEY_CLUSTER_PROFILES_NAMESPACE',
    type: namespaceOrNone,
    default: 'none',
    documentation:
      'Where the operator publishes a [ClusterProfile](cluster-profiles.md) for each target, for fleet tools. `none`: it publishes none.',
  }),
  finalizerLimitMs: setting({
    name: 'LATCHKEY_FINALIZER_LIMIT',
    type: duration('1s', '10m'),
    default: '60s',
    documentation:
      'How long a deleted object may wait for its clean-up before it goes all the same. Tokens wait 5 seconds at most.',
  }),
} as const;

/** Every setting of the operator. */
export const allOperatorSettings = { ...commonSettingDefinitions, ...operatorSettingDefinitions } as const;

export type OperatorSettings = ValuesOf<typeof allOperatorSettings>;
