import { parseEnd, parseInstant } from '../api/instant.ts';
import { asCount, asObject, asText, defined, type JsonObject } from '../api/json.ts';
import type { Confirmation, KeySource, KubeConfigAuth, PreviousCredential } from './record.ts';

/** What `status` confirms. What cannot be read counts as never confirmed, or, where it is an end, as over. Never throws. */
export function toConfirmation(status: JsonObject): Confirmation {
  return defined({
    credentialHash: asHash(status['credentialHash']),
    fingerprint: asText(status['fingerprint']),
    serial: asCount(status['serial']) ?? 0,
    notAfter: parseEnd(status['notAfter']),
    issuedAt: parseInstant(status['issuedAt']),
    confirmedTTL: toLifetime(status['confirmedTTL']),
    previous: toPrevious(status['previous']),
    accessKeyUID: asText(status['accessKeyUID']),
    chain: asText(status['chain']),
    keyID: asText(status['keyID']),
    keySource: keySources.find((source) => source === status['keySource']),
    observedRotation: typeof status['observedRotation'] === 'string' ? status['observedRotation'] : undefined,
    disabledByExpiry: asCount(status['disabledByExpiry']),
    active: typeof status['active'] === 'boolean' ? status['active'] : undefined,
    lastActivity: parseInstant(status['lastActivity']),
    expirationTimestamp: parseInstant(status['expirationTimestamp']),
    ...toKubeConfigFields(status),
  });
}

function toKubeConfigFields(status: JsonObject) {
  const serials = status['boundSerials'];
  return {
    auth: kubeConfigAuths.find((auth) => auth === status['auth']),
    documentHash: asHash(status['documentHash']),
    targetHash: asHash(status['targetHash']),
    instanceUID: asText(status['virtualClusterInstanceUID']),
    boundSerials: Array.isArray(serials)
      ? serials.map(asCount).filter((serial) => serial !== undefined)
      : undefined,
  };
}

const kubeConfigAuths: readonly KubeConfigAuth[] = ['Token', 'ClientCertificate'];

/** Seconds of a life time. `undefined`: absent. -1: present, and no number of seconds from 0 on. */
export function toLifetime(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  return asCount(value) ?? -1;
}

const keySources: readonly KeySource[] = ['Generated', 'Plain', 'Hash', 'Secret'];

function toPrevious(value: unknown): PreviousCredential | undefined {
  const previous = asObject(value);
  const credentialHash = asHash(previous['credentialHash']);
  const serial = asCount(previous['serial']);
  const expirationTimestamp = parseInstant(previous['expirationTimestamp']);
  if (credentialHash === undefined || serial === undefined || expirationTimestamp === undefined)
    return undefined;
  return defined({
    credentialHash,
    serial,
    expirationTimestamp,
    keyID: asText(previous['keyID']),
  });
}

function asHash(value: unknown): string | undefined {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? value : undefined;
}
