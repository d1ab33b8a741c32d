import { hash } from 'node:crypto';
import { conditionTypes } from '../../../api/conditions.ts';
import type { AdminKubeConfig } from '../../../kube/admin-kubeconfig/admin-kube-config.ts';
import type { IssueCredential } from '../issued/step.ts';
import type { KubeConfigInput } from './input.ts';

/** What a try to issue depends on, as one hash: when it changes, the next try need not wait. */
export function basisOf(
  { record, instance }: KubeConfigInput,
  { keepPrevious }: IssueCredential,
  target: AdminKubeConfig | undefined,
): string {
  const ready = instance?.conditions.find(({ type }) => type === conditionTypes.ready)?.status;
  const parts = [
    [record.generation, record.rotate, keepPrevious],
    [instance?.uid, instance?.generation, ready],
    target,
  ];
  return hash('sha256', JSON.stringify(parts), 'hex');
}
