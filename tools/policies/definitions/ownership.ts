import {
  credentials,
  isCreator,
  isOwner,
  notExempt,
  onStoredObject,
  outsideLimits,
  outsideLimitsMessage,
  selfLimited,
  spec,
  specChange,
  storedSpec,
} from '../fragments.ts';
import { mutating, naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const mayChange = line`
  spec, metadata: only the user that it speaks for and its creator may change it, so act as one of them
  (kubectl --as). Others may delete it with the verb get or revoke on it. With get, or with revoke and patch, they may set
  spec.disabled to true, and remove finalizers from what is being deleted
`;

/** The API server says it in front of what a validating policy says, and not here. */
const stored = { object: "request.resource.resource + '/' + oldObject.metadata.name" };

export const ownershipBeforeSchema = mutating({
  name: 'latchkey-ownership',
  protects: 'security',
  about: text`
    Who may change a credential: the user that it speaks for and its creator, by what is stored. Everyone else may turn an
    access key off, and take finalizers off what is being deleted. The answer shows the object, with the generated key that
    other policies put back. So you need the verb get, or revoke together with patch, whose answers show everything anyway.
    With get you may also send the object back as it is: that is how all objects of a cluster are encrypted again. If you may
    impersonate one of the two, you have to do it. Otherwise a controller with wide rights that applies its manifest to a
    name that someone took first would make the stranger's credential a wider one.

    A request with a credential that has an end, a scope or a parent changes only that credential and its children: otherwise
    it would take the limits of others off, or its own off the key above.

    This policy changes nothing. It refuses ahead of the schema, whose errors print values: a patch that copies spec.key to
    a field of another type would print the key. Those who may get the object can see that anyway: they are left to the
    policy of the same name below, which judges the result and says it in plain words. No operation of a JSON patch has the
    name that this one asks for, so the patch fails, and the name is what the API server answers with. A policy of this kind
    cannot give a reason of its own: the code is 403 and the reason Invalid.

    The order of mutating policies is left to chance: what others put back when an update drops it may be missing here, so
    nothing is refused for being left out. The policy below sees the whole.
  `,
  reinvocationPolicy: 'Never',
  operations: ['UPDATE'],
  resources: credentials,
  // One condition, because the API server evaluates all of them, and the last part asks for rights.
  matchConditions: {
    'neither-by-owner-or-creator-nor-narrowing': cel`
      ${notExempt}
      && (${outsideLimits} || (oldObject.metadata.?annotations[?'management.platform.sh/requester']
        != optional.of(request.userInfo.username)
      && !(request.resource.resource == 'ownedaccesskeys' && type(oldObject.?spec.orValue('')) == map
        && oldObject.spec.?accessKey.orValue('') == ''
        && (oldObject.spec.?user == optional.of(request.userInfo.username)
          || oldObject.spec.?subject == optional.of(request.userInfo.username)
          || (request.userInfo.username.startsWith('team:')
            && oldObject.spec.?team == optional.of(request.userInfo.username.substring(5)))))
      && !${onStoredObject}.check('get').allowed()
      && !(
        (has(oldObject.metadata.deletionTimestamp)
          || (request.resource.resource == 'ownedaccesskeys' && type(object.?spec.orValue('')) == map
            && object.spec.?disabled == optional.of(true)))
        && (object.?spec == oldObject.?spec
          || (type(object.?spec.orValue('')) == map && type(oldObject.?spec.orValue('')) == map
            && object.spec.all(k, k == 'disabled'
              ? object.spec[k] == true
              : oldObject.spec[?k] == optional.of(object.spec[k]))))
        && object.metadata.all(k,
          k in ['managedFields', 'generation', 'resourceVersion', 'labels', 'annotations', 'finalizers']
            || object.metadata[k] == null || object.metadata[?k] == oldObject.metadata[?k])
        && object.metadata.?resourceVersion.orValue('').matches('^[0-9]*$')
        && (object.metadata.?labels == oldObject.metadata.?labels
          || object.metadata.?labels.orValue({}).all(k,
            oldObject.metadata.?labels[?k] == optional.of(object.metadata.labels[k])))
        && (object.metadata.?annotations == oldObject.metadata.?annotations
          || object.metadata.?annotations.orValue({}).all(k,
            oldObject.metadata.?annotations[?k] == optional.of(object.metadata.annotations[k])))
        && (object.metadata.?finalizers == oldObject.metadata.?finalizers
          || size(object.metadata.?finalizers.orValue([])) == 0
          || (size(oldObject.metadata.?finalizers.orValue([])) <= 32
            && object.metadata.finalizers.all(f, f in oldObject.metadata.?finalizers.orValue([]))))
        && ${onStoredObject}.check('patch').allowed())))
    `,
  },
  mutations: [
    cel`
      [JSONPatch{
        op: ${outsideLimits}
          ? ${naming('ERR_POLICY_CREDENTIAL_LIMITS', outsideLimitsMessage, stored).messageExpression}
          : ${naming('ERR_POLICY_NOT_OWNER', mayChange, stored).messageExpression},
        path: ''
      }]
    `,
  ],
});

export const ownership = validating({
  name: 'latchkey-ownership',
  protects: 'security',
  about: text`
    The same rule for what is going to be stored: a webhook has its turn after the mutating policies, and a mutating policy
    may be missing for a moment. Here nothing may be left out either.
  `,
  operations: ['UPDATE'],
  resources: credentials,
  matchConditions: {
    'not-exempt': notExempt,
  },
  variables: {
    spec,
    oldSpec: storedSpec,
    creator: isCreator,
    owner: isOwner,
    deleting: cel`has(oldObject.metadata.deletionTimestamp)`,
    sameSpec: cel`
      object.?spec == oldObject.?spec
        || (variables.spec[?'disabled'] == optional.of(true)
          && variables.spec.all(k, k == 'disabled' || variables.spec[?k] == variables.oldSpec[?k])
          && variables.oldSpec.all(k, k == 'disabled' || k in variables.spec))
    `,
    sameMetadata: cel`
      object.metadata.all(k, k in ['managedFields', 'generation', 'resourceVersion']
          || (variables.deleting && k == 'finalizers')
          || object.metadata[?k] == oldObject.metadata[?k])
        && oldObject.metadata.all(k, k in ['managedFields', 'generation', 'resourceVersion']
          || (variables.deleting && k == 'finalizers')
          || k in object.metadata)
    `,
    // An object that is nearly too large to be changed must lose something before it can be disabled.
    lessMetadata: cel`
      object.metadata.all(k, k in ['managedFields', 'generation', 'resourceVersion', 'labels', 'annotations']
          || (variables.deleting && k == 'finalizers')
          || object.metadata[?k] == oldObject.metadata[?k])
        && oldObject.metadata.all(k, k in ['managedFields', 'generation', 'resourceVersion', 'labels', 'annotations']
          || (variables.deleting && k == 'finalizers')
          || k in object.metadata)
        && object.metadata.?labels.orValue({}).all(k,
          oldObject.metadata.?labels[?k] == optional.of(object.metadata.labels[k]))
        && object.metadata.?annotations.orValue({}).all(k,
          oldObject.metadata.?annotations[?k] == optional.of(object.metadata.annotations[k]))
    `,
    narrowing: cel`
      (variables.deleting
          || (request.resource.resource == 'ownedaccesskeys' && variables.spec[?'disabled'] == optional.of(true)))
        && variables.sameSpec && (variables.sameMetadata || variables.lessMetadata)
    `,
    // Not even another manager of a field, who would stand in the way of the owner's next apply.
    unchanged: cel`
      object.?spec == oldObject.?spec && variables.sameMetadata
        && object.metadata.?managedFields == oldObject.metadata.?managedFields
    `,
    // A variable each: the API server allows an expression two such checks.
    onObject: onStoredObject,
    mayGet: cel`variables.onObject.check('get').allowed()`,
    mayPatchAndRevoke: cel`variables.onObject.check('patch').allowed() && variables.onObject.check('revoke').allowed()`,
    selfLimited,
    privilegeChange: specChange,
  },
  validations: [
    { expression: cel`!${outsideLimits}`, ...naming('ERR_POLICY_CREDENTIAL_LIMITS', outsideLimitsMessage) },
    {
      expression: cel`
        variables.creator || variables.owner || ((variables.narrowing || variables.unchanged) && variables.mayGet)
          || (variables.narrowing && variables.mayPatchAndRevoke)
      `,
      ...naming('ERR_POLICY_NOT_OWNER', mayChange),
    },
    {
      expression: cel`!variables.selfLimited || !variables.privilegeChange`,
      ...naming(
        'ERR_POLICY_CREDENTIAL_LIMITS',
        line`
        spec: a limited credential may change of itself only displayName, description and disabled: true;
        log in again, or ask an administrator of the platform
      `,
      ),
    },
  ],
});
