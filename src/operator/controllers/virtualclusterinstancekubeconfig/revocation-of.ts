import type { CredentialRecord } from '../../../credentials/record.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { Revocation } from '../revocations/revocation-record.ts';

/** A certificate may outlive the end in status by the least life that an API server grants; milliseconds. */
const beyondItsEnd = 15 * 60_000;

/** What is to be withdrawn of a kubeconfig. `end`: of the longest life that any of its certificates has, epoch milliseconds. */
export function revocationOf(
  { uid, status }: CredentialRecord,
  instance: VirtualClusterInstanceRecord,
  { end, isFinal }: { readonly end: number; readonly isFinal: boolean },
): Revocation {
  return {
    ownerUID: uid,
    instance: { namespace: instance.namespace, name: instance.name, uid: instance.uid },
    secret: instance.kubeConfig,
    serials: [...new Set([...(status.boundSerials ?? []), status.serial])].filter((serial) => serial > 0),
    notAfter: Math.max(status.notAfter ?? 0, end) + beyondItsEnd,
    isFinal,
  };
}
