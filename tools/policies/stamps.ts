import {
  isCreator,
  isOwner,
  list,
  notOperator,
  oldSpec,
  outsideLimits,
  requesterGroupsText,
  selfLimited,
  spec,
} from './fragments.ts';
import { cel } from './text.ts';

/** The requester record of every credential, and the token that it came of: locks find it by these. No update changes them. */
export const stampNames = [
  'requester',
  'requester-groups',
  'created-with',
  'changed-by',
  'changed-by-groups',
  'changed-beyond-limits',
  'exchanged-issuer',
  'exchanged-subject',
].map((name) => `management.platform.sh/${name}`);

/** The annotation of that name, as an optional text. */
export const stampOf = (name: string): string =>
  `object.metadata.?annotations[?'management.platform.sh/${name}']`;

/** Whether a new object says something else of its requester than the request, or has the stamps of an update. */
export const recordIsOther = cel`
  ${stampOf('requester')} != optional.of(request.userInfo.username)
    || ${stampOf('requester-groups')} != optional.of(${requesterGroupsText})
    || ${stampOf('changed-by')}.hasValue() || ${stampOf('changed-by-groups')}.hasValue()
    || ${stampOf('changed-beyond-limits')}.hasValue()
`;

/** Whether an update changes a stamp. Most leave all annotations as they are, which costs the least to see. */
export const stampsDiffer = cel`
  object.metadata.?annotations != oldObject.metadata.?annotations
    && ${list(stampNames)}.exists(n, object.metadata.?annotations[?n] != oldObject.metadata.?annotations[?n])
`;

/**
 * Whether an update by anyone but the operator may change what is stamped: more than texts. Costs little, and is true for
 * everything that `stampVariables` find a change in.
 */
export const mayStampAgain = cel`
  request.operation == 'UPDATE' && ${notOperator}
    && (object.?spec != oldObject.?spec
      || object.metadata.?annotations[?'management.platform.sh/rotate']
        != oldObject.metadata.?annotations[?'management.platform.sh/rotate'])
`;

/** "name/uid" of the credential that the request came with; empty: none. latchkey-requester-integrity refuses any other
 * number of values. */
export const createdWith = cel`request.userInfo.?extra[?'management.platform.sh/access-key'].orValue([]).join(',')`;

/** Fields that no update changes; another policy puts them back where they were left out. */
const kept = list(['user', 'team', 'subject', 'displayName', 'description', 'disabled']);

/**
 * By which `wantedStamp` says what the stamps of an update are to be. A change of the spec names who made it, and the limited credential
 * that it came with where latchkey-ownership has to refuse it. So does a rotation by a stranger: it would make another credential
 * while that policy is away. A change or a rotation by the creator of a token or kubeconfig that speaks for them leaves out the
 * groups that they are no longer in.
 */
export const stampVariables = {
  spec,
  oldSpec,
  stored: cel`request.operation == 'CREATE' ? {} : oldObject.metadata.?annotations.orValue({})`,
  groups: requesterGroupsText,
  rotated: cel`
    request.operation == 'UPDATE' && ${notOperator}
      && object.metadata.?annotations[?'management.platform.sh/rotate']
        != variables.stored[?'management.platform.sh/rotate']
  `,
  // Others may take the annotation for a rotation away when they disable a key, which rotates nothing.
  changed: cel`
    request.operation == 'UPDATE' && ${notOperator}
      && ((variables.rotated && object.metadata.?annotations[?'management.platform.sh/rotate'].hasValue()
          && !(${isCreator}) && !(${isOwner}))
        || variables.spec.exists(k, !(k in ${kept}) && variables.spec[?k] != variables.oldSpec[?k])
        || variables.oldSpec.exists(k, !(k in ${kept}) && !(k in variables.spec))
        || (variables.spec[?'disabled'] != variables.oldSpec[?'disabled']
          && variables.spec[?'disabled'] != optional.of(true)))
  `,
  // A credential that took off its own limits is limited in the eyes of the gateway for a moment more: it must not take off the stamp.
  beyondLimits: cel`
    ${outsideLimits} || (${selfLimited})
      ? optional.of(${createdWith})
      : request.userInfo.?extra[?'management.platform.sh/access-key-limited'].hasValue()
      ? variables.stored[?'management.platform.sh/changed-beyond-limits']
      : optional.none()
  `,
  storedGroups: cel`variables.stored[?'management.platform.sh/requester-groups'].orValue('')`,
  narrowed: cel`
    request.resource.resource != 'ownedaccesskeys' && variables.oldSpec[?'accessKey'].orValue('') == ''
      && (variables.changed || variables.rotated) && variables.storedGroups != variables.groups
      && variables.stored[?'management.platform.sh/requester'] == optional.of(request.userInfo.username)
      && variables.storedGroups.matches('^\\[".*"\\]$')
  `,
  // Both lists are written by strings.quote, so a comma between two quotes stands between two names and in none.
  heldGroups: cel`
    request.userInfo.?groups.orValue([]).map(g, strings.quote(g)).map(q, q.substring(1, size(q) - 1))
  `,
  remainingGroups: cel`
    '[' + variables.storedGroups.substring(2, size(variables.storedGroups) - 2).split('","')
      .filter(g, g in variables.heldGroups).map(g, '"' + g + '"').join(',') + ']'
  `,
};

/** Computes the entry of that name, an expression, in the requester record after an update; an optional text. */
export const wantedStamp = (name: string): string => cel`
  (variables.narrowed && ${name} == 'management.platform.sh/requester-groups'
    ? optional.of(variables.remainingGroups)
    : variables.changed && ${name} == 'management.platform.sh/changed-by'
    ? optional.of(request.userInfo.username)
    : variables.changed && ${name} == 'management.platform.sh/changed-by-groups'
    ? optional.of(variables.groups)
    : variables.changed && ${name} == 'management.platform.sh/changed-beyond-limits'
    ? variables.beyondLimits
    : variables.stored[?${name}])
`;
