import { credentialKinds } from '../../src/api/credential-kinds.ts';
import { groups } from '../../src/api/names.ts';
import { cel, line } from './text.ts';

/** The kinds that hold a credential. */
export const credentials: readonly string[] = Object.values(credentialKinds).map(({ plural }) => plural);

/** All of our kinds. */
export const kinds = [...credentials, 'virtualclusterinstances', 'spaceinstances', 'clusters'];

const quoted = (value: string): string => `'${value}'`;

/** A CEL list of texts. */
export const list = (values: readonly string[]): string => `[${values.map(quoted).join(', ')}]`;

/** A CEL map of texts, or of lists of texts. */
export const celMap = (entries: Readonly<Record<string, string | readonly string[]>>): string => {
  const lines = Object.entries(entries).map(
    ([key, value]) => `  ${quoted(key)}: ${typeof value === 'string' ? quoted(value) : list(value)}`,
  );
  return `{\n${lines.join(',\n')}\n}`;
};

const operator = `'system:serviceaccount:latchkey-system:latchkey-operator'`;

export const notOperator = cel`request.userInfo.username != ${operator}`;

export const isOperator = cel`request.userInfo.username == ${operator}`;

/** Parts of the system that finish and clean up what others made; no expression may ever stand in their way. */
export const notExempt = cel`
  !(request.userInfo.username in [
    ${operator},
    'system:serviceaccount:kube-system:generic-garbage-collector',
    'system:serviceaccount:kube-system:namespace-controller',
    'system:kube-controller-manager'
  ])
`;

export const spec = cel`type(object.?spec.orValue({})) == map ? object.?spec.orValue({}) : {}`;

/** Of an update or a delete. An object from before the schema may hold anything here; its finalizers must come off. */
export const storedSpec = cel`type(oldObject.?spec.orValue({})) == map ? oldObject.?spec.orValue({}) : {}`;

/** Empty at a creation. */
export const oldSpec = cel`
  request.operation == 'CREATE' || type(oldObject.?spec.orValue({})) != map ? {} : oldObject.?spec.orValue({})
`;

/** Fields that give no one anything. The rights of a creation are not asked for when only these change. */
const harmless = list(['displayName', 'description', 'disabled']);

/** Whether an update changes more than a text and more than disabling. Reads the variables spec and oldSpec. */
export const specChange = cel`
  variables.spec.exists(k, !(k in ${harmless}) && variables.spec[?k] != variables.oldSpec[?k])
    || variables.oldSpec.exists(k, !(k in ${harmless}) && !(k in variables.spec))
    || (variables.spec[?'disabled'] != variables.oldSpec[?'disabled']
      && variables.spec[?'disabled'] != optional.of(true))
`;

/** Changing `spec` needs the same rights as creating the result, or who may change a credential could make more of it. */
export const privilegeChange = cel`
  request.operation == 'CREATE'
    || ${specChange}
`;

export const isCreator = cel`
  oldObject.metadata.?annotations[?'management.platform.sh/requester'] == optional.of(request.userInfo.username)
`;

/** A key below a key takes its identity from there, which no expression can see: its creator alone changes it. */
export const isOwner = cel`
  request.resource.resource == 'ownedaccesskeys' && variables.oldSpec[?'accessKey'].orValue('') == ''
    && (variables.oldSpec[?'user'] == optional.of(request.userInfo.username)
      || variables.oldSpec[?'subject'] == optional.of(request.userInfo.username)
      || (request.userInfo.username.startsWith('team:')
        && variables.oldSpec[?'team'] == optional.of(request.userInfo.username.substring(5))))
`;

/**
 * Whether the request came with a credential that is limited, and the stored object is neither that credential nor below
 * it. No expression can see the credential, so the gateway says it. A child is known by the UID of its parent too, once
 * the operator has pinned it. Costs one lookup where there is no such extra.
 */
