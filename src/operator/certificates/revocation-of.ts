import type { CredentialRecord } from '../../credentials/record.ts';
import type { VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import type { Revocation } from './revocation-record.ts';

/** A certificate may outlive the end in status by the least life that an API server grants; milliseconds. */
const beyondItsEnd = 15 * 60_000;

/**
 * What is to be withdrawn of a kubeconfig whose `status.boundSerials` name the certificate that is asked for next in the
 * virtual cluster of this authority. `end`: of that certificate, epoch milliseconds.
 */
export function revocationOf(
  { uid, status }: CredentialRecord,
  instance: VirtualClusterInstanceRecord,
  { authority, end }: { readonly authority: string; readonly end: number },
): Revocation {
  return {
    ownerUID: uid,
    instance: { namespace: instance.namespace, name: instance.name, uid: instance.uid },
    secret: instance.kubeConfig,
    authority,
    serials: status.boundSerials ?? [],
    notAfter: Math.max(status.notAfter ?? 0, end) + beyondItsEnd,
  };
}
