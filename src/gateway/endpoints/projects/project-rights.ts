import { group } from '../../../api/names.ts';
import { projects } from '../../../api/resources.ts';
import type { Identity } from '../../../credentials/identity.ts';
import type { AccessQuestion } from '../../../platform/access-review.ts';
import type { ProjectRecord } from '../../../platform/targets/project-record.ts';
import { authorise } from '../../../scope/gate/authorise.ts';
import { isProtectedNamespace } from '../../../scope/gate/sensitive.ts';
import { errorAnswer } from '../../server/error-answer.ts';
import { type EndpointRequest, type EndpointServices, eachInTurn } from '../shared/endpoint.ts';
import { Refusal, refuse } from '../shared/reply.ts';

/**
 * A project, for who may see it: its name must be allowed by every scope, and its user must have the verb `get` on `projects` in its
 * namespace. A list shows exactly what a request by name would.
 */
export interface Project extends Pick<ProjectRecord, 'uid' | 'created'> {
  readonly name: string;
  readonly namespace: string;
}

type Services = Pick<EndpointServices, 'targetRecords' | 'permissions' | 'settings'>;

/** The one that the path names. Without the right there is one answer, whether it is there or not. Throws a Refusal. */
export async function findProject(request: EndpointRequest, services: Services): Promise<Project> {
  const { name } = request.asked;
  const namespace = services.settings.projectNamespacePrefix + name;
  // The asked name is kept for a while: a longer one could fill the memory.
  if (!namespacePattern.test(namespace)) throw notFound(name);
  const { identity } = request.sender.verdict;
  if (!(await services.permissions.isAllowed(identity, look(namespace, name))))
    refuse('ERR_PROJECT_FORBIDDEN', { user: identity.user, name, namespace });
  const record = services.targetRecords.projects.get(namespace);
  const found = record && toProject(record, services);
  if (found === undefined) throw notFound(name);
  return found;
}

/** The same for a review that asks about it. A list shows what the user may see, so everyone may send one. */
export async function mayReadProject(
  identity: Identity,
  name: string,
  { permissions, settings }: Pick<Services, 'permissions' | 'settings'>,
): Promise<boolean> {
  const namespace = settings.projectNamespacePrefix + name;
  if (name === '') return true;
  return namespacePattern.test(namespace) && (await permissions.isAllowed(identity, look(namespace, name)));
}

const namespacePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Asked about in one list. A user who may not see all projects, and has more in scope, asks for one by name. */
const maxAsked = 500;
/** At once: others of the same user, and other users, must get through beside it. */
const atOnce = 4;

/** All that a request by name would show, in the order of names. Throws a Refusal. */
export async function findProjects(
  request: EndpointRequest,
  services: Services,
): Promise<readonly Project[]> {
  const { identity } = request.sender.verdict;
  const inScope: Project[] = [];
  await eachInTurn(request, services.targetRecords.projects.values(), (record) => {
    const project = toProject(record, services);
    if (project !== undefined && isInScope(request, project.name)) inScope.push(project);
  });
  if (inScope.length === 0) return inScope;
  const byName = inScope.sort((one, other) => (one.name < other.name ? -1 : 1));
  if (await services.permissions.isAllowed(identity, look('', ''))) return byName;
  if (byName.length > maxAsked) return refuse('ERR_PROJECTS_TOO_MANY', { user: identity.user, maxAsked });
  return await askForEach(request, services, byName);
}

async function askForEach(
  { sender, response, turn }: EndpointRequest,
  { permissions }: Services,
  candidates: readonly Project[],
): Promise<readonly Project[]> {
  const { identity } = sender.verdict;
  const found: Project[] = [];
  for (let index = 0; index < candidates.length && !response.destroyed; index += atOnce) {
    const batch = candidates.slice(index, index + atOnce);
    const answers = await Promise.all(
      batch.map(async (project) => await isVisible(permissions, identity, project)),
    );
    found.push(...batch.filter((_, place) => answers[place]));
    await turn();
  }
  return found;
}

const isVisible = async (
  permissions: Services['permissions'],
  identity: Identity,
  { namespace, name }: Project,
): Promise<boolean> => await permissions.isAllowed(identity, look(namespace, name));

const look = (namespace: string, name: string): AccessQuestion => ({
  ...{ verb: 'get', resource: projects.plural, namespace, name },
});

/** As the scopes judge the same request with that name. */
const isInScope = ({ sender: { verdict }, asked }: EndpointRequest, name: string): boolean =>
  authorise({ gates: verdict.gates, request: { ...asked, name }, place: { isPlatform: true } }).allowed;

/** Undefined for a namespace that is no project, and for those that Latchkey keeps its own in, whatever labels they carry. */
function toProject(record: ProjectRecord, { targetRecords }: Services): Project | undefined {
  const { key: namespace, uid, created } = record;
  const name = isProtectedNamespace(namespace) ? undefined : targetRecords.findProject(namespace);
  return name === undefined ? undefined : { name, namespace, uid, created };
}

function notFound(name: string): Refusal {
  const { plural: resource } = projects;
  const details = { name, group, kind: resource };
  return new Refusal(errorAnswer('ERR_OBJECT_NOT_FOUND', { resource, name }, { details }));
}
