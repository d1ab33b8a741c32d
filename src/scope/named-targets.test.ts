import { describe, expect, it } from 'vitest';
import { effectiveScope, type RawScope } from './effective-scope.ts';
import {
  namedTargets,
  namesNothing,
  namesOfCluster,
  namesOfProject,
  namesOfSpace,
  namesOfVirtualCluster,
} from './named-targets.ts';

/** A project with one space and one virtual cluster, an instance outside of any project, and a cluster. */
const there = new Set([
  ...namesOfProject('p-shop', 'shop'),
  ...namesOfSpace({ namespace: 'p-shop', name: 'web' }, 'p-'),
  ...namesOfVirtualCluster({ namespace: 'p-shop', name: 'dev' }, 'p-'),
  ...namesOfVirtualCluster({ namespace: 'elsewhere', name: 'stray' }, 'p-'),
  ...namesOfSpace({ namespace: 'p-gone', name: 'left' }, 'p-'),
  ...namesOfCluster('east'),
]);
const matchesNothing = (scope: RawScope, present: ReadonlySet<string> = there): boolean =>
  namesNothing(namedTargets(scope), (name) => present.has(name));

describe('a scope that matches nothing', () => {
  it.each<[string, RawScope]>([
    ['a project', { projects: [{ project: 'shpo' }] }],
    ['a space', { spaces: [{ project: 'shop', space: 'wbe' }] }],
    ['a space of another project', { spaces: [{ project: 'shpo', space: 'web' }] }],
    ['a space in a namespace that is no project', { spaces: [{ project: 'gone', space: 'left' }] }],
    ['all spaces of a project that is not there', { spaces: [{ project: 'shpo', space: '*' }] }],
    ['a virtual cluster', { virtualClusters: [{ project: 'shop', virtualCluster: 'prod' }] }],
    ['a cluster', { clusters: [{ cluster: 'west' }] }],
    ['several of them', { projects: [{ project: 'shpo' }], clusters: [{ cluster: 'west' }] }],
    ['a star in place of the project of a space', { spaces: [{ project: '*', space: 'web' }] }],
    ['a name that no object can have', { projects: [{ project: 'Shop' }] }],
    ['no name', { projects: [{}] }],
    ['a role in a project', { roles: [{ role: 'platform-cli', projects: ['shpo'] }] }],
    ['a role in virtual clusters', { roles: [{ role: 'platform-cli', virtualClusters: ['prod'] }] }],
    ['the role of the platform in a project', { roles: [{ role: 'platform-user', projects: ['shpo'] }] }],
    [
      'a role in a project and in a virtual cluster',
      { roles: [{ role: 'platform-cli', projects: ['shop'], virtualClusters: ['prod'] }] },
    ],
    ['a rule about a cluster', { rules: [{ cluster: 'west' }] }],
    ['a rule about a virtual cluster', { rules: [{ virtualClusters: [{ name: 'prod' }] }] }],
    ['a rule about a namespace', { rules: [{ virtualClusters: [{ namespace: 'p-shpo' }] }] }],
    [
      'a rule about an instance outside of a project',
      { rules: [{ virtualClusters: [{ name: 'stray', namespace: 'elsewhere' }] }] },
    ],
    [
      'a rule about a cluster and a virtual cluster at once',
      { rules: [{ cluster: 'east', virtualClusters: [{ name: 'dev' }] }] },
    ],
    [
      'a known role that allows nothing, besides',
      { roles: [{ role: 'runner' }], clusters: [{ cluster: 'west' }] },
    ],
  ])('names %s, and it is not there', (_, scope) => {
    expect(matchesNothing(scope)).toBe(true);
  });

  it.each<[string, RawScope]>([
    ['a project', { projects: [{ project: 'shop' }] }],
    ['any project', { projects: [{ project: '*' }] }],
    ['a space', { spaces: [{ project: 'shop', space: 'web' }] }],
    ['any space of a project', { spaces: [{ project: 'shop', space: '*' }] }],
    ['a virtual cluster', { virtualClusters: [{ project: 'shop', virtualCluster: 'dev' }] }],
    ['any virtual cluster', { virtualClusters: [{ project: 'shop', virtualCluster: '*' }] }],
    ['a cluster', { clusters: [{ cluster: 'east' }] }],
    ['any cluster', { clusters: [{ cluster: '*' }] }],
    [
      'one of several',
      { projects: [{ project: 'shpo' }, { project: 'shop' }], clusters: [{ cluster: 'west' }] },
    ],
    ['a role in one of its projects', { roles: [{ role: 'loft-cli', projects: ['shpo', 'shop'] }] }],
    ['a role in virtual clusters', { roles: [{ role: 'platform-cli', virtualClusters: ['dev'] }] }],
    ['a rule about a cluster', { rules: [{ cluster: 'east' }] }],
    ['a rule about a virtual cluster', { rules: [{ virtualClusters: [{ name: 'dev' }] }] }],
    ['a rule about any virtual cluster', { rules: [{ virtualClusters: [{}] }] }],
    ['a rule about a namespace', { rules: [{ virtualClusters: [{ namespace: 'p-shop' }] }] }],
  ])('is not one that names %s, which is there', (_, scope) => {
    expect(matchesNothing(scope)).toBe(false);
  });

  it.each<[string, RawScope]>([
    ['nothing at all', {}],
    ['a role of no bounds', { roles: [{ role: 'platform-cli' }] }],
    ['the role of the platform', { roles: [{ role: 'platform-user' }] }],
    ['a role that allows nothing', { roles: [{ role: 'runner', projects: ['shpo'] }] }],
    ['a rule that is about no target', { rules: [{ verbs: ['get'] }] }],
    [
      'a rule that is about no target, besides',
      { projects: [{ project: 'shpo' }], rules: [{ verbs: ['get'] }] },
    ],
    ['no list', { projects: 'shpo' }],
  ])('is not one with %s', (_, scope) => {
    expect(matchesNothing(scope, new Set())).toBe(false);
  });

  it.each<[string, RawScope]>([
    ['any project', { projects: [{ project: '*' }] }],
    ['any cluster', { clusters: [{ cluster: '*' }] }],
    ['any space', { spaces: [{ project: 'shop', space: '*' }] }],
    ['any virtual cluster', { rules: [{ virtualClusters: [{}] }] }],
  ])('names %s while there is none', (_, scope) => {
    expect(matchesNothing(scope, new Set())).toBe(true);
  });

  it('is judged with the deprecated fields in their place', () => {
    const scope = effectiveScope({ rules: [{ cluster: 'west' }] }) ?? {};
    expect(matchesNothing(scope)).toBe(true);
    const withRole = effectiveScope({ rules: [{ cluster: 'west' }], allowPlatformCli: true }) ?? {};
    expect(matchesNothing(withRole)).toBe(false);
  });
});