export const outsideLimits = cel`
  (request.userInfo.?extra[?'management.platform.sh/access-key-limited'].hasValue()
    && !request.userInfo.?extra[?'management.platform.sh/access-key'].orValue([]).exists(c,
      c == oldObject.metadata.name + '/' + oldObject.metadata.?uid.orValue('')
        || (type(oldObject.?spec.orValue('')) == map && type(oldObject.spec.?accessKey.orValue('')) == string
          && oldObject.spec.?accessKey.orValue('') != ''
          && c.startsWith(oldObject.spec.?accessKey.orValue('') + '/')
          && (oldObject.?status.?accessKeyUID.orValue('') == ''
            || c == oldObject.spec.?accessKey.orValue('') + '/' + oldObject.?status.?accessKeyUID.orValue('')))))
`;

/** Whether the request came with the very credential that it changes, and that one is limited. The gateway sets the extras. */
export const selfLimited = cel`
  request.userInfo.?extra[?'management.platform.sh/access-key-limited'].hasValue()
    && (oldObject.metadata.name + '/' + oldObject.metadata.?uid.orValue(''))
      in request.userInfo.?extra[?'management.platform.sh/access-key'].orValue([])
`;

/** The gateway adds this group to requests that it has judged. A credential with an end deletes what is its user's. */
export const outsideLimitsOfDelete = cel`
  ${outsideLimits} && !('${groups.selfService}' in request.userInfo.?groups.orValue([]))
`;

export const outsideLimitsMessage = line`
  metadata.name: this request came with a credential that has an end, a scope or a parent, and may change only that credential and
  those that name it in spec.accessKey; log in again, or ask an administrator of the platform
`;

/** The rights of the requester on the stored object; a verb is checked on it. */
export const onStoredObject = cel`
  authorizer.group('management.platform.sh').resource(request.resource.resource)
    .namespace(oldObject.metadata.?namespace.orValue('')).name(oldObject.metadata.name)
`;

/** Whether the requester cannot see what is issued to this object. The gateway answers those to which it gives its groups. */
export const cannotRead = cel`
  !request.userInfo.?groups.orValue([]).exists(g, g in ${list([groups.selfService, groups.selfServiceApply])})
    && !authorizer.group('management.platform.sh').resource(request.resource.resource)
      .namespace(object.metadata.?namespace.orValue('')).name(object.metadata.name).check('get').allowed()
`;

/** The groups of the requester as a JSON array. `strings.quote` escapes as JSON does, except for some control characters: a
 * group with any of them is left out. It can only grant less. Nearly all names need no escape, and are joined as they are. */
export const requesterGroupsText = cel`
  (request.userInfo.?groups.orValue([]).join('').matches(r'^[ !#-\[\]-~]+$')
    ? '["' + request.userInfo.groups.join('","') + '"]'
    : '[' + request.userInfo.?groups.orValue([])
      .filter(g, !g.matches(r'[\x00-\x1f\x7f]'))
      .map(g, strings.quote(g)).join(',') + ']')
`;

/** The label that marks what came through the gateway and is declared nowhere; on an update it stays as it was. */
export const ephemeralLabel = cel`
  request.operation == 'CREATE'
    ? ('management.platform.sh:self-service' in request.userInfo.?groups.orValue([])
          && !['kubectl.kubernetes.io/last-applied-configuration', 'kapp.k14s.io/original']
            .exists(a, object.metadata.?annotations[?a].hasValue())
        ? optional.of('true')
        : optional.none())
    : oldObject.metadata.?labels[?'management.platform.sh/ephemeral']
`;

export const finalizer = cel`'management.platform.sh/' + request.kind.kind.lowerAscii()`;

/** Whether it is to be set, or was taken off an object that is not being deleted. The operator may. */
export const finalizerMissing = cel`
  (request.resource.resource != 'spaceinstances' && !((${finalizer}) in object.metadata.?finalizers.orValue([]))
    && (request.operation == 'CREATE'
      || (!has(oldObject.metadata.deletionTimestamp)
        && (${finalizer}) in oldObject.metadata.?finalizers.orValue([]) && ${notOperator})))
`;

/** A condition on the new spec, which an older schema may have left without form. */
export const inSpec = (condition: string): string => cel`
  has(object.spec) && type(object.spec) == map && (${condition})
`;
