import { ephemeralLabel, finalizer, finalizerMissing, kinds, list } from '../fragments.ts';
import { isOriginSent } from '../origin.ts';
import { mutating } from '../policy.ts';
import {
  kappChanged,
  kappRedaction,
  lastAppliedChanged,
  redaction,
  redactionVariables,
} from '../redaction.ts';
import {
  createdWith,
  mayStampAgain,
  recordIsOther,
  stampNames,
  stampOf,
  stampsDiffer,
  stampVariables,
  wantedStamp,
} from '../stamps.ts';
import { cel, text } from '../text.ts';

/** A requester with a reserved name (Argo CD, Flux, any service account) cannot be spoken for. */
const nameable = cel`
  request.userInfo.username.matches('^[!-~]([ -~]*[!-~])?$')
    && !request.userInfo.username.matches('^(system|kubeadm|management[.]platform[.]sh|team):')
`;

const identities = list(['user', 'team', 'subject']);

/** At a creation the requester, on an update the identity that is stored. Empty counts as absent. */
const identityMissing = cel`
  request.resource.resource == 'ownedaccesskeys' && has(object.spec) && type(object.spec) == map
    && !${identities}.exists(f, object.spec[?f].orValue('') != '')
    && (request.operation == 'CREATE'
      ? !has(object.spec.accessKey) && ${nameable}
      : type(oldObject.?spec.orValue('')) == map && ${identities}.exists(f, oldObject.spec[?f].orValue('') != ''))
`;

const newOrigin = cel`
  (${isOriginSent}
    && type(object.?spec.orValue('')) == map && (object.spec.?key.orValue('') != '' || has(object.spec.exchange))
      ? 'restored' : 'created')
`;
const originIsOther = cel`
  (request.resource.resource == 'ownedaccesskeys' && ${stampOf('origin')} != optional.of(${newOrigin}))
`;

/** The stamps of a creation. One patch sets them where there are no annotations: each patch costs. */
const record = cel`
  {
    'management.platform.sh/requester': request.userInfo.username,
    'management.platform.sh/requester-groups': variables.groups,
    ?'management.platform.sh/created-with': optional.ofNonZeroValue(${createdWith}),
    ?'management.platform.sh/origin': request.resource.resource == 'ownedaccesskeys' ? optional.of(${newOrigin}) : optional.none()
  }
`;

/** Stamps that a creation has from the credential it came with, or not at all. */
const ofUpdates = ['created-with', 'changed-by', 'changed-by-groups', 'changed-beyond-limits'].map(
  (name) => `management.platform.sh/${name}`,
);

