import { credentials, requesterGroupsText } from '../fragments.ts';
import { mutating } from '../policy.ts';
import { cel, text } from '../text.ts';

export const requester = mutating({
  name: 'latchkey-requester',
  about: text`
    Records who asked for a credential. A token or kubeconfig without \`accessKey\` speaks for this user, and the right to
    name a parent key is judged by it, so nobody may choose these values: they are overwritten at creation, and every
    update gets the stored ones back (kubectl replace, a patch to null, server-side apply by another manager).
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: credentials,
  matchConditions: {
    'created-or-changed': cel`
      request.operation == 'CREATE'
        || ['management.platform.sh/requester', 'management.platform.sh/requester-groups', 'management.platform.sh/created-with']
          .exists(n, object.metadata.?annotations[?n] != oldObject.metadata.?annotations[?n])
    `,
  },
  variables: {
    present: cel`object.metadata.?annotations.orValue({})`,
    groups: requesterGroupsText,
    // "name/uid" of the credential that the request came with; empty: none. latchkey-requester-integrity refuses any other number of values.
    createdWith: cel`request.userInfo.?extra[?'management.platform.sh/access-key'].orValue([]).join(',')`,
    names: cel`['management.platform.sh/requester', 'management.platform.sh/requester-groups', 'management.platform.sh/created-with']`,
    // Empty: no such annotation.
    stamps: cel`
      {
        'management.platform.sh/requester': request.userInfo.username,
        'management.platform.sh/requester-groups': variables.groups,
        'management.platform.sh/created-with': variables.createdWith
      }
    `,
    // Looked up one by one: an expression over all annotations of an object could cost more than the API server allows, and
    // the object could then never be changed again.
    stored: cel`oldObject.metadata.?annotations.orValue({})`,
  },
  mutations: [
    cel`
      (!has(object.metadata.annotations)
          && (request.operation == 'CREATE' || variables.names.exists(n, n in variables.stored))
        ? [JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]
        : [])
      + (request.operation == 'CREATE'
        ? variables.names
            .filter(n, variables.stamps[n] == ''
              ? n in variables.present
              : variables.present[?n] != optional.of(variables.stamps[n]))
            .map(n, JSONPatch{
              op: variables.stamps[n] == '' ? 'remove' : 'add',
              path: '/metadata/annotations/' + jsonpatch.escapeKey(n),
              value: variables.stamps[n]
            })
        : variables.names
            .filter(n, variables.present[?n] != variables.stored[?n])
            .map(n, JSONPatch{
              op: n in variables.stored ? 'add' : 'remove',
              path: '/metadata/annotations/' + jsonpatch.escapeKey(n),
              value: variables.stored[?n].orValue('')
            }))
    `,
  ],
});
