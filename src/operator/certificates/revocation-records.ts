import { hash } from 'node:crypto';
import { formatTimestamp, parseInstant } from '../../api/instant.ts';
import { asObject, asText, defined } from '../../api/json.ts';
import { fieldManager, labels, purposes, systemNamespace } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { configMaps } from '../../api/resources.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import type { AdminKubeConfig } from '../../platform/targets/admin-kubeconfig/admin-kube-config.ts';
import type { KubeConfigSource } from '../../platform/targets/target-record.ts';
import type { ObjectEvents, TransitionEvent } from '../shared/events.ts';
import type { RecordSignatures } from './record-signatures.ts';

/**
 * The revocation that is due when a kubeconfig with certificates goes, whichever way. Written before the first certificate
 * exists: finalizers can be taken off, and objects can vanish while no operator is there. Holds no secret.
 */
export interface Revocation {
  /** UID of the VirtualClusterInstanceKubeConfig. */
  readonly ownerUID: string;
  /** For people: whose virtual cluster it is. */
  readonly instance: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Where the administrator kubeconfig of that virtual cluster stands, or stood, and which server was dialled with it. */
  readonly secret: KubeConfigSource;
  /** Of the virtual cluster: the Secret may lead elsewhere later. */
  readonly caFingerprint: string;
  /** The certificates that were asked for there. */
  readonly serials: readonly number[];
  /** When the last of them has ended by itself, epoch milliseconds; infinite: no one knows. */
  readonly notAfter: number;
}

export interface RevocationRecord extends Revocation, StoredRecord {
  readonly name: string;
  /** False: it does not say what is to be revoked where. A person has to look at it. */
  readonly readable: boolean;
}

/** How records are found; `secret`: by the key of the Secret that leads into their virtual cluster. */
export const revocationIndexes = {
  owner: ({ ownerUID }: RevocationRecord) => [ownerUID],
  instance: ({ instance }: RevocationRecord) => [instance.uid],
  secret: ({ secret }: RevocationRecord) => [keyOf(secret)],
};

/** The fields that identify a record: one for each object and virtual cluster. */
export type RevocationKey = Pick<Revocation, 'ownerUID' | 'caFingerprint'>;

/**
 * By what a virtual cluster is known again: SHA-256 of its authority, hexadecimal. A person who may write the Secret of
 * the administrator kubeconfig can point it elsewhere, but cannot make that other place prove itself by the same authority.
 */
export function caFingerprint({ ca }: Pick<AdminKubeConfig, 'ca'>): string {
  return hash('sha256', ca, 'hex');
}

export interface RevocationRecordsOptions {
  readonly client: Pick<KubeClient, 'apply' | 'delete'>;
  readonly signatures: Pick<RecordSignatures, 'sign' | 'isSigned'>;
  readonly events: Pick<ObjectEvents, 'publish'>;
}

/** Keeps the records of what is to be revoked, as signed ConfigMaps in the system namespace. */
export class RevocationRecords {
  readonly #client: RevocationRecordsOptions['client'];
  readonly #signatures: RevocationRecordsOptions['signatures'];
  readonly #events: RevocationRecordsOptions['events'];
  /** Versions of ConfigMaps that were reported: they are listed again and again. */
  readonly #reported = new Set<string>();

  constructor({ client, signatures, events }: RevocationRecordsOptions) {
    this.#client = client;
    this.#signatures = signatures;
    this.#events = events;
  }

  /** Creates or replaces the record of that object in that virtual cluster. */
  async write(revocation: Revocation): Promise<void> {
    const options = { fieldManager, force: true };
    const rendered = renderRevocation(revocation);
    const signature = this.#signatures.sign(signedPart(rendered.metadata.name, rendered.data));
    const record = { ...rendered, data: { ...rendered.data, signature } };
    await this.#client.apply(configMaps, placeOf(revocation), record, options);
  }

