import { conditionTypes } from '../../api/conditions.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { DesiredConditions } from './conditions.ts';

/** Words of their own, without a second one. */
const plain: Readonly<Partial<Record<Reason, string>>> = {
  [reasons.disabled]: 'Disabled',
  [reasons.expired]: 'Expired',
  [reasons.deleting]: 'Deleting',
  [reasons.locked]: 'Locked',
};

/** The operator asks again, and nothing comes of it before a person grants something. */
const unpermitted: readonly Reason[] = [
  reasons.requesterNotPermitted,
  reasons.useNotAllowed,
  reasons.clientCertNotAllowed,
  reasons.accessKeyNotAllowed,
  reasons.quotaExceeded,
];

/** The conditions in one or two words, the same for all kinds: what `kubectl get` shows. */
export function stateOf({ ready, others }: DesiredConditions): string {
  const stated = others.filter(([, condition]) => condition !== undefined);
  if (ready.status === 'True') {
    const note = stated[0]?.[1]?.reason;
    return note === undefined ? 'Ready' : `Ready (${note})`;
  }
  const { reason } = ready;
  const isRefused = unpermitted.includes(reason) || stated.some(([type]) => type === conditionTypes.stalled);
  return plain[reason] ?? `${isRefused ? 'Refused' : 'Waiting'} (${reason})`;
}
