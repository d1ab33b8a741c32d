import { hash } from 'node:crypto';
import { formatTimestamp, parseInstant } from '../../api/instant.ts';
import { asObject, asText } from '../../api/json.ts';
import { fieldManager, labels, purposes, systemNamespace } from '../../api/names.ts';
import { configMaps } from '../../api/resources.ts';
import type { AdminKubeConfig } from '../../kube/admin-kubeconfig/admin-kube-config.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import type { SecretEntry } from '../../platform/targets/target-record.ts';

/**
 * What has to be revoked when a kubeconfig with certificates goes, whichever way. Written before the first certificate
 * exists: finalizers can be taken off, and objects can vanish while no operator is there. Holds no secret.
 */
export interface Revocation {
  /** UID of the VirtualClusterInstanceKubeConfig. */
  readonly ownerUID: string;
  /** For people: whose virtual cluster it is. */
  readonly instance: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Where the administrator kubeconfig of that virtual cluster stands, or stood. */
  readonly secret: SecretEntry;
  /** Of the virtual cluster: the Secret may lead elsewhere later. */
  readonly caFingerprint: string;
  /** The certificates that were asked for there. */
  readonly serials: readonly number[];
  /** When the last of them has ended by itself, epoch milliseconds. */
  readonly notAfter: number;
}

export interface RevocationRecord extends Revocation, StoredRecord {
  readonly name: string;
}

/** What identifies a record: one for each object and virtual cluster. */
export type RevocationPlace = Pick<Revocation, 'ownerUID' | 'caFingerprint'>;

/**
 * By what a virtual cluster is known again: SHA-256 of its authority, hexadecimal. A person who may write the Secret of
 * the administrator kubeconfig can point it elsewhere, but cannot make that other place prove itself by the same authority.
 */
export function caFingerprint({ ca }: Pick<AdminKubeConfig, 'ca'>): string {
  return hash('sha256', ca, 'hex');
}

/** Keeps the records of what is to be revoked, as ConfigMaps in the system namespace. */
export class RevocationRecords {
  readonly #client: Pick<KubeClient, 'apply' | 'delete'>;

  constructor(client: Pick<KubeClient, 'apply' | 'delete'>) {
    this.#client = client;
  }

  /** Creates or replaces the record of that object in that virtual cluster. */
  async write(revocation: Revocation): Promise<void> {
    const options = { fieldManager, force: true };
    await this.#client.apply(configMaps, placeOf(revocation), renderRevocation(revocation), options);
  }

  /** When nothing is left of an object in that virtual cluster. */
  async remove(place: RevocationPlace): Promise<void> {
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

const revocationName = ({ ownerUID, caFingerprint: ca }: RevocationPlace): string =>
  `latchkey-revocation-${ownerUID}-${ca.slice(0, 12)}`;

const placeOf = (place: RevocationPlace) => ({ namespace: systemNamespace, name: revocationName(place) });

export function renderRevocation(revocation: Revocation) {
  const { ownerUID, instance, secret, serials, notAfter } = revocation;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      ...placeOf(revocation),
      labels: { [labels.purpose]: purposes.revocation, [labels.ownerUID]: ownerUID },
    },
    data: {
      uid: ownerUID,
      instanceNamespace: instance.namespace,
      instanceName: instance.name,
      instanceUID: instance.uid,
      secretNamespace: secret.namespace,
      secretName: secret.name,
      secretKey: secret.key,
      serials: serials.join(','),
      notAfter: formatTimestamp(notAfter),
      authority: revocation.caFingerprint,
    },
  };
}

/** For a reflector. Undefined for a ConfigMap that cannot be read: nothing is revoked on its word. */
export function toRevocationRecord(object: KubeObject): RevocationRecord | undefined {
  const { metadata } = object;
  const data = asObject((object as KubeObject & { readonly data?: unknown }).data);
  const text = (name: string) => asText(data[name]) ?? '';
  const notAfter = parseInstant(data['notAfter']);
  const secret = { namespace: text('secretNamespace'), name: text('secretName'), key: text('secretKey') };
  const ownerUID = text('uid');
  const authority = text('authority');
  const needed = [ownerUID, authority, ...Object.values(secret)];
  if (notAfter === undefined || needed.includes('')) return undefined;
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
    secret,
    caFingerprint: authority,
    serials: text('serials')
      .split(',')
      .filter((serial) => /^[1-9]\d{0,14}$/.test(serial))
      .map(Number),
    notAfter,
  };
}
