import { credentials } from '../fragments.ts';
import { mutating, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const annotation = `'kubectl.kubernetes.io/last-applied-configuration'`;

const annotationChanged = cel`
  object.metadata.?annotations[?${annotation}].hasValue()
    && (request.operation == 'CREATE'
        || object.metadata.annotations[?${annotation}] != oldObject.metadata.?annotations[?${annotation}])
`;

/** Splits the text at a name: a part that begins with `:"<20 characters or more>"` is the value that belongs to it. */
const redactedAfter = (source: string, name: string, unless = ''): string => cel`
  variables.${source}.split('"${name}"', 101).map(part,
    part.matches(r'^\s*:\s*"(?:[^"\\]|\\.){20}')${unless}
      ? ':"redacted-by-latchkey"' + part.substring(size(part.find(r'^\s*:\s*"(?:[^"\\]|\\.)*"?')))
      : part
  ).join('"${name}"')
`;

export const lastAppliedRedacted = mutating({
  name: 'latchkey-last-applied',
  about: text`
    kubectl apply and Argo CD copy the whole manifest into an annotation that far more people read than the key: anyone
    who sees annotations in a diff, a dashboard or a backup. Values that can be credentials are replaced there by a constant:
    spec.key itself, and any longer text under the names key, token and kubeConfig (the last two when somebody applies what
    \`kubectl get -o yaml\` printed). Hashes stay. kubectl compares the presence of fields with this annotation, not values, so
    applying the same manifest again changes nothing. A text that cannot be cleaned is removed; kubectl writes a new one.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: credentials,
  // An unchanged annotation has been through here. Leaving it alone also means that its size can never stand in the way of
  // the operator or the garbage collector when they release the object.
  matchConditions: {
    'annotation-changed': annotationChanged,
  },
  variables: {
    applied: cel`object.metadata.annotations[${annotation}]`,
    key: cel`
      has(object.spec) && type(object.spec) == map && 'key' in object.spec && type(object.spec.key) == string
        && size(object.spec.key) >= 20 && !object.spec.key.startsWith('sha256:')
        ? object.spec.key : ''
    `,
    withoutSpecKey: cel`variables.key == '' ? variables.applied : variables.applied.replace(variables.key, 'redacted-by-latchkey')`,
    // No manifest of these kinds names a field this often. It would cost the API server seconds to clean such a text.
    tooManyMatches: cel`['"key"', '"token"', '"kubeConfig"'].exists(name, size(variables.applied.split(name, 101)) > 100)`,
    withoutKeys: redactedAfter(
      'withoutSpecKey',
      'key',
      String.raw` && !part.matches(r'^\s*:\s*"sha256:[0-9a-f]{64}"')`,
    ),
    withoutTokens: redactedAfter('withoutKeys', 'token'),
    redacted: redactedAfter('withoutTokens', 'kubeConfig'),
    // The same manifest was applied again: nothing but the annotation differed, and it does not any more.
    nothingLeft: cel`
      request.operation == 'UPDATE' && !variables.tooManyMatches && has(oldObject.metadata.managedFields)
        && oldObject.metadata.?annotations[?${annotation}]
          == optional.of(variables.redacted)
        && object.?spec == oldObject.?spec
        && object.metadata.?labels == oldObject.metadata.?labels
        && object.metadata.?finalizers == oldObject.metadata.?finalizers
        && object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences
        && size(object.metadata.annotations) == size(oldObject.metadata.annotations)
        && object.metadata.annotations.all(name,
          name == ${annotation}
            || oldObject.metadata.annotations[?name] == object.metadata.annotations[?name])
    `,
  },
  mutations: [
    cel`
      variables.tooManyMatches
        ? [JSONPatch{
            op: 'remove', path: '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration'
          }]
        : variables.redacted == variables.applied
          ? []
          : [JSONPatch{
              op: 'replace',
              path: '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration',
              value: variables.redacted
            }]
    `,
    // Its time in managedFields would make it another version all the same, and every watcher would look at it again.
    cel`
      variables.nothingLeft
        ? [JSONPatch{op: 'replace', path: '/metadata/managedFields', value: oldObject.metadata.managedFields}]
        : []
    `,
  ],
});

export const lastApplied = validating({
  name: 'latchkey-last-applied',
  about: text`
    Two things that kubectl apply would spoil. Login data never comes back from the API, because the operator moves it into a
    Secret; a copy in the annotation would stay. And \`scope: null\`, which allows nothing, is dropped by a client-side apply
    before it is sent: what arrives has no scope and allows everything.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys', 'directclusterendpointtokens'],
  matchConditions: {
    'annotation-changed': annotationChanged,
  },
  validations: [
    {
      expression: cel`
        !object.metadata.annotations[${annotation}]
          .matches(r'"(?:connectorData|idToken|accessToken|refreshToken)"\s*:\s*"[^"]')
      `,
      message: line`
        spec.identity.connectorData, spec.oidcLogin: kubectl apply would leave a copy of these values in an
        annotation; set them with kubectl create, kubectl replace or kubectl apply --server-side
      `,
    },
    {
      expression: cel`
        object.?spec.?scope.hasValue()
          || !object.metadata.annotations[${annotation}].matches(r'"scope"\s*:\s*null')
      `,
      message: line`
        spec.scope: kubectl apply drops null before it sends the object, and without a scope the credential is
        not limited at all; write {} to allow nothing
      `,
    },
  ],
});
