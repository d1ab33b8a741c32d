import { asObject, defined } from '../../api/json.ts';
import { fieldManager } from '../../api/names.ts';
import type { ManagedFieldsEntry, ObjectMeta } from '../../api/object-meta.ts';
import type { renderCredentialSecret } from '../../credentials/credential-secret.ts';
import { isOwnName } from '../../credentials/secret-template.ts';
import type { KubeObject } from '../../kube/object.ts';

type Rendered = ReturnType<typeof renderCredentialSecret>;

/**
 * The Secret as it is to be, at the place of the present one: with labels, annotations, finalizers and owners that others put there, and
 * without what the operator itself had put there and no one asks for any more. The data is the operator's alone.
 */
export function inPlaceOf(
  { metadata, immutable }: KubeObject & { readonly immutable?: boolean },
  secret: Rendered,
): KubeObject & Pick<Rendered, 'data'> {
  const { uid, resourceVersion, finalizers, ownerReferences = [], managedFields = [] } = metadata;
  const [own] = secret.metadata.ownerReferences;
  return {
    ...secret,
    // Without it the API server would refuse the write, also of what may change.
    ...defined({ immutable }),
    metadata: {
      ...(secret.metadata as unknown as ObjectMeta),
      labels: { ...ofOthers(metadata.labels, managedFields, 'f:labels'), ...secret.metadata.labels },
      annotations: {
        ...ofOthers(metadata.annotations, managedFields, 'f:annotations'),
        ...secret.metadata.annotations,
      },
      ownerReferences: [
        ...ownerReferences.filter(({ uid: owner }) => owner !== own?.uid),
        ...(own ? [own] : []),
      ],
      ...(finalizers && { finalizers }),
      uid,
      resourceVersion,
    },
  };
}

/** Of these names those that are not the operator's alone. */
function ofOthers(
  present: Readonly<Record<string, string>> = {},
  managedFields: readonly ManagedFieldsEntry[],
  part: 'f:labels' | 'f:annotations',
): Readonly<Record<string, string>> {
  const namesOf = (isOurs: boolean): ReadonlySet<string> =>
    new Set(
      managedFields
        .filter(({ manager }) => (manager === fieldManager) === isOurs)
        .flatMap(({ fieldsV1 }) => Object.keys(asObject(asObject(asObject(fieldsV1)['f:metadata'])[part])))
        .filter((field) => field.startsWith('f:'))
        .map((field) => field.slice(2)),
    );
  const [ours, others] = [namesOf(true), namesOf(false)];
  return Object.fromEntries(
    Object.entries(present).filter(([name]) => !isOwnName(name) && (others.has(name) || !ours.has(name))),
  );
}
