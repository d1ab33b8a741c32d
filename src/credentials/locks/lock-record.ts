import type { Condition } from '../../api/conditions.ts';
import { parseInstant } from '../../api/instant.ts';
import { asCount, asObject, asText, type JsonObject } from '../../api/json.ts';
import { parseConditions } from '../confirmation.ts';
import type { Slots } from '../record.ts';

/** Names of selectors. Locks are found by the name and the value. */
export type SelectorName =
  | 'user'
  | 'group'
  | 'requester'
  | 'accessKey'
  | 'credentialHash'
  | 'issuer'
  | 'signingKeyID'
  | 'all';

/** One CredentialLock as verifiers and the operator keep it. Instants are epoch milliseconds. */
export interface LockRecord {
  readonly kind: 'CredentialLock';
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly selector: SelectorName;
  /** Empty for all. */
  readonly value: string;
  /** Of an access key: of this object alone. */
  readonly keyUID?: string;
  /** Of an exchange: with this subject alone. */
  readonly subject?: string;
  /** Absent: whenever its life began. */
  readonly issuedBefore?: number;
  /** Absent: never. */
  readonly end?: number;
  readonly finalizers: readonly string[];
  readonly status: LockStatus;
  readonly observedGeneration: number;
  readonly state?: string;
  readonly conditions: readonly Condition[];
}

export interface LockStatus {
  readonly stops?: string;
  readonly stoppedCredentials?: number;
  readonly inForceSince?: number;
}

/** Never throws. What cannot be read makes a lock wider, never narrower: an end that is none, a time before which everything began. */
export function toLockRecord(object: unknown): LockRecord {
  const { metadata: rawMetadata, spec: rawSpec, status: rawStatus } = asObject(object);
  const [metadata, spec, status] = [asObject(rawMetadata), asObject(rawSpec), asObject(rawStatus)];
  const name = asText(metadata['name']) ?? '';
  const { issuedBefore, expirationTimestamp } = spec;
  return {
    kind: 'CredentialLock',
    key: name,
    name,
    uid: asText(metadata['uid']) ?? '',
    resourceVersion: asText(metadata['resourceVersion']) ?? '',
    generation: asCount(metadata['generation']) ?? 0,
    ...selectorOf(spec),
    issuedBefore: isAbsent(issuedBefore)
      ? undefined
      : (parseInstant(issuedBefore) ?? Number.POSITIVE_INFINITY),
    end: parseInstant(expirationTimestamp),
    finalizers: [],
    status: {
      stops: asText(status['stops']),
      stoppedCredentials: asCount(status['stoppedCredentials']),
      inForceSince: parseInstant(status['inForceSince']),
    } satisfies Slots<LockStatus> as LockStatus,
    observedGeneration: asCount(status['observedGeneration']) ?? -1,
    state: asText(status['state']),
    conditions: parseConditions(status['conditions']),
  } satisfies Slots<LockRecord> as LockRecord;
}

/** Locks of one subject stand apart: an issuer may have thousands of them, and no credential goes through those of others. */
export const lockKey = (selector: SelectorName, value: string, subject?: string): string =>
  subject === undefined ? `${selector}/${value}` : `${selector}/${value}\n${subject}`;

export const isInForce = ({ end }: Pick<LockRecord, 'end'>, now: number): boolean =>
  end === undefined || now < end;

type Selector = Pick<Slots<LockRecord>, 'selector' | 'value' | 'keyUID' | 'subject'>;

const selecting = (selector: SelectorName, value: string): Selector => ({
  ...{ selector, value },
  ...{ keyUID: undefined, subject: undefined },
});

function selectorOf(spec: JsonObject): Selector {
  const accessKey = asObject(spec['accessKey']);
  const exchange = asObject(spec['exchange']);
  const [keyName, issuer] = [asText(accessKey['name']), asText(exchange['issuer'])];
  for (const name of ['user', 'group', 'requester', 'signingKeyID'] as const) {
    const value = asText(spec[name]);
    if (value !== undefined) return selecting(name, value);
  }
  const hash = asText(spec['credentialHash']);
  if (hash !== undefined) return selecting('credentialHash', hash.replace(/^sha256:/, ''));
  if (keyName !== undefined) return { ...selecting('accessKey', keyName), keyUID: asText(accessKey['uid']) };
  if (issuer !== undefined) return { ...selecting('issuer', issuer), subject: asText(exchange['subject']) };
  return selecting('all', '');
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;
