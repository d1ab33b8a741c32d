import { hash } from 'node:crypto';
import { defined } from '../../api/json.ts';
import { annotations, apiVersion, labels, purposes } from '../../api/names.ts';
import { secretLocation, stateTextOf } from '../../credentials/credential-secret.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { EventSubject } from '../shared/events.ts';

/** A Secret that we made, without its data: what was written under each data key is known by its SHA-256. */
export interface SecretRecord extends StoredRecord {
  readonly namespace: string;
  readonly name: string;
  readonly ownerUID: string;
  readonly serial: number;
  readonly purpose: string;
  /** Empty for a Secret with more entries than we write: it was altered. Absent: no one has read it yet. */
  readonly hashes?: ReadonlyMap<string, string>;
  /** The state of its credential, in one text; empty where an earlier release wrote it. */
  readonly state: string;
  /** The digest of the layout that it was written by; absent without one. */
  readonly template?: string;
  /** False when someone has changed what the layout says. Absent: no one has read it yet. */
  readonly followsLayout?: boolean;
  readonly deleting: boolean;
}

interface Secret extends KubeObject {
  readonly data?: Record<string, string>;
}

/**
 * Undefined for a Secret that is not ours. A label alone does not make it so: tools copy Secrets with their labels, and
 * a person who may only label must not make the operator delete. An owner reference gives the Secret to the garbage
 * collector of Kubernetes anyway.
 */
export function toSecretRecord(object: KubeObject, followsLayout?: boolean): SecretRecord | undefined {
  const record = toSecretMetadata(object);
  return record && { ...record, hashes: hashesOf(object as Secret), ...defined({ followsLayout }) };
}

/** The same of an object of which only the metadata is there. */
export function toSecretMetadata(object: KubeObject): SecretRecord | undefined {
  const {
    namespace = '',
    name,
    uid,
    resourceVersion,
    labels: marks = {},
    annotations: notes = {},
    ownerReferences = [],
  } = object.metadata;
  const ownerUID = marks[labels.ownerUID];
  if (
    ownerUID === undefined ||
    !ownerReferences.some((owner) => owner.uid === ownerUID && owner.apiVersion === apiVersion)
  )
    return undefined;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid,
    resourceVersion,
    ownerUID,
    serial: Number(marks[labels.serial] ?? 0),
    purpose: marks[labels.purpose] ?? purposes.credential,
    state: stateTextOf(notes),
    ...defined({ template: notes[annotations.template] }),
    deleting: object.metadata.deletionTimestamp !== undefined,
  };
}

/** More than a credential with all entries of its template, and more than a login Secret has. */
const maxEntries = 16;

function hashesOf({ data = {} }: Secret): ReadonlyMap<string, string> {
  const entries = Object.entries(data);
  if (entries.length > maxEntries) return new Map();
  return new Map(entries.map(([key, value]) => [key, hash('sha256', Buffer.from(value, 'base64'), 'hex')]));
}

/** The Secret as what events are about. */
export function secretSubject({ key, name, namespace, uid, resourceVersion }: SecretRecord): EventSubject {
  return { apiVersion: 'v1', kind: 'Secret', key, name, namespace, uid, resourceVersion };
}

/** The key, in the store of Secrets, of the place that `spec.secretRef` names. */
export function secretKeyOf(record: CredentialRecord): string | undefined {
  const location = secretLocation(record);
  return location === undefined ? undefined : `${location.namespace}/${location.name}`;
}

/** True when the Secret that `spec.secretRef` names holds the confirmed credential, unaltered. @throws TypeError when it was not read. */
export function isIntact(record: CredentialRecord, present: SecretRecord | undefined): boolean {
  const { credentialHash, documentHash = credentialHash } = record.status;
  const entry = secretLocation(record)?.entry ?? '';
  if (!isExpected(record, present)) return false;
  if (present.hashes === undefined) throw new TypeError('the Secret was not read');
  return present.hashes.get(entry) === documentHash;
}

/** Whether what stands in it decides on anything, and is not known. */
export const isUnread = (record: CredentialRecord, present: SecretRecord | undefined): boolean =>
  isExpected(record, present) && present.hashes === undefined;

/** By its metadata. */
function isExpected(record: CredentialRecord, present: SecretRecord | undefined): present is SecretRecord {
  const { credentialHash, serial } = record.status;
  return (
    secretLocation(record) !== undefined &&
    present !== undefined &&
    credentialHash !== undefined &&
    present.ownerUID === record.uid &&
    present.serial === serial
  );
}

/** Secrets with a credential of this object at places that `spec.secretRef` does not name any more. */
export function staleSecrets(
  record: CredentialRecord,
  all: readonly SecretRecord[],
): readonly SecretRecord[] {
  const place = secretKeyOf(record);
  return all.filter(({ key, purpose }) => purpose === purposes.credential && key !== place);
}
