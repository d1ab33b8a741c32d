import { annotations } from '../api/names.ts';
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
  return record.kind === 'OwnedAccessKey' ? noIdentity : ofRequester(record);
}

/**
 * A requester never changes, and their groups only become fewer. So what was confirmed tells forged stamps from true ones, also those
 * that were written while no policy stamped and no operator watched.
 */
function ofRequester({ requester, status }: LiveRecord): IdentityResult {
  const result = identityOfRequester(requester);
  if ('refusal' in result || status.fingerprint === undefined) return result;
  const { subject, confirmedGroups } = status;
  if (subject !== undefined && !isNamed(result.identity.user, subject)) return otherRequester;
  return { identity: withConfirmed(result.identity, confirmedGroups) };
}

/** Of a very long name, status holds the beginning. */
const isNamed = (user: string, subject: string): boolean =>
  user === subject || (subject.length >= 1_024 && user.startsWith(subject));

const otherRequester: IdentityResult = {
  refusal: {
    reason: reasons.requesterUnknown,
    message: `the annotation ${annotations.requester} names another user than this object was confirmed for; delete it and create it again`,
  },
};

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
