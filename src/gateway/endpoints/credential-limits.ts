import { asObject } from '../../api/json.ts';
import type { OwnRequest } from './own-request.ts';
import { refuse } from './refusal.ts';
import { isPrivilegeChange, type StoredChange } from './requester-record.ts';

/**
 * A limited credential does not change its own limits. The policy `latchkey-ownership` says so too. Throws a Refusal.
 */
export function refuseBeyondLimits({ sender }: Pick<OwnRequest, 'sender'>, change: StoredChange): void {
  const { record, isLimited } = sender.verdict;
  const isItself = asObject(change.stored['metadata'])['uid'] === record.uid;
  if (!isLimited || !isItself || !isPrivilegeChange(change)) return;
  refuse('ERR_CREDENTIAL_LIMITS', {
    credential: record.name,
    problem: 'of itself it may change displayName and description, and set disabled to true',
  });
}
