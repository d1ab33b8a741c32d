import { describe, expect, it } from 'vitest';
import type { CredentialKind } from '../../api/credential-kinds.ts';
import { scopeSummary } from './scope-summary.ts';

const kind: CredentialKind = 'OwnedAccessKey';
const said = (scope: object | undefined, rest: object = {}, audiences?: readonly string[]) =>
  scopeSummary({ kind, allowPlatformCli: false, scope, ...rest }, audiences);

describe('scopeSummary', () => {
  it.each([
    [
      'names of clusters and virtual clusters',
      {
        clusters: [{ cluster: 'staging' }],
        virtualClusters: [{ project: 'demo', virtualCluster: 'shop' }],
      },
      'shop, staging',
    ],
    ['a project as all that is in it', { projects: [{ project: 'demo' }] }, 'demo/*'],
    ['all spaces of a project', { spaces: [{ project: 'demo', space: '*' }] }, 'demo/*'],
    [
      'every cluster and project',
      { clusters: [{ cluster: '*' }], projects: [{ project: '*' }] },
      '(all projects), (all clusters)',
    ],
    ['the platform by its role', { roles: [{ role: 'platform-user' }] }, 'platform-user'],
    ['a role by its name', { roles: [{ role: 'platform-cli' }] }, 'platform-cli'],
    ['rules as what they are', { rules: [{ verbs: ['get'] }, { verbs: ['list'] }] }, '(rules)'],
    ['an empty scope', {}, '(nothing)'],
    [
      'what cannot be read',
      { clusters: [{ cluster: 'No Name' }, 'a'], roles: [{ role: 'king' }] },
      '(nothing)',
    ],
  ])('says in a few words: %s', (_, scope, expected) => {
    expect(said(scope)).toBe(expected);
  });

  it('says that nothing limits a credential, or only what is above it', () => {
    expect(said(undefined)).toBe('(everything)');
    expect(said(undefined, { accessKey: 'root' })).toBe('(as root)');
    expect(said(undefined, { accessKey: 'root', rules: [{ verbs: ['get'] }] })).toBe('(rules)');
  });

  it('says of a token below a key which clusters take it', () => {
    const audiences = ['https://latchkey.example.com/cluster/a', 'https://latchkey.example.com/cluster/b'];
    expect(said(undefined, { accessKey: 'root' }, audiences)).toBe('a, b');
    expect(said(undefined, { accessKey: 'root' }, ['https://latchkey.example.com'])).toBe('(as root)');
  });

  it.each([
    ['/cluster/a/scoped', 'a'],
    ['/cluster/scoped', 'scoped'],
    ['/cluster/scoped/scoped', 'scoped'],
    ['/cluster/cluster/scoped', 'cluster'],
  ])('says the same of a narrow one for a cluster that enforces scopes: %s', (audience, expected) => {
    const audiences = [`https://latchkey.example.com${audience}`];
    expect(said(undefined, { accessKey: 'root' }, audiences)).toBe(expected);
  });

  it('stays within the length of the field, and says how many are left out', () => {
    const clusters = Array.from({ length: 128 }, (_, index) => ({ cluster: `${'c'.repeat(250)}${index}` }));
    expect(said({ clusters })).toBe(`${'c'.repeat(41)}..., +127`);
    const short = Array.from({ length: 128 }, (_, index) => ({ cluster: `cluster-${100 + index}` }));
    expect(said({ clusters: short })).toBe('cluster-100, cluster-101, cluster-102, +125');
    expect(said({ clusters: [...clusters, ...short] }).length).toBeLessThanOrEqual(64);
    expect(said(undefined, { accessKey: 'a'.repeat(253) }).length).toBeLessThanOrEqual(64);
  });
});
