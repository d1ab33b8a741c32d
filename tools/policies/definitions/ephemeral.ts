import { credentials, ephemeralLabel } from '../fragments.ts';
import { mutating } from '../policy.ts';
import { cel, text } from '../text.ts';

export const ephemeral = mutating({
  name: 'latchkey-ephemeral',
  about: text`
    The operator deletes a credential with this label soon after its end. Only objects made through the gateway, which adds
    the self-service group to the requests that it has verified, carry it; on an update the label stays as it was. What
    kubectl apply made is declared, server-side (with another group) or with its annotation: the next apply would make it
    again, alive.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: credentials,
  matchConditions: {
    'not-as-it-should-be': cel`
      object.metadata.?labels[?'management.platform.sh/ephemeral'] != (${ephemeralLabel})
    `,
  },
  variables: {
    wanted: ephemeralLabel,
  },
  mutations: [
    cel`
      !variables.wanted.hasValue()
        ? [JSONPatch{op: 'remove', path: '/metadata/labels/management.platform.sh~1ephemeral'}]
        : (has(object.metadata.labels) ? [] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {}}])
          + [JSONPatch{
              op: 'add', path: '/metadata/labels/management.platform.sh~1ephemeral', value: variables.wanted.value()
            }]
    `,
  ],
});
