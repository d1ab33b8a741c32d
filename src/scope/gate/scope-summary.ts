import { asText, type JsonObject } from '../../api/json.ts';
import { scopedAudienceSuffix } from '../../api/names.ts';
import { effectiveScope, entriesOf } from '../effective-scope.ts';
import type { ScopedCredential } from '../missing-targets.ts';
import { isObjectName } from '../request-path.ts';
import { isKnownRole } from './roles.ts';

export interface SummarisedCredential extends ScopedCredential {
  readonly accessKey?: string;
}

/** Characters, all of them ASCII; with the rest in numbers it stays below `maxLength` in `crds/`. */
const maxNamesLength = 44;

/**
 * A summary of the scope of a credential, for a column: names, or in brackets what has none. Nothing can have a name with brackets. The
 * audiences of a token say which clusters are left of the scopes above it.
 */
export function scopeSummary(credential: SummarisedCredential, audiences: readonly string[] = []): string {
  const scope = effectiveScope(credential);
  if (scope !== undefined) return joined(namesIn(scope)) || '(nothing)';
  const clusters = audiences.flatMap((audience) => clusterAudience.exec(audience)?.[1] ?? []);
  if (clusters.length > 0) return joined(clusters);
  return credential.accessKey === undefined ? '(everything)' : `(as ${shortened(credential.accessKey)})`;
}

/** A cluster may have the name of the suffix. */
const clusterAudience = new RegExp(`/cluster/([^/]+)(?:${scopedAudienceSuffix})?$`);

const namesIn = (scope: JsonObject): readonly string[] =>
  Object.entries(readers).flatMap(([list, read]) => entriesOf(scope, list).flatMap(read));

const readers: Readonly<Record<string, (entry: JsonObject) => readonly string[]>> = {
  projects: (entry) => named(entry['project'], '(all projects)').map((name) => allOf(name)),
  spaces: (entry) => inProject(entry['project'], entry['space']),
  virtualClusters: (entry) => inProject(entry['project'], entry['virtualCluster']),
  clusters: (entry) => named(entry['cluster'], '(all clusters)'),
  roles: ({ role }) => (isKnownRole(role) ? [String(role)] : []),
  rules: () => ['(rules)'],
};

const allOf = (project: string): string => (isObjectName(project) ? `${project}/*` : project);

function named(value: unknown, all: string): readonly string[] {
  if (value === '*') return [all];
  const name = asText(value);
  return name !== undefined && isObjectName(name) ? [name] : [];
}

const inProject = (project: unknown, name: unknown): readonly string[] =>
  named(project, '').flatMap((known) => (isObjectName(known) ? named(name, allOf(known)) : []));

/** The first ones, and how many there are besides. */
function joined(names: readonly string[]): string {
  const all = [...new Set(names)].map(shortened);
  const fits = (_: string, index: number): boolean =>
    index === 0 || all.slice(0, index + 1).join(', ').length <= maxNamesLength;
  const shown = all.filter(fits);
  const left = all.length - shown.length;
  return left === 0 ? shown.join(', ') : `${shown.join(', ')}, +${left}`;
}

const shortened = (name: string): string =>
  name.length <= maxNamesLength ? name : `${name.slice(0, maxNamesLength - 3)}...`;
