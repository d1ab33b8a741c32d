import { credentialKinds } from '../api/credential-kinds.ts';
import { formatTimestamp } from '../api/instant.ts';
import { asObject, asText, defined, type JsonObject } from '../api/json.ts';
import { annotations, apiVersion, labels as labelNames, purposes } from '../api/names.ts';
import { credentialHash } from './keys/credential-hash.ts';
import type { CredentialRecord } from './record.ts';
import { layoutDigest, renderEntries, type SecretLayout } from './secret-template.ts';

/** Where the credential of an object goes. */
export interface SecretLocation {
  readonly namespace: string;
  readonly name: string;
  /** Name of the data entry. */
  readonly entry: string;
}

/** The state of a credential as its Secret says it, for readers of no more than the Secret. */
export interface SecretState {
  /** Of the condition Ready. */
  readonly reason: string;
  /** Epoch milliseconds; absent: no end. */
  readonly expires?: number;
  readonly fingerprint?: string;
}

const stateNames = [annotations.reason, annotations.expires, annotations.fingerprint];

function stateAnnotations({ reason, expires, fingerprint }: SecretState): Record<string, string> {
  return defined({
    [annotations.reason]: reason,
    [annotations.expires]: formatTimestamp(expires),
    [annotations.fingerprint]: fingerprint,
  });
}

/** The state in one text, to compare it; empty where an earlier release wrote the Secret. */
export const stateText = (state: SecretState): string => stateTextOf(stateAnnotations(state));

export const stateTextOf = (stored: Readonly<Record<string, string>>): string =>
  stateNames
    .map((name) => stored[name] ?? '')
    .join(' ')
    .trim();

/** The annotations of a Secret with this state, and with all else that others put there. */
export function withState(
  stored: Readonly<Record<string, string>>,
  state: SecretState,
): Readonly<Record<string, string>> {
  const others = Object.entries(stored).filter(([name]) => !stateNames.some((ours) => ours === name));
  return { ...Object.fromEntries(others), ...stateAnnotations(state) };
}

/** `undefined` without `secretRef`, or when no namespace is known. A namespaced object's Secret is always in its own namespace. */
export function secretLocation(record: CredentialRecord): SecretLocation | undefined {
  const reference = record.secretRef;
  const namespace = record.namespace ?? reference?.namespace;
  if (reference === undefined || namespace === undefined) return undefined;
  return {
    namespace,
    name: reference.name,
    entry: reference.key ?? defaultEntry(record),
  };
}

/** Argo CD has an entry of the same name as kubeconfigs. */
const defaultEntry = ({ kind, secretTemplate }: CredentialRecord): string =>
  kind === 'VirtualClusterInstanceKubeConfig' && secretTemplate?.format !== undefined
    ? 'kubeconfig'
    : credentialKinds[kind].secretEntry;

/** The content of a Secret. */
export interface SecretContent {
  readonly serial: number;
  readonly credential: string;
  readonly state: SecretState;
  /** Absent: nothing but the credential is asked for. */
  readonly layout?: SecretLayout;
}

/**
 * The Secret of one credential. It is labelled with the UID and serial that it belongs to, so that after a crash it is recognised, and
 * owned by the object, so that it goes with it. Nothing of the object's own labels and annotations is copied. What the template says
 * comes first, so that nothing in it can take the place of what the operator knows the Secret by.
 */
export function renderCredentialSecret(
  record: CredentialRecord,
  location: SecretLocation,
  { serial, credential, state, layout }: SecretContent,
) {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: location.name,
      namespace: location.namespace,
      labels: { ...layout?.labels, ...labelsOf(record, serial) },
      annotations: {
        ...layout?.annotations,
        ...(!isLabelValue(record.name) && { [labelNames.ownerName]: record.name }),
        ...(layout && { [annotations.template]: layoutDigest(layout) }),
        ...stateAnnotations(state),
      },
      ownerReferences: [{ apiVersion, kind: record.kind, name: record.name, uid: record.uid }],
    },
    data: {
      ...(layout && renderEntries(layout, credential)),
      [location.entry]: Buffer.from(credential).toString('base64'),
    },
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

/** Whether a Secret with the confirmed credential looks as it is to look. */
export function followsLayout(secret: unknown, { entry }: SecretLocation, layout?: SecretLayout): boolean {
  const { metadata, data: rawData } = asObject(secret);
  const [{ labels, annotations: notes }, data] = [asObject(metadata), asObject(rawData)];
  if (layout === undefined) return !(annotations.template in asObject(notes));
  const credential = decodeEntry(data, entry) ?? '';
  return (
    holdsAll(asObject(labels), layout.labels) &&
    holdsAll(asObject(notes), { ...layout.annotations, [annotations.template]: layoutDigest(layout) }) &&
    holdsAll(data, renderEntries(layout, credential))
  );
}

const holdsAll = (present: JsonObject, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([name, value]) => Object.hasOwn(present, name) && present[name] === value);

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
