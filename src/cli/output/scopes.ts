import { asObject, asText, isObject } from '../../api/json.ts';

/** Scopes of a key and of those above it, in words; one text for each. */
export function describeScopes(scopes: unknown): readonly string[] {
  return (Array.isArray(scopes) ? scopes : []).map((entry) => {
    const { name, scope } = asObject(entry);
    return `${asText(name) ?? '?'}: ${describeScope(scope)}`;
  });
}

type Describe = (entry: Readonly<Record<string, unknown>>) => string;

const lists: readonly (readonly [list: string, one: string, describe: Describe])[] = [
  ['projects', 'project', ({ project }) => `${project}`],
  ['virtualClusters', 'virtual cluster', ({ project, virtualCluster }) => `${project}/${virtualCluster}`],
  ['spaces', 'space', ({ project, space }) => `${project}/${space}`],
  ['clusters', 'cluster', ({ cluster }) => `${cluster}`],
  ['roles', 'role', ({ role }) => `${role}`],
];

/** One scope. Rules are counted: they have no short form. */
export function describeScope(scope: unknown): string {
  const read = asObject(scope);
  const parts = lists.flatMap(([list, one, describe]) => {
    const names = entriesOf(read[list]).map(describe);
    return names.length === 0 ? [] : [`${one}${names.length > 1 ? 's' : ''} ${names.join(', ')}`];
  });
  const rules = entriesOf(read['rules']).length;
  const all = rules === 0 ? parts : [...parts, `${rules} rule${rules > 1 ? 's' : ''}`];
  return all.join(', ') || 'nothing but Self';
}

const entriesOf = (list: unknown) => (Array.isArray(list) ? list.filter(isObject) : []);
