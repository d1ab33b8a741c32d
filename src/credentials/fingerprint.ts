import { hash } from 'node:crypto';
import { canonicalJson } from '../api/canonical-json.ts';
import { parseSpecKey } from './keys/spec-key.ts';

/** The spec of a credential as it came from the API server. */
export type RawSpec = Readonly<Record<string, unknown>>;

/** One way to compute a fingerprint. `version` is the prefix of what it computes. */
export interface FingerprintAlgorithm {
  readonly version: string;
  /** The part of the spec that a fingerprint of this version covers; members that are `undefined` are not covered. */
  readonly covered: (spec: RawSpec) => RawSpec;
}

/**
 * Version 1. Two specs that mean the same to every enforcer may differ here (that costs one confirmation), but two specs that mean
 * something different never agree. `scope: null` and `scope: {}` both allow nothing; an absent scope does not narrow at all.
 */
export const fingerprintV1: FingerprintAlgorithm = {
  version: 'v1',
  covered: (spec) => ({
    user: text(spec['user']),
    team: text(spec['team']),
    subject: text(spec['subject']),
    groups: list(spec['groups']),
    scope: spec['scope'] === null ? {} : spec['scope'],
    rules: list(spec['rules']),
    allowPlatformCli: flag(spec['allowPlatformCli']),
    certificateTTL: spec['certificateTTL'] ?? undefined,
    clientCert: flag(spec['clientCert']),
    server: text(spec['server']),
    virtualClusterInstance: text(spec['virtualClusterInstance']),
    secretRef: reference(spec['secretRef']),
    accessKey: text(spec['accessKey']),
    exchange: spec['exchange'] ?? undefined,
    key: keyHash(spec['key']),
  }),
};

/** The present algorithm, then the one of the release before where it differs. Verifiers accept both. */
export const fingerprintAlgorithms: readonly FingerprintAlgorithm[] = [fingerprintV1];

/** `v1:` + 64 hex characters. Throws `RangeError` for a spec that is nested beyond 64 levels. */
export function fingerprint(spec: RawSpec, algorithm: FingerprintAlgorithm): string {
  return `${algorithm.version}:${hash('sha256', canonicalJson(algorithm.covered(spec)), 'hex')}`;
}

/** The fingerprints of one spec, the present algorithm first. Empty when it cannot be computed, so that nothing can confirm it. */
export function computeFingerprints(
  spec: RawSpec,
  algorithms: readonly FingerprintAlgorithm[] = fingerprintAlgorithms,
): readonly string[] {
  try {
    return algorithms.map((algorithm) => fingerprint(spec, algorithm));
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/**
 * How a confirmed fingerprint relates to those of the present spec. `outdated`: it still matches by the algorithm before, and
 * the operator stamps the present one without issuing anything; `different`: the spec changed.
 */
export function compareFingerprint(
  fingerprints: readonly string[],
  confirmed: string | undefined,
): 'current' | 'outdated' | 'different' {
  if (confirmed === undefined) return 'different';
  const position = fingerprints.indexOf(confirmed);
  if (position === 0) return 'current';
  return position > 0 ? 'outdated' : 'different';
}

const text = (value: unknown): unknown => (value === '' || value === null ? undefined : value);
const flag = (value: unknown): unknown => (value === false || value === null ? undefined : value);
const list = (value: unknown): unknown =>
  value === null || (Array.isArray(value) && value.length === 0) ? undefined : value;

function keyHash(value: unknown): string | undefined {
  const key = parseSpecKey(value);
  return key === undefined ? undefined : `sha256:${key.hash}`;
}

function reference(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value ?? undefined;
  // A template says how the Secret looks, and nothing of the credential in it.
  const members = Object.entries(value).filter(([name]) => name !== 'template');
  return Object.fromEntries(members.map(([name, member]) => [name, text(member)]));
}