export const requester = mutating({
  name: 'latchkey-requester',
  protects: 'security',
  about: text`
    What every object of ours has from its creation on: who asked for it, who it speaks for, a finalizer, and whether it goes with its
    end. And what none may have: a copy of its key.

    The annotations: a token or kubeconfig without \`accessKey\` speaks for its requester, and the right to name a parent key
    is judged by it, so no one may choose these values. They are overwritten at creation, and every update gets the stored
    ones back (kubectl replace, a patch to null, server-side apply by another manager). A change of the spec adds who made
    it, about which the operator asks once more. It adds the limited credential that it came with, if it goes beyond the
    limits. A rotation by somebody who neither made the object nor is its user adds the same. latchkey-ownership refuses both,
    and may be missing for a moment. What credentials point at has the same annotations: the operator asks about the Secret
    or namespace that it names. And who has left a group does not keep it in a token: a change or a rotation
    by the creator leaves out the groups that they are no longer in.

    The identity: an access key whose manifest does not say who it speaks for speaks for its requester. A key with
    \`accessKey\` takes the identity of that key. A requester with a reserved name cannot be spoken for: the schema refuses
    such a key and asks for spec.user.

    The finalizer stands there before anything outside the object exists, and an update that drops it (kubectl replace, an
    apply of the whole list) gets it back. A SpaceInstance has none, because nothing is made for it. Once
    deletion has begun it may be stripped (ownership.yaml): that frees an object whose operator is gone, and revokes nothing
    less, because a credential with a deletionTimestamp is refused.

    The label: the operator deletes a credential with it soon after its end. Only objects made through the gateway, which adds
    the self-service group to the requests that it has verified, carry it; on an update the label stays as it was. What
    kubectl apply made is declared, server-side (with another group) or with its annotation: the next apply would make it
    again, alive.

    The copy: kubectl apply, kapp and Argo CD copy the whole manifest into an annotation that far more people read than the key: anyone
    who sees annotations in a diff, a dashboard or a backup. Values that can be credentials are replaced there by a constant:
    spec.key itself, and any longer text under the names key, token and kubeConfig (the last two when somebody applies what
    \`kubectl get -o yaml\` printed). Hashes stay. kubectl compares the presence of fields with this annotation, not values, so
    applying the same manifest again changes nothing. A text that cannot be cleaned is removed; kubectl writes a new one.

    The origin: every new access key gets the mark \`created\`. No manifest has it, but a backup does. So a new object that brings it along
    is a copy or was restored: it gets the mark \`restored\`, and the operator refuses the key in it. Otherwise a key that was deleted or
    had ended would live again, with a new life. The record of field managers tells what the client sent, also at the second turn
    of this policy, when its own mark is there. A copy with neither a key nor an exchange is none: the operator makes a key that no one had
    before.

    One policy for all, because each that changes an object costs the API server as much as ten that judge one, and each asks all
    others again.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: kinds,
  // False once all is set: the policy has its turn again after each mutation, and a second patch costs as much as the first.
  matchConditions: {
    'something-to-set': cel`
      (request.operation == 'CREATE'
          ? ${recordIsOther}
            || ${stampOf('created-with')} != optional.ofNonZeroValue(${createdWith})
            || ${originIsOther}
          : ${stampsDiffer}
            || (${mayStampAgain}))
        || ${finalizerMissing}
        || (${identityMissing})
        || object.metadata.?labels[?'management.platform.sh/ephemeral'] != (${ephemeralLabel})
        || (${lastAppliedChanged})
        || (${kappChanged})
    `,
  },
  // Looked up one by one: an expression over all annotations of an object could cost more than the API server allows, and
  // the object could then never be changed again.
  variables: {
    ...stampVariables,
    ...redactionVariables,
    record,
    label: ephemeralLabel,
    lastAppliedChanged,
    kappChanged,
  },
  mutations: [
    cel`
      (request.operation == 'CREATE'
        ? (!has(object.metadata.annotations)
            ? [JSONPatch{op: 'add', path: '/metadata/annotations', value: variables.record}]
            : variables.record.map(n, JSONPatch{
                op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey(n), value: variables.record[n]
              })
              + ${list(ofUpdates)}
                .filter(n, n in object.metadata.annotations && !(n in variables.record))
                .map(n, JSONPatch{op: 'remove', path: '/metadata/annotations/' + jsonpatch.escapeKey(n)}))
        : (!has(object.metadata.annotations) && ${list(stampNames)}.exists(n, ${wantedStamp('n')}.hasValue())
            ? [JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]
            : [])
          + ${list(stampNames)}
            .filter(n, object.metadata.?annotations[?n] != ${wantedStamp('n')})
            .map(n, JSONPatch{
              op: ${wantedStamp('n')}.hasValue() ? 'add' : 'remove',
              path: '/metadata/annotations/' + jsonpatch.escapeKey(n),
              value: ${wantedStamp('n')}.orValue('')
            }))
      + (${finalizerMissing}
        ? [has(object.metadata.finalizers)
            ? JSONPatch{op: 'add', path: '/metadata/finalizers/-', value: ${finalizer}}
            : JSONPatch{op: 'add', path: '/metadata/finalizers', value: [${finalizer}]}]
        : [])
      + (!(${identityMissing})
        ? []
        : request.operation == 'CREATE'
        ? [JSONPatch{op: 'add', path: '/spec/user', value: request.userInfo.username}]
        : ${identities}.filter(f, oldObject.spec[?f].orValue('') != '')
            .map(f, JSONPatch{op: 'add', path: '/spec/' + f, value: oldObject.spec[f]}))
      + (object.metadata.?labels[?'management.platform.sh/ephemeral'] == variables.label
        ? []
        : !variables.label.hasValue()
        ? [JSONPatch{op: 'remove', path: '/metadata/labels/management.platform.sh~1ephemeral'}]
        : (has(object.metadata.labels) ? [] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {}}])
          + [JSONPatch{op: 'add', path: '/metadata/labels/management.platform.sh~1ephemeral', value: variables.label.value()}])
      + (!has(object.metadata.annotations)
        ? []
        : (!variables.lastAppliedChanged
          ? []
          : ${redaction})
          + (!variables.kappChanged
            ? []
            : ${kappRedaction}))
    `,
  ],
});
