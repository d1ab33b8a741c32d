import { expect, it } from 'vitest';
import { projectsByName } from '../../../../test/builders/projects.ts';
import { compileScope } from '../../../scope/gate/compile-scope.ts';
import { unreachedEntry } from './warnings.ts';

/** Warns about this scope below keys with these. */
const below = (scope: object, ...above: readonly Record<string, unknown>[]): string | undefined =>
  unreachedEntry(scope, {
    gates: above.map((each) => compileScope(each, projectsByName)),
    gateOwners: above.map((_, index) => `OwnedAccessKey "${index}"`),
  });
const staging = { clusters: [{ cluster: 'staging' }] };
const shop = { virtualClusters: [{ project: 'demo', virtualCluster: 'shop' }] };
const space = { spaces: [{ project: 'demo', space: 'web' }] };

it.each<[string, object, Record<string, unknown>[], string]>([
  [
    'another cluster',
    { clusters: [{ cluster: 'staging' }, { cluster: 'production' }] },
    [staging],
    'clusters[1]',
  ],
  ['a virtual cluster below clusters', shop, [staging], 'virtualClusters[0]'],
  ['a space of another project', space, [{ projects: [{ project: 'other' }] }], 'spaces[0]'],
  ['a scope that allows nothing', staging, [{}], 'clusters[0]'],
])('an entry of a child is named that no scope above it reaches: %s', (_, scope, above, path) => {
  expect(below(scope, ...above)).toBe(
    `spec.scope.${path}: the scope of OwnedAccessKey "0" has no entry for it, so it allows nothing`,
  );
});

it('the scope above that has no entry for it is named', () => {
  expect(below(staging, { rules: [{}] }, shop)).toContain('the scope of OwnedAccessKey "1" has no entry');
});

it.each<[string, object, Record<string, unknown>[]]>([
  ['the same', staging, [staging]],
  ['one of all', staging, [{ clusters: [{ cluster: '*' }] }]],
  ['one of a project', shop, [{ projects: [{ project: 'demo' }] }]],
  ['one that a rule is about', space, [{ rules: [{ verbs: ['get'] }] }]],
  ['all, of which some are left', { clusters: [{ cluster: '*' }] }, [staging]],
  ['nothing above has a scope', staging, []],
  ['what cannot be read', { clusters: 'staging', spaces: [null], virtualClusters: [{}] }, [staging]],
])('nothing is said of %s', (_, scope, above) => {
  expect(below(scope, ...above)).toBeUndefined();
});
