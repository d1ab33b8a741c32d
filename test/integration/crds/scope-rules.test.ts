import { describe, expect, it } from 'vitest';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { crdWorld, verdict } from './world.ts';

const world = await crdWorld();

const needsResources =
  'Invalid value: resourceNames needs resources; name the resources that the names belong to, or remove resourceNames';
const badURL =
  "nonResourceURLs must begin with '/' and may hold '*' only as the complete last step, as in '/healthz/*'";
const badResource =
  "resources must hold '*', 'name', 'name/*', '*/sub' or 'name/sub'; a wildcard stands for a whole name";
const all = "resources overlap; '*' already matches everything, remove the other entries";
const allSub =
  "resources overlap; '*/*' already matches every subresource, remove the other entries with '/'";
const nameAll =
  "resources overlap; 'name/*' already matches every subresource of name, remove the other entries that begin with 'name/' or '*/'";
const allNamed =
  "resources overlap; '*/sub' already matches sub of every resource, remove the other entries that end in '/sub' or '/*'";

const of = (...resources: string[]): object => ({ resources: [{ group: 'apps', resources }] });
const url = (path: string): object => ({ nonResourceURLs: [path] });

const good: [string, object][] = [
  ['empty', {}],
  ['names and a group', { resources: [{ group: '', resources: ['pods'], resourceNames: ['a'] }] }],
  ['names of the rule', { resources: [{ group: 'apps' }], resourceNames: ['a'] }],
  ['an empty list of names', { resourceNames: [], resources: [{ resourceNames: [] }] }],
  ['everything', of('*')],
  ['a name with its subresources', of('pods', 'pods/*', 'deployments', 'deployments/scale')],
  ['a subresource of all', of('*/scale', 'pods', 'pods/log', '*/status')],
  ['all subresources', of('*/*', 'pods')],
  ['a subresource named like the end of another', of('pods/*', 'mypods/log')],
  ['twice the same without wildcard', of('pods', 'pods')],
  ['the same in two entries', { resources: [{ resources: ['*'] }, { resources: ['pods'] }] }],
  ['a path', url('/healthz')],
  ['the root', url('/')],
  ['a wildcard as the last step', url('/apis/apps/*')],
  ['a wildcard as the only step', url('/*')],
  ['a wildcard alone', url('*')],
  ['every target', { requestTargets: ['Management', 'Cluster', 'ProjectSpace', 'ProjectVirtualCluster'] }],
  ['a cluster', { cluster: 'c', verbs: ['get'], namespaces: ['', 'a'] }],
  ['virtual clusters', { virtualClusters: [{}, { name: '', namespace: 'a' }] }],
];

/** Title, rule, field within the rule (with the value where the API server repeats it), message. */
const bad: [string, object, string, string][] = [
  ['names without resources', { resourceNames: ['a'] }, 'resourceNames', needsResources],
  ['names with empty resources', { resourceNames: ['a'], resources: [] }, 'resourceNames', needsResources],
  [
    'names of a group alone',
    { resources: [{ group: 'apps', resourceNames: ['a'] }] },
    'resources[0].resourceNames',
    needsResources,
  ],
  ...overlapping('everything and a name', all, '*', 'pods'),
  ...overlapping('everything twice', all, '*', '*'),
  ...overlapping('all subresources and one', allSub, '*/*', 'pods/log'),
  ...overlapping('all subresources of a name and one', nameAll, 'pods', 'pods/log', 'pods/*'),
  ...overlapping('all subresources of a name twice', nameAll, 'pods/*', 'pods/*'),
  ...overlapping('a subresource of all and of one', allNamed, 'pods/log', '*/log'),
  [
    'all subresources of a name and one of all names',
    of('pods/*', '*/log'),
    'resources[0].resources',
    `Invalid value: ${nameAll}, {path}.resources[0].resources: Invalid value: ${allNamed}`,
  ],
  ...refused('resources[0].resources[0]', badResource, of, [
    'po*',
    '*s',
    'p*/log',
    'pods/l*',
    '',
    'a b',
    '/',
    'a/',
  ]),
  ...refused('nonResourceURLs[0]', badURL, url, ['/health*', '/a/*/b', '/**', 'healthz', '', '*/', '/a/x*']),
  [
    'an unknown target',
    { requestTargets: ['management'] },
    'requestTargets[0]',
    'Unsupported value: "management": supported values: "Management", "Cluster", "ProjectSpace", "ProjectVirtualCluster"',
  ],
];

function overlapping(title: string, message: string, ...entries: string[]): typeof bad {
  return [[title, of(...entries), 'resources[0].resources', `Invalid value: ${message}`]];
}

function refused(
  field: string,
  message: string,
  rule: (entry: string) => object,
  entries: string[],
): typeof bad {
  return entries.map((entry) => [
    `"${entry}" in ${field}`,
    rule(entry),
    field,
    `Invalid value: "${entry}": ${message}`,
  ]);
}

describe.each([
  ['scope.rules of an OwnedAccessKey', ownedAccessKeys, 'spec.scope.rules[0]'],
  ['scope.rules of a DirectClusterEndpointToken', directClusterEndpointTokens, 'spec.scope.rules[0]'],
  ['rules of a DirectClusterEndpointToken', directClusterEndpointTokens, 'spec.rules[0]'],
] as const)('a rule in %s', async (_, resource, path) => {
  const judge = (rule: object): Promise<string> => {
    const rules = path.startsWith('spec.scope') ? { scope: { rules: [rule] } } : { rules: [rule] };
    return verdict(world.admin, resource, resource === ownedAccessKeys ? { user: 'a', ...rules } : rules);
  };

  it.each(good)('may hold %s', async (_title, rule) => {
    expect(await judge(rule)).toBe('accepted');
  });

  it.each(bad)('is refused with %s', async (_title, rule, field, message) => {
    expect(await judge(rule)).toBe(`${path}.${field}: ${message.replace('{path}', path)}`);
  });
});

describe.each([ownedAccessKeys, directClusterEndpointTokens])('the scope of a $kind', (resource) => {
  it('takes every field, and the older name of allowPlatformCli', async () => {
    const scope = {
      roles: [{ role: 'platform-cli', projects: ['p'], virtualClusters: ['v'] }, {}],
      projects: [{ project: '*' }],
      spaces: [{ project: 'p', space: '*' }],
      virtualClusters: [{ project: 'p', virtualCluster: '*' }],
      clusters: [{ cluster: '*' }],
      rules: [],
      allowLoftCli: true,
    };
    const identity = resource === ownedAccessKeys ? { user: 'a' } : {};
    expect(await verdict(world.admin, resource, { ...identity, scope })).toBe('accepted');
  });
});
