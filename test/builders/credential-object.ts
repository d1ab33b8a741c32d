import { createHash } from 'node:crypto';
import { formatInstant } from '../../src/api/instant.ts';
import { annotations, apiVersion } from '../../src/api/names.ts';
import { chainOf } from '../../src/credentials/ancestors.ts';
import { toCredentialRecord } from '../../src/credentials/credential-record.ts';
import { credentialHash } from '../../src/credentials/keys/credential-hash.ts';
import { lifeOfAccessKey, lifeOfIssued } from '../../src/credentials/life.ts';
import type { CredentialKind, CredentialRecord } from '../../src/credentials/record.ts';

/** 2026-11-21T10:00:00Z, when everything that the builders make was created. */
export const created = Date.UTC(2026, 10, 21, 10);

type Json = Record<string, unknown>;

export interface CredentialParts {
  readonly kind?: CredentialKind;
  readonly name?: string;
  readonly metadata?: Json;
  readonly annotations?: Json;
  readonly spec?: Json;
  readonly status?: Json;
}

export interface CredentialObject extends Json {
  readonly kind: CredentialKind;
  readonly metadata: Json;
  readonly spec: Json;
  readonly status: Json;
}

/** A credential as the API server stores it, made by `alice`, and not confirmed by anyone. */
export function credentialObject(parts: CredentialParts = {}): CredentialObject {
  const { kind = 'OwnedAccessKey', name = 'ci', spec, status = {} } = parts;
  const stamps = { [annotations.requester]: 'alice', [annotations.requesterGroups]: '["dev"]' };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      uid: uidOf(name),
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: formatInstant(created),
      annotations: { ...stamps, ...parts.annotations },
      ...parts.metadata,
    },
    spec: spec ?? (kind === 'OwnedAccessKey' ? { user: 'alice', key: plainKeyOf(name) } : {}),
    status,
  };
}

/** The UID that the builders give to the object of a name. */
export function uidOf(name: string): string {
  const hex = createHash('md5').update(name).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export const plainKeyOf = (name: string): string => `example-plain-key-of-${name}`;

/** The same object with the status that the operator writes when it confirms and issues it at `created`. */
export function confirmed(
  object: CredentialObject,
  ancestors: readonly CredentialRecord[] = [],
): CredentialObject {
  const record = toCredentialRecord(object, object.kind);
  const parent = ancestors[0];
  const status = {
    credentialHash: record.specKey?.hash ?? credentialHash(`credential of ${record.uid}`),
    fingerprint: record.fingerprints[0],
    serial: 1,
    ...lifeStatus(record),
    ...(parent !== undefined && { accessKeyUID: parent.uid }),
    ...(record.kind !== 'OwnedAccessKey' && parent !== undefined && { chain: chainOf(ancestors) }),
  };
  return { ...object, status: { ...status, ...object.status } };
}

/** The record of an object that is confirmed and live. */
export function liveRecord(
  parts: CredentialParts = {},
  ancestors: readonly CredentialRecord[] = [],
): CredentialRecord {
  return recordOf(confirmed(credentialObject(parts), ancestors));
}

export const recordOf = (object: CredentialObject): CredentialRecord =>
  toCredentialRecord(object, object.kind);

function lifeStatus(record: CredentialRecord): Json {
  const isKey = record.kind === 'OwnedAccessKey';
  const life = isKey ? lifeOfAccessKey(record) : lifeOfIssued(record, { issuedAt: created });
  return {
    confirmedTTL: life.confirmedTTL,
    ...(life.notAfter !== undefined && { notAfter: formatInstant(life.notAfter) }),
    ...(!isKey && { issuedAt: formatInstant(created) }),
  };
}

/** The step that was decided on, as one of this name. @throws Error when it is another. */
export function stepOf<Step extends { readonly step: string }, Name extends Step['step']>(
  decided: Step,
  name: Name,
): Extract<Step, { readonly step: Name }> {
  if (decided.step !== name) throw new Error(`expected to ${name}, not to ${decided.step}`);
  return decided as Extract<Step, { readonly step: Name }>;
}
