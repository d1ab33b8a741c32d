import { annotations, labels } from '../../api/names.ts';

/** The CertificateSigningRequest and the ClusterRoleBinding of one certificate. */
export const targetObjectName = (uid: string, serial: number): string => `latchkey-${uid}-${serial}`;

/** The serial in a name that `targetObjectName` made for this object; undefined for every other name. */
export function parseTargetObjectName(uid: string, name: string): number | undefined {
  const prefix = `latchkey-${uid}-`;
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^[1-9]\d{0,15}$/.test(digits) ? Number(digits) : undefined;
}

/** The metadata of both: for people who look around inside, and for the clean-up. */
export function targetObjectMetadata(certificate: {
  readonly uid: string;
  readonly serial: number;
  /** The user that the certificate speaks for. */
  readonly requester: string;
}) {
  const { uid, serial, requester } = certificate;
  return {
    name: targetObjectName(uid, serial),
    labels: { [labels.ownerUID]: uid, [labels.serial]: String(serial) },
    annotations: { [annotations.requester]: requester },
  };
}