  /** For a reflector. Undefined for what this operator did not write: nothing is ever revoked on its word. */
  read(object: KubeObject): RevocationRecord | undefined {
    const { signature, ...data } = asObject((object as KubeObject & { readonly data?: unknown }).data);
    if (this.#signatures.isSigned(signedPart(object.metadata.name, data), signature))
      return toRevocationRecord(object);
    this.#report(object.metadata);
    return undefined;
  }

  #report({ name, namespace = systemNamespace, uid, resourceVersion }: KubeObject['metadata']): void {
    const id = `${uid}/${resourceVersion}`;
    if (this.#reported.has(id)) return;
    if (this.#reported.size >= maxReported) this.#reported.clear();
    this.#reported.add(id);
    const subject = { apiVersion: 'v1', kind: 'ConfigMap', name, namespace, key: `${namespace}/${name}` };
    this.#events.publish({ ...subject, uid, resourceVersion }, [recordNotSigned]);
  }

  /** When nothing is left of an object in that virtual cluster. */
  async remove(place: RevocationKey): Promise<void> {
    await this.#client.delete(configMaps, placeOf(place)).catch(ignoreNotFound);
  }

  /** Fails with a conflict when the record has changed: another certificate stands in it. */
  async complete({ name, uid, resourceVersion }: RevocationRecord): Promise<void> {
    const key = { namespace: systemNamespace, name };
    await this.#client
      .delete(configMaps, key, { preconditions: { uid, resourceVersion } })
      .catch(ignoreNotFound);
  }
}

const maxReported = 1_000;

export const recordNotSigned: TransitionEvent = {
  type: 'Warning',
  reason: reasons.recordNotSigned,
  action: 'Revoke',
  note: 'This record of certificates to revoke does not have the signature of the operator, so nothing is done on its word: delete it.',
};

/** A record copied under another name, or with an entry more, is none. */
const signedPart = (name: string, data: object): object => ({ name, data });

const revocationName = ({ ownerUID, caFingerprint: ca }: RevocationKey): string =>
  `latchkey-revocation-${ownerUID}-${ca.slice(0, 12)}`;

const placeOf = (place: RevocationKey) => ({ namespace: systemNamespace, name: revocationName(place) });

/** Times are written with four digits of the year. Certificates without an end say the last second that has them. */
const lastInstant = Date.UTC(9999, 11, 31, 23, 59, 59);

export function renderRevocation(revocation: Revocation) {
  const { ownerUID, instance, secret, serials, notAfter } = revocation;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      ...placeOf(revocation),
      labels: { [labels.purpose]: purposes.revocation, [labels.ownerUID]: ownerUID },
    },
    data: defined({
      uid: ownerUID,
      instanceNamespace: instance.namespace,
      instanceName: instance.name,
      instanceUID: instance.uid,
      secretNamespace: secret.namespace,
      secretName: secret.name,
      secretKey: secret.key,
      server: secret.server,
      service: secret.service,
      serials: serials.join(','),
      notAfter: formatTimestamp(Math.min(notAfter, lastInstant)),
      authority: revocation.caFingerprint,
    }),
  };
}

/** Reads a record. One that cannot be read is kept: what it is about may still work. Without an end it is due until it is done. */
export function toRevocationRecord(object: KubeObject): RevocationRecord {
  const { metadata } = object;
  const data = asObject((object as KubeObject & { readonly data?: unknown }).data);
  const text = (name: string) => asText(data[name]) ?? '';
  const notAfter = parseInstant(data['notAfter']) ?? Number.POSITIVE_INFINITY;
  const secret = { namespace: text('secretNamespace'), name: text('secretName'), key: text('secretKey') };
  const ownerUID = text('uid');
  const authority = text('authority');
  const needed = [ownerUID, authority, ...Object.values(secret)];
  return {
    key: keyOf(metadata),
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    ownerUID,
    instance: {
      namespace: text('instanceNamespace'),
      name: text('instanceName'),
      uid: text('instanceUID'),
    },
    secret: { ...secret, ...defined({ server: asText(data['server']), service: asText(data['service']) }) },
    caFingerprint: authority,
    serials: text('serials')
      .split(',')
      .filter((serial) => /^[1-9]\d{0,14}$/.test(serial))
      .map(Number),
    notAfter,
    readable: !needed.includes(''),
  };
}
