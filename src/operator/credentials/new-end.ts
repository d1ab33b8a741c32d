import { conditionTypes } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { DesiredStatus } from './desired-status.ts';

/** True when the write would be the first to say that the life is over: such writes come by the thousand and have a budget. */
export function isNewEnd({ conditions }: CredentialRecord, { ready }: DesiredStatus): boolean {
  const present = conditions.find(({ type }) => type === conditionTypes.ready);
  return ready.reason === reasons.expired && present?.reason !== reasons.expired;
}
