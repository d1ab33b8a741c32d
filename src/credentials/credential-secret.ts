import { credentialKinds } from '../api/credential-kinds.ts';
import { asObject, asText, type JsonObject } from '../api/json.ts';
import { apiVersion, labels as labelNames, purposes } from '../api/names.ts';
import { credentialHash } from './keys/credential-hash.ts';
import type { CredentialRecord } from './record.ts';

/** Where the credential of an object goes. */
export interface SecretLocation {
  readonly namespace: string;
  readonly name: string;
  /** Name of the data entry. */
  readonly entry: string;
}

/** `undefined` without `secretRef`, or when no namespace is known. A namespaced object's Secret is always in its own namespace. */
export function secretLocation(record: CredentialRecord): SecretLocation | undefined {
  const reference = record.secretRef;
  const namespace = record.namespace ?? reference?.namespace;
  if (reference === undefined || namespace === undefined) return undefined;
  return {
    namespace,
    name: reference.name,
    entry: reference.key ?? credentialKinds[record.kind].secretEntry,
  };
}

/**
 * The Secret of one credential. It is labelled with the UID and serial that it belongs to, so that after a crash it is recognised, and
 * owned by the object, so that it goes with it. Nothing of the object's own labels and annotations is copied.
 */
export function renderCredentialSecret(
  record: CredentialRecord,
  location: SecretLocation,
  serial: number,
  credential: string,
) {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: location.name,
      namespace: location.namespace,
      labels: labelsOf(record, serial),
      ...(!isLabelValue(record.name) && { annotations: { [labelNames.ownerName]: record.name } }),
      ownerReferences: [{ apiVersion, kind: record.kind, name: record.name, uid: record.uid }],
    },
    data: { [location.entry]: Buffer.from(credential).toString('base64') },
  };
}

export type ExistingSecret =
  | { readonly owner: 'other' }
  | {
      readonly owner: 'this';
      /** 0 when the label is missing or altered. */
      readonly serial: number;
      /** Of the entry's content; absent when the entry is missing or empty. */
      readonly credentialHash?: string;
    };

/** Whether an existing Secret was made for this object. `other`: it must never be touched (`SecretConflict`). */
export function recogniseCredentialSecret(
  secret: unknown,
  record: CredentialRecord,
  location: SecretLocation,
): ExistingSecret {
  const { metadata, data, type } = asObject(secret);
  const labels = asObject(asObject(metadata)['labels']);
  const isOurs =
    type === 'Opaque' &&
    record.uid !== '' &&
    labels[labelNames.ownerUID] === record.uid &&
    labels[labelNames.ownerKind] === record.kind;
  if (!isOurs) return { owner: 'other' };
  const content = decodeEntry(asObject(data), location.entry);
  return {
    owner: 'this',
    serial: parseSerial(labels[labelNames.serial]),
    ...(content !== undefined && { credentialHash: credentialHash(content) }),
  };
}

/** The credential in a Secret's data. */
export function decodeEntry(data: JsonObject, entry: string): string | undefined {
  const encoded = Object.hasOwn(data, entry) ? asText(data[entry]) : undefined;
  return encoded === undefined ? undefined : asText(Buffer.from(encoded, 'base64').toString());
}

function labelsOf(record: CredentialRecord, serial: number): Record<string, string> {
  return {
    [labelNames.ownerKind]: record.kind,
    ...(isLabelValue(record.name) && { [labelNames.ownerName]: record.name }),
    [labelNames.ownerUID]: record.uid,
    [labelNames.serial]: String(serial),
    [labelNames.purpose]: purposes.credential,
  };
}

/** Names of objects may be longer than the values of labels. */
const isLabelValue = (text: string): boolean =>
  /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(text);

const parseSerial = (value: unknown): number =>
  typeof value === 'string' && /^[1-9]\d{0,14}$/.test(value) ? Number(value) : 0;
