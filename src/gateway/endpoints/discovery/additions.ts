import { createHash } from 'node:crypto';
import { asObject, isObject, type JsonObject } from '../../../api/json.ts';
import { apiVersion, group, version } from '../../../api/names.ts';
import {
  projects,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../api/resources.ts';

/** Operations that the gateway answers and the API server does not know, as the documents of the API server would show them. */
const instances = virtualClusterInstances.plural;
const kubeConfigKind = virtualClusterInstanceKubeConfigs.kind;
const schemaName = (kind: string) => `sh.platform.management.v1.${kind}`;
const kindOf = (kind: string) => ({ group, version, kind });

const text = (description: string) => ({ type: 'string', description });
const object = (description: string, properties: JsonObject = {}) => ({
  type: 'object',
  description,
  properties,
});
const list = (description: string, items: JsonObject) => ({ type: 'array', description, items });

const named = object('A user or a team.', { name: text('Name of the user or the team.') });

const credential = object('The credential that the request came with.', {
  kind: text('Kind of the credential.'),
  namespace: text('Namespace of the credential, where its kind has one.'),
  name: text('Name of the credential.'),
  uid: text('UID of the credential.'),
});

const scoped = object('A scope and whose it is.', {
  kind: text('Kind of the credential.'),
  namespace: text('Namespace of the credential, where its kind has one.'),
  name: text('Name of the credential.'),
  scope: object('The scope, with deprecated fields in their place.'),
});

const target = object('Target that the credential may enter.', {
  kind: text('Kind of the target: a virtual cluster, a space or a cluster.'),
  project: text('Project of the target, where it has one.'),
  name: text('Name of the target.'),
});

const selfStatus = object('Answer of the gateway.', {
  user: named,
  team: named,
  subject: text('The user name that requests are carried out as.'),
  groups: list('The groups of that user.', { type: 'string' }),
  accessKey: text('Name of the access key, where the credential is one.'),
  accessKeyType: text('Type of the access key, its `spec.type`.'),
  accessKeyScope: object('Scope of the access key itself; absent without one.'),
  credential,
  scopes: list('All scopes that a request must pass, nearest first.', scoped),
  expirationTimestamp: text('End of the credential, as far as it is known; absent: never.'),
  projectNamespacePrefix: text('Prefix of the namespace of each project, before the name of the project.'),
  targets: list('The targets that it may enter, where the request asks for them.', target),
});

const selfSpec = object('Question about a credential.', {
  accessKey: text('Another access key to ask about, in plain text; absent: the credential of the request.'),
  targets: { type: 'boolean', description: 'Puts the targets into the answer, if true.' },
});

/** By name, for `components.schemas`. */
export const openAPISchemas: JsonObject = {
  [schemaName('Self')]: {
    ...object(
      'Answer that tells who a request comes from, and what its credential may do. It is not stored.',
      {
        apiVersion: text('Version of the API, `management.platform.sh/v1`.'),
        kind: text('Kind of the object, `Self`.'),
        metadata: object('Metadata of the object; all of it may be left out.'),
        spec: selfSpec,
        status: selfStatus,
      },
    ),
    'x-kubernetes-group-version-kind': [kindOf('Self')],
  },
  [schemaName(projects.kind)]: {
    ...object(
      'Project that you may see: a namespace with the label of a project. It is not stored, so it can only be read.',
      {
        apiVersion: text('Version of the API, `management.platform.sh/v1`.'),
        kind: text('Kind of the object, `Project`.'),
        metadata: object('Name of the project; UID and creation of its namespace.'),
        spec: object('Settings of the project; there are none.'),
        status: object('Answer of the gateway.', { namespace: text('Namespace that the project is.') }),
      },
    ),
    'x-kubernetes-group-version-kind': [kindOf(projects.kind)],
  },
};

const referTo = (schema: string) => ({ schema: { $ref: `#/components/schemas/${schema}` } });
const inPath = (name: string) => ({ name, in: 'path', required: true, schema: { type: 'string' } });
const inQuery = (name: string) => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } });

interface Operation {
  readonly kind: string;
  readonly schema: string;
  readonly description: string;
  readonly action: string;
  readonly mediaTypes?: readonly string[];
  readonly status?: number;
}

const operation = ({ kind, schema, description, action, mediaTypes = both, status = 200 }: Operation) => ({
  description,
  operationId: `${action}PlatformManagementV1${kind}`,
  tags: ['managementPlatformSh_v1'],
  parameters: ['dryRun', 'fieldManager', 'fieldValidation', 'pretty'].map(inQuery),
  requestBody: { content: Object.fromEntries(mediaTypes.map((type) => [type, referTo(schema)])) },
  responses: {
    [status]: { description: 'OK', content: Object.fromEntries(both.map((type) => [type, referTo(schema)])) },
    401: { description: 'Unauthorized' },
  },
  'x-kubernetes-action': action,
  'x-kubernetes-group-version-kind': kindOf(kind),
});

const read = (action: string, description: string) => ({
  description,
  operationId: `${action}PlatformManagementV1${projects.kind}`,
  tags: ['managementPlatformSh_v1'],
  responses: {
    200: {
      description: 'OK',
      content: Object.fromEntries(both.map((type) => [type, referTo(schemaName(projects.kind))])),
    },
    401: { description: 'Unauthorized' },
  },
  'x-kubernetes-action': action,
  'x-kubernetes-group-version-kind': kindOf(projects.kind),
});

