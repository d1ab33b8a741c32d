import { credentials, notOperator } from '../fragments.ts';
import { mutating } from '../policy.ts';
import { cel, text } from '../text.ts';

const finalizer = cel`'management.platform.sh/' + request.kind.kind.lowerAscii()`;

export const finalizers = mutating({
  name: 'latchkey-finalizers',
  about: text`
    The finalizer stands there before anything outside the object exists, and an update that drops it (kubectl replace, an
    apply of the whole list) gets it back. Once deletion has begun it may be stripped (credentials: ownership.yaml): that frees
    an object whose operator is gone, and revokes nothing less, because a credential with a deletionTimestamp is refused.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: [...credentials, 'virtualclusterinstances', 'clusters'],
  matchConditions: {
    missing: cel`!((${finalizer}) in object.metadata.?finalizers.orValue([]))`,
    'created-or-dropped-before-deletion': cel`
      request.operation == 'CREATE'
        || (!has(oldObject.metadata.deletionTimestamp)
            && (${finalizer}) in oldObject.metadata.?finalizers.orValue([])
            && ${notOperator})
    `,
  },
  variables: {
    finalizer,
  },
  mutations: [
    cel`
      has(object.metadata.finalizers)
        ? [JSONPatch{op: 'add', path: '/metadata/finalizers/-', value: variables.finalizer}]
        : [JSONPatch{op: 'add', path: '/metadata/finalizers', value: [variables.finalizer]}]
    `,
  ],
});
