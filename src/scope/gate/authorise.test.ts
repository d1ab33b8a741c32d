import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { projectsByName } from '../../../test/builders/projects.ts';
import type { RawScope } from '../effective-scope.ts';
import { apiPrefix } from '../request-path.ts';
import { type ResolvedRequest, resolveRequest } from '../requests/resolve-request.ts';
import { authorise } from './authorise.ts';
import { compileScope } from './compile-scope.ts';

function allows(scopes: readonly RawScope[], request: ResolvedRequest): boolean {
  const gates = scopes.map((scope) => compileScope(scope, projectsByName));
  return authorise({ gates, request, place: { namespace: 'default', isPlatform: true } }).allowed;
}

const targets = [
  'management',
  'cluster/eu',
  'cluster/us',
  'project/demo/space/shop',
  'project/demo/virtualcluster/shop',
  'project/other/virtualcluster/lab',
];
const groups = [
  'api/v1',
  'apis/apps/v1',
  'apis/management.platform.sh/v1',
  'apis/rbac.authorization.k8s.io/v1',
];
const namespaces = ['', 'namespaces/default/', 'namespaces/p-demo/', 'namespaces/latchkey-system/'];
const resources = [
  'pods',
  'secrets',
  'deployments',
  'virtualclusterinstances',
  'spaceinstances',
  'clusters',
  'nodes',
  'roles',
];
const endings = [
  '',
  '/web',
  '/web/exec',
  '/web/proxy/x',
  '/web/kubeconfig',
  '?watch=1',
  '?fieldSelector=metadata.name=web',
];
const urls = ['metrics', 'logs/a', 'api', 'version', 'api/v1/namespaces/default', ''];

const requests: fc.Arbitrary<ResolvedRequest> = fc
  .tuple(
    fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
    fc.constantFrom(...targets),
    fc.oneof(
      {
        weight: 5,
        arbitrary: fc
          .tuple(
            fc.constantFrom(...groups),
            fc.constantFrom(...namespaces),
            fc.constantFrom(...resources),
            fc.constantFrom(...endings),
          )
          .map(([group, namespace, resource, ending]) => `${group}/${namespace}${resource}${ending}`),
      },
      { weight: 1, arbitrary: fc.constantFrom(...urls) },
    ),
    fc.constantFrom('application/json-patch+json', 'application/apply-patch+yaml'),
  )
  .map(([method, target, path, contentType]) => {
    const request = resolveRequest({ method, target: `${apiPrefix}/${target}/${path}`, contentType });
    if ('problem' in request) throw new Error(`${path}: ${request.problem}`);
    return request;
  });

/** Mostly values that match something, and sometimes what no one expects. */
const oneOf = (...values: readonly string[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...values) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
  );
const listOf = (...values: readonly string[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.array(oneOf(...values), { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
  );
const optional = { requiredKeys: [] };

const objectNames = listOf('web', 'api');
const rules = fc.record(
  {
    verbs: listOf('get', 'list', 'watch', 'create', 'delete', '*'),
    resources: fc.array(
      fc.record(
        {
          group: oneOf('', 'apps', 'management.platform.sh'),
          resources: listOf(...resources, '*', 'pods/*', '*/proxy', 'pods/exec'),
          resourceNames: objectNames,
        },
        optional,
      ),
      { maxLength: 2 },
    ),
    resourceNames: objectNames,
    namespaces: listOf('', 'default', 'p-demo'),
    nonResourceURLs: listOf('*', '/metrics', '/logs/*'),
    requestTargets: listOf('Management', 'Cluster', 'ProjectSpace', 'ProjectVirtualCluster'),
    cluster: oneOf('', 'eu'),
    virtualClusters: fc.array(
      fc.record({ name: oneOf('', 'shop'), namespace: oneOf('', 'p-demo') }, optional),
      { maxLength: 2 },
    ),
  },
  optional,
);

const project = oneOf('demo', 'other', '*');
const entries = {
  projects: fc.record({ project }, optional),
  spaces: fc.record({ project, space: oneOf('shop', '*') }, optional),
  virtualClusters: fc.record({ project, virtualCluster: oneOf('shop', 'lab', '*') }, optional),
  clusters: fc.record({ cluster: oneOf('eu', 'us', '*') }, optional),
  roles: fc.record(
    {
      role: oneOf('platform-cli', 'network-peer', 'x'),
      projects: listOf('demo'),
      virtualClusters: listOf('web'),
    },
    optional,
  ),
  rules,
} as const;

type List = keyof typeof entries;

const lists = Object.keys(entries) as List[];
const scopes: fc.Arbitrary<RawScope> = fc.record(
  Object.fromEntries(
    lists.map((list) => [list, fc.array(entries[list] as fc.Arbitrary<unknown>, { maxLength: 3 })]),
  ),
  optional,
) as fc.Arbitrary<RawScope>;
const addition: fc.Arbitrary<readonly [List, unknown]> = fc.oneof(
  ...lists.map((list) => fc.tuple(fc.constant(list), entries[list] as fc.Arbitrary<unknown>)),
);

const runs = { numRuns: 3_000 };
const entriesOf = (scope: RawScope, list: string): readonly unknown[] =>
  (scope[list] ?? []) as readonly unknown[];

describe('authorise', () => {
  it('never denies more when an entry is added, and never allows more when one is taken away', () => {
    fc.assert(
      fc.property(scopes, addition, requests, (scope, [list, entry], request) => {
        const wider = { ...scope, [list]: [...entriesOf(scope, list), entry] };
        return !allows([scope], request) || allows([wider], request);
      }),
      runs,
    );
  });

  it('never allows more with one more ancestor, and whatever their order is', () => {
    fc.assert(
      fc.property(fc.array(scopes, { maxLength: 3 }), scopes, requests, (above, own, request) => {
        const together = allows([own, ...above], request);
        expect(together).toBe(above.every((scope) => allows([scope], request)) && allows([own], request));
        expect(allows([...above, own], request)).toBe(together);
      }),
      runs,
    );
  });

  it('never allows by a scope what is denied without one', () => {
    fc.assert(
      fc.property(scopes, requests, (scope, request) => !allows([scope], request) || allows([], request)),
      runs,
    );
  });

  const narrowing = [
    'verbs',
    'resources',
    'namespaces',
    'requestTargets',
    'cluster',
    'virtualClusters',
    'resourceNames',
  ] as const;
  it('never allows more resources when a field of a rule is set', () => {
    fc.assert(
      fc.property(rules, rules, fc.constantFrom(...narrowing), requests, (rule, other, field, request) => {
        const { [field]: _, ...wide } = rule as Record<string, unknown>;
        const narrow = { ...wide, [field]: (other as Record<string, unknown>)[field] };
        if (!request.isResourceRequest || isNamed(request)) return true;
        if ('nonResourceURLs' in wide && addsResources.has(field)) return true;
        if (field === 'resources' && hasNames(wide)) return !allows([{ rules: [wide] }], request);
        return isNoWider({ narrow, wide }, request);
      }),
      runs,
    );
  });

  it('allows nothing of a target by an entry with a field that is unknown', () => {
    fc.assert(
      fc.property(addition, requests, fc.string({ minLength: 1 }), ([list, entry], request, field) => {
        const known =
          /^(?:project|space|virtualCluster|cluster|role|verb|resource|namespace|nonResource|requestTarget)/;
        fc.pre(!known.test(field) && field !== '__proto__');
        const odd = { ...(entry as object), [field]: [] };
        expect(allows([{ [list]: [odd] }], request)).toBe(allows([{}], request));
      }),
      runs,
    );
  });

  it('allows nothing by a scope with a list that is unknown', () => {
    fc.assert(
      fc.property(scopes, requests, fc.jsonValue(), (scope, request, value) => {
        expect(allows([{ ...scope, exclusions: value }], request)).toBe(allows([{}], request));
      }),
      runs,
    );
  });

  it('reads any JSON without an error', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...lists), fc.jsonValue()), requests, (scope, request) => {
        allows([scope], request);
      }),
      runs,
    );
  });

  it('says which gate denies', () => {
    const request = resolveRequest({
      method: 'GET',
      target: `${apiPrefix}/cluster/eu/api/v1/pods`,
      contentType: undefined,
    });
    if ('problem' in request) throw new Error(request.problem);
    const open = compileScope({ clusters: [{ cluster: '*' }] }, projectsByName);
    const gates = [open, compileScope({}, projectsByName), open];
    expect(authorise({ gates, request, place: { isPlatform: true } })).toEqual({
      allowed: false,
      reason: 'Target',
      gate: 1,
    });
  });
});

