import { labels, purposes, systemNamespace } from '../../../api/names.ts';
import { parseInstant } from '../../../credentials/instant.ts';
import { asObject, asText } from '../../../credentials/json.ts';
import { type KubeObject, keyOf } from '../../../kube/object.ts';
import type { StoredRecord } from '../../../kube/store.ts';
import type { SecretEntry } from '../../../platform/targets/target-record.ts';

/**
 * What has to be withdrawn when a kubeconfig with certificates goes, whichever way. Written before the first certificate
 * exists: finalizers can be taken off, and objects can vanish while no operator is there. Holds no secret.
 */
export interface Revocation {
  /** UID of the VirtualClusterInstanceKubeConfig: all of its certificates are dead. */
  readonly ownerUID: string;
  /** For people: whose virtual cluster it is. */
  readonly instance: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Where the administrator kubeconfig of that virtual cluster stands, or stood. */
  readonly secret: SecretEntry;
  /** Those that are known to have something inside. */
  readonly serials: readonly number[];
  /** When the last of the certificates has ended by itself, epoch milliseconds. */
  readonly notAfter: number;
  /** True when nothing is issued any more although the object may still be there. */
  readonly isFinal: boolean;
}

export interface RevocationRecord extends Revocation, StoredRecord {
  readonly name: string;
}

/** One for each object. */
export const revocationName = (ownerUID: string): string => `latchkey-revocation-${ownerUID}`;

export function renderRevocation(revocation: Revocation) {
  const { ownerUID, instance, secret, serials, notAfter, isFinal } = revocation;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: revocationName(ownerUID),
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
      final: String(isFinal),
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
  if (ownerUID === '' || notAfter === undefined || Object.values(secret).includes('')) return undefined;
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
    serials: text('serials')
      .split(',')
      .filter((serial) => /^[1-9]\d{0,14}$/.test(serial))
      .map(Number),
    notAfter,
    isFinal: text('final') === 'true',
  };
}
