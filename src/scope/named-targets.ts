import { asObject } from '../api/json.ts';
import { entriesOf, platformCliNames, platformUser, type RawScope } from './effective-scope.ts';
import { readFields, readList, readName, readText, readTexts, UnreadableEntry } from './fields.ts';
import { isObjectName, projectOfNamespace } from './request-path.ts';

/**
 * The name under which something that scopes point at is known, such as `project/a` or `cluster/*`: the star is any of its kind.
 * Equal names stand for the same thing in a scope and in the cluster.
 */
export type TargetName = string;

/** The targets of an entry of a scope: of each of these lists one must be there. */
export type NamedTarget = readonly (readonly TargetName[])[];

export interface NamedTargets {
  /** True when some entry is about more than targets with a name. */
  readonly isOpen: boolean;
  readonly named: readonly NamedTarget[];
}

/** Reads which targets an effective scope names. An entry that cannot be read points at nothing. */
export function namedTargets(scope: RawScope): NamedTargets {
  const found = [...readers].flatMap(([list, read]) =>
    entriesOf(scope, list).map((entry) => tryRead(read, entry)),
  );
  return {
    isOpen: found.includes('open'),
    named: found.flatMap((targets) => (targets === 'open' ? [] : targets)),
  };
}

/** Whether a scope names targets and not one of them is there. A scope without a name is not meant. */
export function namesNothing(
  { isOpen, named }: NamedTargets,
  isThere: (name: TargetName) => boolean,
): boolean {
  return !isOpen && named.length > 0 && !named.some((target) => target.every((names) => names.some(isThere)));
}

export function namesOfProject(namespace: string, project: string): readonly TargetName[] {
  return [`project/${project}`, 'project/*', `namespace/${namespace}`];
}

export function namesOfCluster(name: string): readonly TargetName[] {
  return [`cluster/${name}`, 'cluster/*'];
}

interface Instance {
  readonly namespace: string;
  readonly name: string;
}

export function namesOfSpace({ namespace, name }: Instance, prefix: string): readonly TargetName[] {
  const project = projectOfNamespace(namespace, prefix);
  return project === undefined ? [] : [`space/${project}/${name}`, `space/${project}/*`];
}

export function namesOfVirtualCluster({ namespace, name }: Instance, prefix: string): readonly TargetName[] {
  const project = projectOfNamespace(namespace, prefix);
  if (project === undefined) return [];
  return [
    ...[name, '*'].map((text) => `virtualCluster/${project}/${text}`),
    ...[name, '*'].flatMap((text) => [`instance/${namespace}/${text}`, `instance/*/${text}`]),
  ];
}

type Reader = (entry: unknown) => readonly NamedTarget[] | 'open';

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['projects', (entry) => [readOne(entry, 'project')]],
  ['spaces', (entry) => [readInProject(entry, 'space')]],
  ['virtualClusters', (entry) => [readInProject(entry, 'virtualCluster')]],
  ['clusters', (entry) => [readOne(entry, 'cluster')]],
  ['roles', readRole],
  ['rules', readRule],
]);

/** Of no names none is ever there. */
const nowhere: NamedTarget = [[]];

function tryRead(read: Reader, entry: unknown): readonly NamedTarget[] | 'open' {
  try {
    return read(entry);
  } catch (error) {
    if (error instanceof UnreadableEntry) return [nowhere];
    throw error;
  }
}

function starred(kind: string, text: string): TargetName {
  return text === '*' ? `${kind}/*` : exact(kind, text);
}

function exact(kind: string, text: string): TargetName {
  if (!isObjectName(text)) throw new UnreadableEntry('it is no name');
  return `${kind}/${text}`;
}

function readOne(value: unknown, field: 'project' | 'cluster'): NamedTarget {
  return [[starred(field, readName(readFields(value, [field]), field))]];
}

function readInProject(value: unknown, field: 'space' | 'virtualCluster'): NamedTarget {
  const entry = readFields(value, ['project', field]);
  const project = readName(entry, 'project');
  return [[exact('project', project)], [starred(`${field}/${project}`, readName(entry, field))]];
}

/** Roles that allow nothing point at nothing, and are no mistake of a name. */
function readRole(value: unknown): readonly NamedTarget[] | 'open' {
  const entry = readFields(value, ['role', 'projects', 'virtualClusters']);
  if (![...platformCliNames, platformUser].includes(readText(entry, 'role'))) return [];
  const projects = exactAll('project', readTexts(entry, 'projects'));
  const virtualClusters = exactAll('instance/*', readTexts(entry, 'virtualClusters'));
  const bounds = [projects, virtualClusters].filter((names) => names !== undefined);
  return bounds.length === 0 ? 'open' : [bounds];
}

function exactAll(kind: string, texts: ReadonlySet<string> | undefined): readonly TargetName[] | undefined {
  return texts && [...texts].filter(isObjectName).map((text) => `${kind}/${text}`);
}

/** Requests are for a cluster or for a virtual cluster, so a rule about both is about none. */
function readRule(value: unknown): readonly NamedTarget[] | 'open' {
  const entry = asObject(value);
  const cluster = readText(entry, 'cluster');
  const instances = readList(entry, 'virtualClusters');
  if (cluster === '') return instances.length === 0 ? 'open' : instances.map(readRuleInstance);
  return [instances.length === 0 ? [[exact('cluster', cluster)]] : nowhere];
}

function readRuleInstance(value: unknown): NamedTarget {
  const entry = readFields(value, ['name', 'namespace']);
  const [name, namespace] = [readText(entry, 'name') || '*', readText(entry, 'namespace')];
  const project = namespace === '' ? [] : [[exact('namespace', namespace)]];
  return [...project, [starred(`instance/${namespace || '*'}`, name)]];
}
