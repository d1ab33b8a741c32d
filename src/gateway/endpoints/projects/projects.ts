import { defined, type JsonObject } from '../../../api/json.ts';
import { apiVersion, group, version } from '../../../api/names.ts';
import {
  clusters,
  projects,
  type Resource,
  spaceInstances,
  virtualClusterInstances,
} from '../../../api/resources.ts';
import type {
  SpaceInstanceRecord,
  VirtualClusterInstanceRecord,
} from '../../../platform/targets/target-record.ts';
import { authorise } from '../../../scope/gate/authorise.ts';
import { forward } from '../../proxy/forward.ts';
import {
  type Endpoint,
  type EndpointRequest,
  type EndpointServices,
  eachInTurn,
  everyVerb,
  queryOf,
} from '../shared/endpoint.ts';
import {
  type AcceptedForm,
  checkListOptions,
  fieldFilter,
  labelFilter,
  metadataOf,
  readAccept,
} from '../shared/list-options.ts';
import { answerFailure, refuse, sendObject } from '../shared/reply.ts';
import { findProject, findProjects, type Project } from './project-rights.ts';
import { ageOf } from './target-table.ts';

type Show = (request: EndpointRequest, services: EndpointServices) => Promise<JsonObject>;

/** Projects, as the gateway sees them: namespaces with the label of a project. Nothing of them is stored, so nothing can be changed. */
export function projectEndpoints(services: EndpointServices): Readonly<Record<string, Endpoint>> {
  const question = (verb: string, subresource = '') => `${verb} ${projects.plural}${subresource}.${group}`;
  const serve = (show: Show) => answering(show, services);
  return {
    ...Object.fromEntries(everyVerb.map((verb) => [question(verb), serve(refuseChange)])),
    [question('get')]: serve(showProject),
    [question('list')]: serve(showProjects),
    [question('get', '/clusters')]: serve(showClusters),
  };
}

