import { group } from '../../api/names.ts';
import { spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import { readFields, readName, UnreadableEntry } from '../fields.ts';
import { type FindProject, isObjectName, type RequestTarget } from '../request-path.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';
import type { GateEntry } from './gate.ts';
import { readProject } from './project-reads.ts';

/** Reads the text of a field into what matches names; `*` matches all of them. */
type NameMatcher = (name: string) => boolean;

const everyName: NameMatcher = () => true;

/** A project: all that it holds, and a look at itself and the instances in its namespace. */
export function projectEntry(value: unknown, findProject: FindProject): GateEntry {
  const isProject = nameOrStar(readName(readFields(value, ['project']), 'project'));
  return {
    reaches: (target) =>
      target.kind !== 'cluster' && (target.kind === 'management' || isProject(target.project)),
    allows: (request) => {
      if (request.target.kind !== 'management') return true;
      if (isProjectRead(request, isProject)) return true;
      const project = findProject(request.namespace);
      if (project === undefined || !isProject(project)) return false;
      return isInstanceRead(request) || isKubeConfigCreate(request);
    },
    isWhole: true,
    names: namesNothing,
  };
}

export function spaceEntry(value: unknown, findProject: FindProject): GateEntry {
  const entry = readFields(value, ['project', 'space']);
  const [project, isSpace] = [exactName(entry, 'project'), nameOrStar(readName(entry, 'space'))];
  return {
    reaches: (target) =>
      target.kind === 'management' ||
      (target.kind === 'space' && target.project === project && isSpace(target.space)),
    allows: (request) =>
      request.target.kind === 'space' ||
      isProjectRead(request, (name) => name === project) ||
      (findProject(request.namespace) === project &&
        isNamed(request, isSpace) &&
        isInstanceRead(request, spaceInstances.plural)),
    isWhole: true,
    names: namesNothing,
  };
}

export function virtualClusterEntry(value: unknown, findProject: FindProject): GateEntry {
  const entry = readFields(value, ['project', 'virtualCluster']);
  const [project, isIt] = [exactName(entry, 'project'), nameOrStar(readName(entry, 'virtualCluster'))];
  return {
    reaches: (target) =>
      target.kind === 'management' ||
      (target.kind === 'virtualCluster' && target.project === project && isIt(target.virtualCluster)),
    allows: (request) =>
      request.target.kind === 'virtualCluster' ||
      isProjectRead(request, (name) => name === project) ||
      (findProject(request.namespace) === project &&
        isNamed(request, isIt) &&
        (isInstanceRead(request, virtualClusterInstances.plural) || isKubeConfigCreate(request))),
    isWhole: true,
    names: namesNothing,
  };
}

export function clusterEntry(value: unknown): GateEntry {
  const isCluster = nameOrStar(readName(readFields(value, ['cluster']), 'cluster'));
  return {
    reaches: (target: RequestTarget) => target.kind === 'cluster' && isCluster(target.cluster),
    allows: () => true,
    isWhole: true,
    names: namesNothing,
  };
}

/** Only rules name resources. */
const namesNothing = (): boolean => false;

function nameOrStar(text: string): NameMatcher {
  if (text === '*') return everyName;
  if (!isObjectName(text)) throw new UnreadableEntry(`${JSON.stringify(text)} is no name`);
  return (name) => name === text;
}

function exactName(entry: Readonly<Record<string, unknown>>, field: string): string {
  const name = readName(entry, field);
  if (!isObjectName(name)) throw new UnreadableEntry(`${field} must be one name`);
  return name;
}

/** A list of all instances is about none by name, so it takes the star. */
const isNamed = ({ name }: RequestMeaning, isIt: NameMatcher): boolean =>
  isIt === everyName || (name !== '' && isIt(name));

/** The kinds of the group that hold no secret; any other may. */
const readable: ReadonlySet<string> = new Set([virtualClusterInstances.plural, spaceInstances.plural]);
const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** Clients look at the project first. A list names none: the gateway leaves out what this refuses. */
function isProjectRead(request: RequestMeaning, isProject: NameMatcher): boolean {
  const project = readProject(request);
  return project !== undefined && (project === '' || isProject(project));
}

function isInstanceRead(request: RequestMeaning, plural?: string): boolean {
  const { verb, apiGroup, resource, subresource } = request;
  if (apiGroup !== group || subresource !== '' || !reads.has(verb)) return false;
  return plural === undefined ? readable.has(resource) : resource === plural;
}

/** A kubeconfig is made for one virtual cluster, so the request names it. */
function isKubeConfigCreate({ verb, apiGroup, resource, subresource, name }: RequestMeaning): boolean {
  const isKubeConfig = resource === virtualClusterInstances.plural && subresource === 'kubeconfig';
  return isKubeConfig && verb === 'create' && apiGroup === group && name !== '';
}
