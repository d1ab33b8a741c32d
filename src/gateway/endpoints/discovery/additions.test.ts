import { describe, expect, it } from 'vitest';
import { addToGroups, addToOpenAPI, addToOpenAPIIndex, addToResourceList, deriveHash } from './additions.ts';

const [group, version] = ['management.platform.sh', 'v1'];
const groupVersion = `apis/${group}/${version}`;
const instances = { resource: 'virtualclusterinstances', subresources: [{ subresource: 'status' }] };
const items = [
  { metadata: { name: 'apps' }, versions: [{ version: 'v1', resources: [{ resource: 'deployments' }] }] },
  {
    metadata: { name: group },
    versions: [
      { version: 'v2', resources: [] },
      { version, resources: [instances] },
    ],
  },
];

describe('the groups and their resources', () => {
  it.each(['apidiscovery.k8s.io/v2', 'apidiscovery.k8s.io/v2beta1'])(
    'in %s get what the gateway answers, in the one version of the one group',
    (apiVersion) => {
      const list = { kind: 'APIGroupDiscoveryList', apiVersion, items };
      const added = addToGroups(list) as unknown as { items: typeof items };
      expect(added.items[0]).toEqual(items[0]);
      expect(added.items[1]?.versions[0]).toEqual(items[1]?.versions[0]);
      expect(added.items[1]?.versions[1]?.resources).toEqual([
        {
          resource: 'virtualclusterinstances',
          subresources: [
            { subresource: 'status' },
            {
              subresource: 'kubeconfig',
              responseKind: { group, version, kind: 'VirtualClusterInstanceKubeConfig' },
              verbs: ['create'],
            },
          ],
        },
        {
          resource: 'selves',
          responseKind: { group, version, kind: 'Self' },
          scope: 'Cluster',
          singularResource: 'self',
          verbs: ['create'],
        },
        {
          resource: 'projects',
          responseKind: { group, version, kind: 'Project' },
          scope: 'Cluster',
          singularResource: 'project',
          verbs: ['get', 'list'],
          subresources: [
            {
              subresource: 'clusters',
              responseKind: { group, version, kind: 'ProjectClusters' },
              verbs: ['get'],
            },
          ],
        },
      ]);
    },
  );

  it.each([{ kind: 'APIGroupList', groups: [{ name: group }] }, { kind: 'Status' }, {}])(
    'of %j stay as they are',
    (list) => {
      expect(addToGroups(list)).toEqual(list);
    },
  );

  it('by group are listed with what the API server has', () => {
    const { resources } = addToResourceList({ resources: [{ name: 'ownedaccesskeys' }] }) as {
      resources: { name: string }[];
    };
    expect(resources.map(({ name }) => name)).toEqual([
      'ownedaccesskeys',
      'selves',
      'virtualclusterinstances/kubeconfig',
      'projects',
      'projects/clusters',
    ]);
  });
});

describe('the index of OpenAPI', () => {
  it('gets another hash for the one document, and nothing else', () => {
    const other = { serverRelativeURL: '/openapi/v3/api/v1?hash=B' };
    const paths = {
      'api/v1': other,
      [groupVersion]: { serverRelativeURL: `/openapi/v3/${groupVersion}?hash=A` },
    };
    expect(addToOpenAPIIndex({ paths })).toEqual({
      paths: {
        'api/v1': other,
        [groupVersion]: { serverRelativeURL: `/openapi/v3/${groupVersion}?hash=${deriveHash('A')}` },
      },
    });
  });

  it.each([{}, { paths: {} }, { paths: { [groupVersion]: { serverRelativeURL: '/openapi/v3/x' } } }])(
    'without that document stays as it is: %j',
    (index) => {
      expect(addToOpenAPIIndex(index)).toEqual(index);
    },
  );

  it('has a hash that depends on that of the API server alone', () => {
    expect(deriveHash('A')).toMatch(/^[0-9A-F]{64}$/);
    expect(deriveHash('A')).toBe(deriveHash('A'));
    expect(deriveHash('A')).not.toBe(deriveHash('B'));
  });
});

it('the document of OpenAPI keeps its paths and schemas', () => {
  const document = { openapi: '3.0.0', paths: { '/a': {} }, components: { schemas: { b: {} } } };
  expect(addToOpenAPI(document)).toMatchObject({
    openapi: '3.0.0',
    paths: { '/a': {}, [`/${groupVersion}/selves`]: { post: { 'x-kubernetes-action': 'post' } } },
    components: { schemas: { b: {}, 'sh.platform.management.v1.Self': { type: 'object' } } },
  });
});
