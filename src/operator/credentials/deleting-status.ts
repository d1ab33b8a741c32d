import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { DesiredStatus } from './desired-status.ts';
import { refusedStatus } from './refused-status.ts';

/** Somebody else's finalizer may keep the object for long: its credential must not stand there meanwhile. */
export function deletingStatus(record: CredentialRecord): DesiredStatus {
  const message = 'The object is being deleted.';
  return refusedStatus(record, { reason: reasons.deleting, message, final: false });
}
