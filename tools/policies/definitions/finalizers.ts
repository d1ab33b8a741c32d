import { finalizer, finalizerMissing } from '../fragments.ts';
import { mutating } from '../policy.ts';
import { cel, text } from '../text.ts';

export const finalizers = mutating({
  name: 'latchkey-finalizers',
  about: text`
    The finalizer of the targets stands there before anything outside the object exists, and an update that drops it (kubectl
    replace, an apply of the whole list) gets it back. Once deletion has begun it may be stripped. Credentials get theirs
    from latchkey-requester.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['virtualclusterinstances', 'clusters'],
  matchConditions: {
    missing: finalizerMissing,
  },
  mutations: [
    cel`
      [has(object.metadata.finalizers)
        ? JSONPatch{op: 'add', path: '/metadata/finalizers/-', value: ${finalizer}}
        : JSONPatch{op: 'add', path: '/metadata/finalizers', value: [${finalizer}]}]
    `,
  ],
});
