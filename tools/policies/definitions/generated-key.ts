import { mutating } from '../policy.ts';
import { cel, text } from '../text.ts';

export const generatedKey = mutating({
  name: 'latchkey-generated-key',
  about: text`
    A key that the operator generated stands in spec.key, where no manifest has it. A whole-object update would drop it, and
    with it the credential; so it is kept. When the update asks for a Secret instead, the key makes room for spec.secretRef,
    or a manifest could never gain that field: the two together are refused.
  `,
  operations: ['UPDATE'],
  resources: ['ownedaccesskeys'],
  matchConditions: {
    'has-a-spec': cel`has(object.spec) && type(object.spec) == map`,
    'key-was-generated': cel`oldObject.?status.?keySource.orValue('') == 'Generated' && oldObject.?spec.?key.orValue('') != ''`,
  },
  variables: {
    key: cel`object.spec.?key.orValue('')`,
    movesToSecret: cel`has(object.spec.secretRef) && !has(oldObject.spec.secretRef)`,
  },
  mutations: [
    cel`
      variables.key == '' && !has(object.spec.secretRef)
        ? [JSONPatch{op: 'add', path: '/spec/key', value: oldObject.spec.key}]
        : variables.key == oldObject.spec.key && variables.movesToSecret
          ? [JSONPatch{op: 'remove', path: '/spec/key'}]
          : []
    `,
  ],
});
