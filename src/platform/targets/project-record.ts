import { parseEnd } from '../../api/instant.ts';
import { labels } from '../../api/names.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import type { KubeObject } from '../../kube/object.ts';
import { projectOfNamespace } from '../../scope/request-path.ts';

/** A namespace that carries the label of projects. */
export interface ProjectRecord extends StoredRecord {
  readonly label: string;
  readonly isDeleting: boolean;
  /** When it was made, as the API server writes it. */
  readonly created: string;
}

export const toProjectRecord = ({ metadata }: KubeObject): ProjectRecord => ({
  key: metadata.name,
  uid: metadata.uid ?? '',
  resourceVersion: metadata.resourceVersion ?? '',
  label: metadata.labels?.[labels.project] ?? '',
  isDeleting: parseEnd(metadata.deletionTimestamp) !== undefined,
  created: metadata.creationTimestamp ?? '',
});

/**
 * The project that a namespace is. Its name is not enough: a person who may create namespaces could otherwise make one that passes
 * for the project of someone else.
 */
export function projectOf(
  { key, label, isDeleting }: ProjectRecord,
  projectNamespacePrefix: string,
): string | undefined {
  const project = projectOfNamespace(key, projectNamespacePrefix);
  return label === project && !isDeleting ? project : undefined;
}
