import { cel } from './text.ts';

/** Of `kubectl apply`: the manifest as it was sent. */
export const lastAppliedAnnotation = `'kubectl.kubernetes.io/last-applied-configuration'`;

/**
 * An unchanged annotation has been cleaned. Leaving it alone also means that its size can never stand in the way of the operator or
 * the garbage collector when they release the object.
 */
export const lastAppliedChanged = cel`
  object.metadata.?annotations[?${lastAppliedAnnotation}].hasValue()
    && (request.operation == 'CREATE'
        || object.metadata.annotations[?${lastAppliedAnnotation}] != oldObject.metadata.?annotations[?${lastAppliedAnnotation}])
`;

/** Splits the text at a name: a part that begins with `:"<20 characters or more>"` is the value that belongs to it. */
const redactedAfter = (source: string, name: string, unless = ''): string => cel`
  variables.${source}.split('"${name}"', 101).map(part,
    part.matches(r'^\s*:\s*"(?:[^"\\]|\\.){20}')${unless}
      ? ':"redacted-by-latchkey"' + part.substring(size(part.find(r'^\s*:\s*"(?:[^"\\]|\\.)*"?')))
      : part
  ).join('"${name}"')
`;

export const redactionVariables = {
  applied: cel`object.metadata.annotations[${lastAppliedAnnotation}]`,
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
  // The same manifest was applied again: nothing but the annotation differed, and it does not any more. Its time in managedFields
  // would make it another version all the same, and every watcher would look at it again.
  nothingLeft: cel`
    request.operation == 'UPDATE' && !variables.tooManyMatches && has(oldObject.metadata.managedFields)
      && oldObject.metadata.?annotations[?${lastAppliedAnnotation}]
        == optional.of(variables.redacted)
      && object.?spec == oldObject.?spec
      && object.metadata.?labels == oldObject.metadata.?labels
      && object.metadata.?finalizers == oldObject.metadata.?finalizers
      && object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences
      && size(object.metadata.annotations) == size(oldObject.metadata.annotations)
      && object.metadata.annotations.all(name,
        name == ${lastAppliedAnnotation}
          || oldObject.metadata.annotations[?name] == object.metadata.annotations[?name])
  `,
};

/** Patches that put a constant in the place of each value in the annotation that can be a credential. */
export const redaction = cel`
  (variables.tooManyMatches
    ? [JSONPatch{
        op: 'remove', path: '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration'
      }]
    : variables.redacted == variables.applied
      ? []
      : [JSONPatch{
          op: 'replace',
          path: '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration',
          value: variables.redacted
        }])
    + (variables.nothingLeft
      ? [JSONPatch{op: 'replace', path: '/metadata/managedFields', value: oldObject.metadata.managedFields}]
      : [])
`;