const answering =
  (show: Show, services: EndpointServices): Endpoint =>
  async (request) => {
    // The API server knows neither another version nor a project in a namespace, and says so.
    if (request.asked.apiVersion !== version || request.asked.namespace !== '') return forward(request);
    try {
      sendObject(request, 200, await show(request, services));
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };

const refuseChange: Show = async () => refuse('ERR_PROJECT_METHOD', {}, { headers: ['allow', 'GET'] });

const showProject: Show = async (request, services) => {
  const form = formFor(request);
  const project = await findProject(request, services);
  if (form.isTable) return tableOf([project], request);
  return form.isMetadata ? metadataOf(toObject(project)) : toObject(project);
};

const showProjects: Show = async (request, services) => {
  const form = formFor(request);
  const selects = readSelectors(queryOf(request));
  const found = (await findProjects(request, services)).filter(({ name }) => selects(name));
  if (form.isTable) return tableOf(found, request);
  const items = found.map((project) => (form.isMetadata ? metadataOf(toObject(project)) : toObject(project)));
  return form.isMetadata
    ? { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata: {}, items }
    : { kind: `${projects.kind}List`, apiVersion, metadata: {}, items };
};

/** Clients look up where their instances are. Nothing is said of these clusters but their names. */
const showClusters: Show = async (request, services) => {
  const project = await findProject(request, services);
  const names = await clustersOf(request, services, project.namespace);
  const items = names.map((name) => ({ kind: clusters.kind, apiVersion, metadata: { name } }));
  return { kind: 'ProjectClusters', apiVersion, metadata: { name: project.name }, clusters: items };
};

const toObject = ({ name, uid, created, namespace }: Project): JsonObject => ({
  kind: projects.kind,
  apiVersion,
  metadata: { name, uid, creationTimestamp: created },
  spec: {},
  status: { namespace },
});

const formFor = ({ request }: EndpointRequest): AcceptedForm =>
  readAccept(request.headers.accept) ?? refuse('ERR_NOT_ACCEPTABLE', {});

/** Reads what a list is about. All of it comes at once, whatever limit is asked for. Throws a Refusal. */
function readSelectors(query: URLSearchParams): (name: string) => boolean {
  checkListOptions(query, false);
  const ofLabels = labelFilter(query.get('labelSelector') ?? '');
  if (ofLabels === undefined) return refuse('ERR_QUERY', { problem: 'labelSelector cannot be read' });
  const ofFields = fieldFilter(query.get('fieldSelector') ?? '', selectable);
  if (ofFields === undefined)
    return refuse('ERR_QUERY', {
      problem: 'fieldSelector names a field that projects cannot be selected by',
    });
  // A project has no labels, so all are selected by them or none.
  const areSelected = ofLabels({});
  return (name) => areSelected && ofFields({ metadata: { name } });
}

const selectable: ReadonlySet<string> = new Set(['metadata.name']);

const column = (name: string, description: string, type = 'string', format = '') => ({
  ...{ name, type, format, description, priority: 0 },
});
const columnDefinitions = [
  column('Name', 'Name of the project.', 'string', 'name'),
  column('Namespace', 'Namespace that the project is.'),
  column('Age', 'Time since the namespace was made.'),
];

function tableOf(found: readonly Project[], request: EndpointRequest): JsonObject {
  const included = queryOf(request).get('includeObject');
  const rows = found.map((project) => {
    const object = toObject(project);
    const cells = [project.name, project.namespace, ageOf(project.created, request.clock.now())];
    const shown = included === 'Object' ? object : metadataOf(object);
    return defined({ cells, object: included === 'None' ? undefined : shown });
  });
  return { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: {}, columnDefinitions, rows };
}

type InstanceRecord = SpaceInstanceRecord | VirtualClusterInstanceRecord;
type Services = Pick<EndpointServices, 'targetRecords' | 'permissions'>;

/** Asked about by name, of users who may not see all instances of a project. */
const maxAsked = 50;

/** Names of the clusters that the instances of a project name in `spec.clusterRef.cluster`, of those that the sender may read. */
async function clustersOf(
  request: EndpointRequest,
  services: Services,
  namespace: string,
): Promise<readonly string[]> {
  const { instances, spaces } = services.targetRecords;
  const names = new Set<string>();
  for (const [resource, records] of [
    [virtualClusterInstances, instances],
    [spaceInstances, spaces],
  ] as const) {
    const reads = new InstanceReads(request, services, { resource, namespace });
    await eachInTurn<InstanceRecord>(request, records.values(), async ({ key, reference }) => {
      const cluster = reference.clusterRef?.cluster ?? '';
      if (cluster === '' || names.has(cluster) || !key.startsWith(`${namespace}/`)) return;
      if (await reads.isAllowed(key.slice(namespace.length + 1))) names.add(cluster);
    });
  }
  return [...names].sort();
}

interface InstanceCollection {
  readonly resource: Resource;
  readonly namespace: string;
}

/** Whether the sender may read instances of one kind, each by its name. */
class InstanceReads {
  readonly #request: EndpointRequest;
  readonly #services: Services;
  readonly #collection: InstanceCollection;
  #asked = 0;

  constructor(request: EndpointRequest, services: Services, collection: InstanceCollection) {
    this.#request = request;
    this.#services = services;
    this.#collection = collection;
  }

  async isAllowed(name: string): Promise<boolean> {
    if (!this.#isInScope(name)) return false;
    if (await this.#mayGet('')) return true;
    this.#asked += 1;
    return this.#asked <= maxAsked && (await this.#mayGet(name));
  }

  async #mayGet(name: string): Promise<boolean> {
    const { resource, namespace } = this.#collection;
    const { identity } = this.#request.sender.verdict;
    return await this.#services.permissions.isAllowed(identity, {
      ...{ verb: 'get', resource: resource.plural, namespace, name },
    });
  }

  #isInScope(name: string): boolean {
    const { resource, namespace } = this.#collection;
    const { sender, asked } = this.#request;
    const read = { resource: resource.plural, subresource: '', apiGroup: group, namespace, name };
    const request = { ...asked, ...read, verb: 'get' };
    return authorise({ gates: sender.verdict.gates, request, place: { isPlatform: true } }).allowed;
  }
}
