import type { CredentialRecord } from '../../credentials/record.ts';

/** `namespace/name` of the VirtualClusterInstance that a kubeconfig is for. */
export function instanceKeyOf({ namespace = '', name, kubeConfig }: CredentialRecord): string {
  return `${namespace}/${kubeConfig?.instance ?? name}`;
}
