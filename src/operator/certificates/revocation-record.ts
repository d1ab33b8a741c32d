import { labels, purposes, systemNamespace } from '../../api/names.ts';
import { parseInstant } from '../../credentials/instant.ts';
import { asObject, asText } from '../../credentials/json.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import type { SecretEntry } from '../../platform/targets/target-record.ts';

/**
 * What has to be withdrawn when a kubeconfig with certificates goes, whichever way. Written before the first certificate
 * exists: finalizers can be taken off, and objects can vanish while no operator is there. Holds no secret.
 */
export interface Revocation {
  /** UID of the VirtualClusterInstanceKubeConfig. */
  readonly ownerUID: string;
  /** For people: whose virtual cluster it is. */
  readonly instance: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Where the administrator kubeconfig of that virtual cluster stands, or stood. */
  readonly secret: SecretEntry;
  /** SHA-256, hexadecimal, of the authority that the virtual cluster proved itself by: the Secret may lead elsewhere later. */
  readonly authority: string;
  /** The certificates that were asked for there. */
  readonly serials: readonly number[];
  /** When the last of them has ended by itself, epoch milliseconds. */
  readonly notAfter: number;
}

export interface RevocationRecord extends Revocation, StoredRecord {
  readonly name: string;
}

/** What identifies a record: one for each object and virtual cluster. */
export type RevocationPlace = Pick<Revocation, 'ownerUID' | 'authority'>;

export const revocationName = ({ ownerUID, authority }: RevocationPlace): string =>
  `latchkey-revocation-${ownerUID}-${authority.slice(0, 12)}`;

export function renderRevocation(revocation: Revocation) {
  const { ownerUID, instance, secret, authority, serials, notAfter } = revocation;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: revocationName(revocation),
      namespace: systemNamespace,
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
      notAfter: new Date(notAfter).toISOString(),
      authority,
    },
  };
}

/** For a reflector. Undefined for a ConfigMap that cannot be read: nothing is withdrawn on its word. */
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
    authority,
    serials: text('serials')
      .split(',')
      .filter((serial) => /^[1-9]\d{0,14}$/.test(serial))
      .map(Number),
    notAfter,
  };
}
