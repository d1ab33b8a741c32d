import { mutating } from '../policy.ts';
import { cel, text } from '../text.ts';

export const identity = mutating({
  name: 'latchkey-identity',
  about: text`
    Whom an access key speaks for when its manifest does not say: at creation the requester, on an update whoever it was.
    A key with \`accessKey\` takes the identity of that key. A requester with a reserved name (Argo CD, Flux, any service
    account) is nobody to speak for: the schema refuses such a key and asks for spec.user. Empty counts as absent.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys'],
  matchConditions: {
    'spec-without-identity': cel`
      has(object.spec) && type(object.spec) == map
        && !['user', 'team', 'subject'].exists(f, object.spec[?f].orValue('') != '')
    `,
  },
  variables: {
    nameable: cel`
      request.userInfo.username.matches('^[!-~]([ -~]*[!-~])?$')
        && !request.userInfo.username.matches('^(system|kubeadm|management[.]platform[.]sh|team):')
    `,
  },
  mutations: [
    cel`
      request.operation == 'CREATE'
        ? (variables.nameable && !has(object.spec.accessKey)
            ? [JSONPatch{op: 'add', path: '/spec/user', value: request.userInfo.username}]
            : [])
        : ['user', 'team', 'subject'].filter(f, oldObject.?spec[?f].orValue('') != '')
            .map(f, JSONPatch{op: 'add', path: '/spec/' + f, value: oldObject.spec[f]})
    `,
  ],
});
