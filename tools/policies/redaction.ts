import { cel } from './text.ts';

/** Of `kubectl apply`: the manifest as it was sent. */
export const lastAppliedAnnotation = `'kubectl.kubernetes.io/last-applied-configuration'`;

/** Of kapp: the same. Its hash beside it is of what the API server added, so it may stay. */
export const kappAnnotation = `'kapp.k14s.io/original'`;

/**
 * An unchanged annotation has been cleaned. Leaving it alone also means that its size can never stand in the way of the operator or
 * the garbage collector when they release the object.
 */
const changed = (annotation: string): string => cel`
  object.metadata.?annotations[?${annotation}].hasValue()
    && (request.operation == 'CREATE'
        || object.metadata.annotations[?${annotation}] != oldObject.metadata.?annotations[?${annotation}])
`;

export const lastAppliedChanged = changed(lastAppliedAnnotation);
export const kappChanged = changed(kappAnnotation);

/** Splits the text at a name: a part that begins with `:"<20 characters or more>"` is the value that belongs to it. */
const redactedAfter = (source: string, name: string, unless = ''): string => cel`
  variables.${source}.split('"${name}"', 101).map(part,
    part.matches(r'^\s*:\s*"(?:[^"\\]|\\.){20}')${unless}
      ? ':"redacted-by-latchkey"' + part.substring(size(part.find(r'^\s*:\s*"(?:[^"\\]|\\.)*"?')))
      : part
  ).join('"${name}"')
`;

/** The steps that clean one annotation, as variables; `prefix` tells those of one annotation from those of another. */
function cleaning(annotation: string, prefix = '') {
  const named = (name: string) =>
    prefix === '' ? name : `${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const applied = `variables.${named('applied')}`;
  return {
    [named('applied')]: `object.metadata.annotations[${annotation}]`,
    [named('withoutSpecKey')]:
      cel`variables.key == '' ? ${applied} : ${applied}.replace(variables.key, 'redacted-by-latchkey')`,
    // No manifest of these kinds names a field this often. It would cost the API server seconds to clean such a text.
    [named('tooManyMatches')]:
      cel`['"key"', '"token"', '"kubeConfig"'].exists(name, size(${applied}.split(name, 101)) > 100)`,
    [named('withoutKeys')]: redactedAfter(
      named('withoutSpecKey'),
      'key',
      String.raw` && !part.matches(r'^\s*:\s*"sha256:[0-9a-f]{64}"')`,
    ),
    [named('withoutTokens')]: redactedAfter(named('withoutKeys'), 'token'),
    [named('redacted')]: redactedAfter(named('withoutTokens'), 'kubeConfig'),
  };
}

export const redactionVariables = {
  key: cel`
    has(object.spec) && type(object.spec) == map && 'key' in object.spec && type(object.spec.key) == string
      && size(object.spec.key) >= 20 && !object.spec.key.startsWith('sha256:')
      ? object.spec.key : ''
  `,
  ...cleaning(lastAppliedAnnotation),
  ...cleaning(kappAnnotation, 'kapp'),
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

/** The same for kapp, which compares by itself and sends nothing when nothing differs. */
export const kappRedaction = cel`
  variables.kappTooManyMatches
    ? [JSONPatch{op: 'remove', path: '/metadata/annotations/kapp.k14s.io~1original'}]
    : variables.kappRedacted == variables.kappApplied
    ? []
    : [JSONPatch{
        op: 'replace', path: '/metadata/annotations/kapp.k14s.io~1original', value: variables.kappRedacted
      }]
`;
