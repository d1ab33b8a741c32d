import { isOriginSent } from '../origin.ts';
import { mutating } from '../policy.ts';
import { cel, text } from '../text.ts';

/** Whether a field that stands in the object is missing in its new version. */
const leftOut = (field: string): string => cel`has(oldObject.spec.${field}) && !has(object.spec.${field})`;

const keptAsItWas = (field: string): string =>
  `[JSONPatch{op: 'add', path: '/spec/${field}', value: oldObject.spec.${field}}]`;

const originIn = (version: string): string =>
  cel`${version}.metadata.?annotations[?'management.platform.sh/origin']`;

/** Unchanged, it stays whatever managedFields say: Velero puts those of the backup there once the object is made. */
const origin = cel`
  (${originIn('oldObject')} == optional.of('restored')
    && (${originIn('object')} == optional.of('restored') || ${isOriginSent})
    && object.spec.?key.orValue('') == oldObject.spec.?key.orValue('') ? 'restored' : 'created')
`;

/** An object of an earlier release has none, and a stranger who disables it may add nothing. */
const originIsOther = cel`
  (${originIn('oldObject')}.hasValue() && ${originIn('object')} != optional.of(${origin}))
`;

export const keptFields = mutating({
  name: 'latchkey-kept-fields',
  protects: 'security',
  about: text`
    What stays when an update leaves it out. kubectl replace, a typed client and a sync of Argo CD with Replace=true send the
    whole object as their manifest has it, without what came to it since.

    A key that the operator generated stands in spec.key, where no manifest has it: without it the credential would go. When
    the update asks for a Secret instead, the key makes room for spec.secretRef, or a manifest could never gain that field:
    the two together are refused.

    \`disabled: true\` is an emergency stop, so only \`disabled: false\` takes it back. What the operator disabled at the end of the
    key is not kept. spec.secretRef stays until there is another, or a key. spec.allowedNamespaces stays until there is
    another list, perhaps an empty one.

    The mark of a restored key (requester.yaml) stays too, or the second apply of a backup would do what the first was refused. Somebody
    who wants just that takes the annotation off, or sets another spec.key: then the object is as a new one.
    A sync with Replace=true does so too, because Git says which keys there are.

    No policy can tell leaving out from taking away: a patch that sets a field to null arrives as an update without it.
  `,
  operations: ['UPDATE'],
  resources: ['ownedaccesskeys'],
  matchConditions: {
    'has-a-spec': cel`
      has(object.spec) && type(object.spec) == map && has(oldObject.spec) && type(oldObject.spec) == map
    `,
    'something-may-be-missing': cel`
      (oldObject.?status.?keySource.orValue('') == 'Generated' && oldObject.spec.?key.orValue('') != '')
        || (${leftOut('disabled')}) || (${leftOut('secretRef')}) || (${leftOut('allowedNamespaces')})
        || ${originIsOther}
    `,
  },
  variables: {
    key: cel`object.spec.?key.orValue('')`,
    generated: cel`oldObject.?status.?keySource.orValue('') == 'Generated' && oldObject.spec.?key.orValue('') != ''`,
    movesToSecret: cel`has(object.spec.secretRef) && !has(oldObject.spec.secretRef)`,
  },
  mutations: [
    cel`
      (!variables.generated
        ? []
        : variables.key == '' && !has(object.spec.secretRef)
          ? [JSONPatch{op: 'add', path: '/spec/key', value: oldObject.spec.key}]
          : variables.key == oldObject.spec.key && variables.movesToSecret
            ? [JSONPatch{op: 'remove', path: '/spec/key'}]
            : [])
        + (${leftOut('disabled')} && oldObject.spec.disabled == true && !oldObject.?status.?disabledByExpiry.hasValue()
          ? ${keptAsItWas('disabled')}
          : [])
        + (${leftOut('secretRef')} && variables.key == '' ? ${keptAsItWas('secretRef')} : [])
        + (${leftOut('allowedNamespaces')} ? ${keptAsItWas('allowedNamespaces')} : [])
        + (!${originIsOther}
          ? []
          : (has(object.metadata.annotations) ? [] : [JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}])
            + [JSONPatch{op: 'add', path: '/metadata/annotations/management.platform.sh~1origin', value: ${origin}}])
    `,
  ],
});
