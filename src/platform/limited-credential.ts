import type { LiveRecord } from '../credentials/record.ts';
import { isScoped } from '../scope/effective-scope.ts';

/**
 * Whether a credential has an end, a scope or a parent. Then what is made with it belongs below it, and it changes nothing but itself
 * and what is below it: otherwise a credential of 15 minutes would make one for a year.
 */
export function isLimited(record: LiveRecord): boolean {
  // Tokens and kubeconfigs always end.
  if (record.kind !== 'OwnedAccessKey' || record.accessKey !== undefined || isScoped(record)) return true;
  const { confirmedTTL = 0, notAfter } = record.status;
  return (record.ttl ?? 0) !== 0 || confirmedTTL !== 0 || notAfter !== undefined;
}