const both = ['application/json', 'application/yaml'] as const;
const root = `/apis/${apiVersion}`;
const selfKind = 'Self';
const kubeConfigPath = `${root}/namespaces/{namespace}/${virtualClusterInstances.plural}/{name}/kubeconfig`;

/** By path. kubectl validates only kinds that can be patched, so there is a patch of a Self, which is refused. */
const openAPIPaths: JsonObject = {
  [`${root}/selves`]: {
    post: operation({
      ...{ kind: selfKind, schema: schemaName(selfKind), action: 'post', status: 201 },
      description: 'Says who the request comes from.',
    }),
  },
  [`${root}/selves/{name}`]: {
    parameters: [inPath('name')],
    patch: operation({
      ...{ kind: selfKind, schema: schemaName(selfKind), action: 'patch' },
      mediaTypes: ['application/merge-patch+json'],
      description: 'Refused with 405: a Self is not stored.',
    }),
  },
  [`${root}/${projects.plural}`]: { get: read('list', 'Lists the projects that you may see.') },
  [`${root}/${projects.plural}/{name}`]: {
    parameters: [inPath('name')],
    get: read('get', 'Shows a project.'),
  },
  [kubeConfigPath]: {
    parameters: [inPath('namespace'), inPath('name')],
    post: operation({
      ...{ kind: kubeConfigKind, schema: schemaName(kubeConfigKind), action: 'post' },
      description: 'Makes a kubeconfig for the virtual cluster instance.',
    }),
  },
};

const projectClustersKind = 'ProjectClusters';

const itemsOf = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** `APIResourceList` of the group. */
export function addToResourceList(list: JsonObject): JsonObject {
  const self = { name: 'selves', singularName: 'self', namespaced: false, kind: 'Self', verbs: ['create'] };
  const kubeConfig = {
    name: `${instances}/kubeconfig`,
    singularName: '',
    namespaced: true,
    kind: kubeConfigKind,
    verbs: ['create'],
  };
  const project = { name: projects.plural, singularName: 'project', namespaced: false, kind: projects.kind };
  const projectClusters = {
    ...{ name: `${projects.plural}/clusters`, singularName: '', namespaced: false },
    ...{ kind: projectClustersKind, verbs: ['get'] },
  };
  const added = [self, kubeConfig, { ...project, verbs: ['get', 'list'] }, projectClusters];
  return { ...list, resources: [...itemsOf(list['resources']), ...added] };
}

/** `APIGroupDiscoveryList`, of v2 or v2beta1. Older clients ask for the groups alone, to which nothing is added. */
export function addToGroups(list: JsonObject): JsonObject {
  return list['kind'] === 'APIGroupDiscoveryList'
    ? { ...list, items: itemsOf(list['items']).map(addToGroup) }
    : list;
}

function addToGroup(item: JsonObject): JsonObject {
  if (asObject(item['metadata'])['name'] !== group) return item;
  const versions = itemsOf(item['versions']).map((each) =>
    each['version'] === version
      ? { ...each, resources: [...itemsOf(each['resources']).map(addSubresource), self, project] }
      : each,
  );
  return { ...item, versions };
}

const self = {
  resource: 'selves',
  responseKind: kindOf('Self'),
  scope: 'Cluster',
  singularResource: 'self',
  verbs: ['create'],
} as const;

const project = {
  resource: projects.plural,
  responseKind: kindOf(projects.kind),
  scope: 'Cluster',
  singularResource: 'project',
  verbs: ['get', 'list'],
  subresources: [{ subresource: 'clusters', responseKind: kindOf(projectClustersKind), verbs: ['get'] }],
} as const;

function addSubresource(item: JsonObject): JsonObject {
  if (item['resource'] !== instances) return item;
  const added = { subresource: 'kubeconfig', responseKind: kindOf(kubeConfigKind), verbs: ['create'] };
  return { ...item, subresources: [...itemsOf(item['subresources']), added] };
}

const groupVersionPath = `apis/${apiVersion}`;

/** The index of OpenAPI v3: clients keep a document for as long as its address is the same. */
export function addToOpenAPIIndex(index: JsonObject): JsonObject {
  const paths = asObject(index['paths']);
  const { serverRelativeURL } = asObject(paths[groupVersionPath]);
  const [path, hash] = typeof serverRelativeURL === 'string' ? serverRelativeURL.split('?hash=') : [];
  if (path === undefined || hash === undefined) return index;
  const changed = { serverRelativeURL: `${path}?hash=${deriveHash(hash)}` };
  return { ...index, paths: { ...paths, [groupVersionPath]: changed } };
}

/** The OpenAPI v3 document of the group. */
export function addToOpenAPI(document: JsonObject): JsonObject {
  const components = asObject(document['components']);
  return {
    ...document,
    paths: { ...asObject(document['paths']), ...openAPIPaths },
    components: { ...components, schemas: { ...asObject(components['schemas']), ...openAPISchemas } },
  };
}

const additions = createHash('sha256')
  .update(
    JSON.stringify([openAPIPaths, openAPISchemas, self, project, addSubresource({ resource: instances })]),
  )
  .digest('hex');

/** The hash of a document with additions, from that of the document without: the same on every replica of one release. */
export const deriveHash = (hash: string): string =>
  createHash('sha256').update(`${hash} ${additions}`).digest('hex').toUpperCase();
