import { hash } from 'node:crypto';
import type { AdminKubeConfig } from '../../kube/admin-kubeconfig/admin-kube-config.ts';

/**
 * By what a virtual cluster is known again. Whoever may write the Secret of the administrator kubeconfig can have it lead
 * somewhere else, but cannot make that other place prove itself by the same authority.
 */
export function authorityOf({ ca }: Pick<AdminKubeConfig, 'ca'>): string {
  return hash('sha256', ca, 'hex');
}
