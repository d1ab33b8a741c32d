import { group } from '../../api/names.ts';
import { clusters, spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import { platformCliNames, platformUser } from '../effective-scope.ts';
import { readFields, readText, readTexts, UnreadableEntry } from '../fields.ts';
import type { FindProject } from '../request-path.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';
import type { GateEntry } from './gate.ts';
import { readProject } from './project-reads.ts';

/** Known names of roles for parts of a platform that do not exist here. They allow nothing, without a warning. */
const withoutRights: ReadonlySet<unknown> = new Set([
  'network-peer',
  'agent',
  'vcluster',
  'runner',
  'workspace',
]);

export const isKnownRole = (role: unknown): boolean =>
  platformCliNames.includes(role) || role === platformUser || withoutRights.has(role);

/** Undefined for a role that is known and allows nothing. */
export function roleEntry(value: unknown, findProject: FindProject): GateEntry | undefined {
  const entry = readFields(value, ['role', 'projects', 'virtualClusters']);
  const role = readText(entry, 'role');
  const bounds: Bounds = {
    findProject,
    projects: readTexts(entry, 'projects'),
    virtualClusters: readTexts(entry, 'virtualClusters'),
  };
  if (withoutRights.has(role)) return undefined;
  if (role === platformUser) return onPlatform((request) => isInPlatform(request, bounds));
  if (!platformCliNames.includes(role)) throw new UnreadableEntry(`there is no role ${JSON.stringify(role)}`);
  return onPlatform((request) => isCommandLineRead(request, bounds));
}

/** An entry about the platform alone. Requests that lift limits take a rule that names them, as everywhere there. */
const onPlatform = (allows: GateEntry['allows']): GateEntry => ({
  reaches: (target) => target.kind === 'management',
  allows,
  isWhole: false,
  names: () => false,
});

/** All that the user may do there; with projects, what is in their namespaces. No bound of virtual clusters fits what is in none. */
function isInPlatform(request: RequestMeaning, bounds: Bounds): boolean {
  if (isUnbounded(bounds)) return true;
  if (bounds.virtualClusters !== undefined) return false;
  const project = readProject(request);
  if (project !== undefined) return isBoundProject(project, bounds);
  return request.isResourceRequest && isInProjects(request.namespace, bounds);
}

interface Bounds {
  readonly findProject: FindProject;
  /** Undefined: all of them. */
  readonly projects: ReadonlySet<string> | undefined;
  readonly virtualClusters: ReadonlySet<string> | undefined;
}

const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** True for the look-ups by which a command line client finds a target: projects, which are namespaces, instances and clusters. */
function isCommandLineRead(request: RequestMeaning, bounds: Bounds): boolean {
  const project = readProject(request);
  if (project !== undefined) return isBoundProject(project, bounds);
  const { verb, apiGroup, resource, subresource } = request;
  if (!request.isResourceRequest || !reads.has(verb) || subresource !== '') return false;
  if (apiGroup === '' && resource === 'namespaces') return isProjectRead(request, bounds);
  if (apiGroup !== group) return false;
  switch (resource) {
    case clusters.plural:
      return isUnbounded(bounds);
    case spaceInstances.plural:
      return bounds.virtualClusters === undefined && isInProjects(request.namespace, bounds);
    case virtualClusterInstances.plural:
      return isBoundVirtualCluster(request, bounds) && isInProjects(request.namespace, bounds);
    default:
      return false;
  }
}

const isUnbounded = ({ projects, virtualClusters }: Bounds): boolean =>
  projects === undefined && virtualClusters === undefined;

/** Without bounds instances in all namespaces: a list over all of them shows these too. */
const isInProjects = (namespace: string, { findProject, projects }: Bounds): boolean =>
  projects === undefined || projects.has(findProject(namespace) ?? '');

const isBoundVirtualCluster = ({ name }: RequestMeaning, { virtualClusters }: Bounds): boolean =>
  virtualClusters === undefined || (name !== '' && virtualClusters.has(name));

/** A list names none: the gateway leaves out what this refuses. */
const isBoundProject = (project: string, { projects, virtualClusters }: Bounds): boolean =>
  virtualClusters === undefined && (project === '' || projects?.has(project) !== false);

/** A list over all namespaces is one over all projects: the gateway leaves out what is none. */
function isProjectRead(
  { name }: RequestMeaning,
  { findProject, projects, virtualClusters }: Bounds,
): boolean {
  if (virtualClusters !== undefined) return false;
  if (name === '') return projects === undefined;
  const project = findProject(name);
  return project !== undefined && projects?.has(project) !== false;
}
