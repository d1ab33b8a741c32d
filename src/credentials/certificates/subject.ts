import { group } from '../../api/names.ts';

const start = `${group}:kubeconfig:`;
const uidForm = /^[0-9a-z-]{1,64}$/;
const wholeForm = /^management\.platform\.sh:kubeconfig:([0-9a-z-]{1,64}):([1-9]\d{0,15})$/;

/**
 * The user and the group of one client certificate: `management.platform.sh:kubeconfig:<uid>:<serial>`, where `uid` is that of the
 * VirtualClusterInstanceKubeConfig. The prefix is reserved, so no one can be given such a name in another way.
 * Throws `RangeError` for a UID with other characters than the API server uses, and for a serial that is not a positive integer.
 */
export function certificateSubject(uid: string, serial: number): string {
  if (!(Number.isSafeInteger(serial) && serial > 0))
    throw new RangeError('the serial of a certificate must be a positive integer');
  return `${certificateSubjectPrefix(uid)}${serial}`;
}

/** The part of the subject that all certificates of one object share, and those of no other object. Throws `RangeError` as above. */
export function certificateSubjectPrefix(uid: string): string {
  if (!uidForm.test(uid))
    throw new RangeError('the UID of a certificate must be 1 to 64 of a-z, 0-9 and "-"');
  return `${start}${uid}:`;
}

/** Whose certificate that is. `undefined` for every name that `certificateSubject` does not make, whatever it looks like. */
export function parseCertificateSubject(
  name: string,
): { readonly uid: string; readonly serial: number } | undefined {
  const [, uid, digits] = wholeForm.exec(name) ?? [];
  const serial = Number(digits);
  return uid === undefined || !Number.isSafeInteger(serial) ? undefined : { uid, serial };
}
