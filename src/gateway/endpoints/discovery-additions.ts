import { createHash } from 'node:crypto';
import { asObject, isObject, type JsonObject } from '../../api/json.ts';
import { apiVersion, group, version } from '../../api/names.ts';
import { projects, virtualClusterInstanceKubeConfigs, virtualClusterInstances } from '../../api/resources.ts';
import { openAPIPaths, openAPISchemas } from './openapi-additions.ts';

/** Operations that the gateway answers and the API server does not know, as the documents of the API server would show them. */
const instances = virtualClusterInstances.plural;
const kubeConfigKind = virtualClusterInstanceKubeConfigs.kind;

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

const kindOf = (kind: string) => ({ group, version, kind });

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
