import { mutating } from '../policy.ts';
import { cel, text } from '../text.ts';

const name = 'management.platform.sh/origin';

const sent = cel`object.metadata.?annotations[?'${name}']`;

const before = cel`oldObject.metadata.?annotations[?'${name}']`;

const keyOf = (version: string): string =>
  cel`(type(${version}.?spec.orValue('')) == map ? ${version}.spec.?key.orValue('') : '')`;

/** A new key, or one that is no copy any more because somebody set another, has no past. */
const wanted = cel`
  (request.operation == 'CREATE'
    ? (${sent}.hasValue() && ${keyOf('object')} != '' ? 'restored' : 'created')
    : (${before} == optional.of('restored') && ${sent}.hasValue() && ${keyOf('object')} == ${keyOf('oldObject')}
      ? 'restored' : 'created'))
`;

export const origin = mutating({
  name: 'latchkey-origin',
  protects: 'security',
  about: text`
    Where an access key comes from. Every new one gets the mark \`created\`, which stays whatever an update leaves out. No manifest has
    it, but a backup does. So a new object that brings it along is a copy or was restored: it gets the mark \`restored\`, and the
    operator refuses the key in it. Otherwise a key that was deleted or had ended would live again, with a new life.

    Somebody who wants just that takes the annotation off, or sets another spec.key. A sync with Replace=true does so
    too, because Git says which keys there are. Another text in its place changes nothing, or the second apply
    of a backup would do what the first was refused.

    A copy without a key is none: the operator makes one that no one had before.

    Once only: at its second turn the policy would take its own mark for one that was sent.
  `,
  reinvocationPolicy: 'Never',
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys'],
  // An object of an earlier release has none, and a stranger who disables it may add nothing.
  matchConditions: {
    'another-mark': cel`
      (request.operation == 'CREATE' || ${before}.hasValue()) && ${sent} != optional.of(${wanted})
    `,
  },
  mutations: [
    cel`
      (has(object.metadata.annotations) ? [] : [JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}])
        + [JSONPatch{op: 'add', path: '/metadata/annotations/management.platform.sh~1origin', value: ${wanted}}]
    `,
  ],
});
