import { reasons } from '../api/reasons.ts';
import type { Identity, IdentityResult } from './identity.ts';
import type { LiveRecord } from './record.ts';
import { identityOfRequester } from './requester.ts';

/**
 * Who a credential speaks for. With `spec.accessKey` that is the parent's identity, with the groups that were confirmed, and what
 * the spec names itself may only repeat it. Otherwise it is what the spec names, or for tokens and kubeconfigs the stamped requester.
 */
export function resolveIdentity(record: LiveRecord, ancestors: readonly LiveRecord[]): IdentityResult {
  if (record.problem !== undefined) return { refusal: record.problem };
  const parent = ancestors[0];
  if (record.accessKey !== undefined)
    return parent === undefined ? noIdentity : inherited(record, parent, ancestors);
  if (record.identity !== undefined) return { identity: record.identity };
  return record.kind === 'OwnedAccessKey' ? noIdentity : identityOfRequester(record.requester);
}

function inherited(record: LiveRecord, parent: LiveRecord, ancestors: readonly LiveRecord[]): IdentityResult {
  const result = resolveIdentity(parent, ancestors.slice(1));
  const { identity: own, status } = record;
  if ('refusal' in result) return result;
  const { user, groups } = result.identity;
  const repeatsIt =
    own === undefined || (own.user === user && own.groups.every((group) => groups.includes(group)));
  return repeatsIt ? { identity: withConfirmed(result.identity, status.confirmedGroups) } : otherIdentity;
}

/** Groups that a key got later come to what is below it only once the operator has asked whether they may. */
function withConfirmed(identity: Identity, confirmed: readonly string[] | undefined): Identity {
  if (confirmed === undefined) return identity;
  const groups = identity.groups.filter((group) => confirmed.includes(group));
  return groups.length === identity.groups.length ? identity : { ...identity, groups };
}

const noIdentity: IdentityResult = {
  refusal: {
    reason: reasons.identityInvalid,
    message: 'set one of spec.user, spec.team, spec.subject or spec.accessKey',
  },
};

const otherIdentity: IdentityResult = {
  refusal: {
    reason: reasons.identityInvalid,
    message:
      'with spec.accessKey the identity is that of the access key; create this object without spec.user, spec.team, spec.subject and spec.groups',
  },
};
