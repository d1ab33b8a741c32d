import { labels, purposes, systemNamespace } from '../../../api/names.ts';
import { parseInstant } from '../../../credentials/instant.ts';
import { asObject, asText } from '../../../credentials/json.ts';
import { type KubeObject, keyOf } from '../../../kube/object.ts';
import type { StoredRecord } from '../../../kube/store.ts';
import type { SecretEntry } from '../../../platform/targets/target-record.ts';

/** Certificates that could not be withdrawn before their object had to go. Holds no secret. */
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
}

export interface RevocationRecord extends Revocation, StoredRecord {
  readonly name: string;
}

/** One for each object: a second attempt to write it changes nothing. */
export function renderRevocation(revocation: Revocation) {
  const { ownerUID, instance, secret, serials, notAfter } = revocation;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: `latchkey-revocation-${ownerUID}`,
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
  };
}