describe('a namespace that is no project', () => {
  const read = (path: string): ResolvedRequest => {
    const target = apiPrefix + path;
    const request = resolveRequest({ method: 'GET', target, contentType: undefined });
    if ('problem' in request) throw new Error(request.problem);
    return request;
  };
  const inNamespace =
    '/management/apis/management.platform.sh/v1/namespaces/p-demo/virtualclusterinstances/web';

  it.each<[string, RawScope, string]>([
    ['projects', { projects: [{ project: 'demo' }] }, inNamespace],
    ['all projects', { projects: [{ project: '*' }] }, inNamespace],
    ['virtualClusters', { virtualClusters: [{ project: 'demo', virtualCluster: '*' }] }, inNamespace],
    ['spaces', { spaces: [{ project: 'demo', space: '*' }] }, inNamespace.replace('virtualcluster', 'space')],
    ['roles of a project', { roles: [{ role: 'platform-cli', projects: ['demo'] }] }, inNamespace],
    [
      'roles, of the namespace',
      { roles: [{ role: 'platform-cli' }] },
      '/management/api/v1/namespaces/p-demo',
    ],
    [
      'rules about virtual clusters',
      { rules: [{ virtualClusters: [{ namespace: 'p-demo' }] }] },
      '/project/demo/virtualcluster/web/api/v1/pods',
    ],
  ])('is nothing that an entry of %s is about, until it is one', (_, scope, path) => {
    const labelled = new Set<string>();
    const gate = compileScope(scope, (namespace) =>
      labelled.has(namespace) ? projectsByName(namespace) : undefined,
    );
    const isAllowed = () =>
      authorise({ gates: [gate], request: read(path), place: { isPlatform: true } }).allowed;
    expect(isAllowed()).toBe(false);
    labelled.add('p-demo');
    expect(isAllowed()).toBe(true);
  });
});

/** Tells requests that only a rule with names allows: a rule that names more may allow them. */
function isNamed({ resource, subresource, namespace, apiGroup }: ResolvedRequest): boolean {
  return (
    resource === 'secrets' ||
    subresource === 'proxy' ||
    namespace.startsWith('latchkey-') ||
    apiGroup.startsWith('rbac')
  );
}

/** They make a rule of URLs one of resources as well. */
const addsResources: ReadonlySet<string> = new Set(['resources', 'namespaces']);

/** Names are of the resources of a rule: without these it allows none. */
const hasNames = ({ resourceNames }: Record<string, unknown>): boolean =>
  Array.isArray(resourceNames) && resourceNames.length > 0;

const isNoWider = ({ narrow, wide }: Record<'narrow' | 'wide', unknown>, request: ResolvedRequest): boolean =>
  !allows([{ rules: [narrow] }], request) || allows([{ rules: [wide] }], request);
