import type { JsonObject } from '../../api/json.ts';
import { asObject, asText } from '../../api/json.ts';
import { isChildOf } from '../index/ownership.ts';
import type { Verdict } from '../index/verdict.ts';
import { refuse } from './refusal.ts';
import { isPrivilegeChange, type StoredChange } from './requester-record.ts';

/**
 * A limited credential changes what is below it. Of itself it changes what gives it nothing, and of all else nothing. The policy
 * `latchkey-ownership` says so too. Throws a Refusal.
 */
export function refuseBeyondLimits(
  { record, isLimited }: Pick<Verdict, 'record' | 'isLimited'>,
  change: StoredChange,
): void {
  if (!isLimited) return;
  const { stored } = change;
  const { name: credential } = record;
  if (asObject(stored['metadata'])['uid'] === record.uid) {
    if (isPrivilegeChange(change)) refuse('ERR_CREDENTIAL_LIMITS', { credential, problem: ofItself });
    return;
  }
  if (!isChildOf(toLink(stored), record)) refuse('ERR_CREDENTIAL_LIMITS', { credential, problem: ofOthers });
}

const ofItself = 'of itself it may change displayName and description, and set disabled to true';
const ofOthers = 'this object does not name it in spec.accessKey';

/** What ties it to its parent. */
function toLink({ spec, status }: JsonObject) {
  return {
    accessKey: asText(asObject(spec)['accessKey']),
    accessKeyUID: asText(asObject(status)['accessKeyUID']),
  };
}
