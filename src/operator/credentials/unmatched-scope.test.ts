import { describe, expect, it } from 'vitest';
import { created, credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { findUnmatchedScope, scopeCondition, scopeNames } from './unmatched-scope.ts';

const keyFor = (scope?: object) => recordOf(credentialObject({ spec: { user: 'alice', scope } }));
const never = () => false;

describe('findUnmatchedScope', () => {
  it('finds nothing in a credential without a scope', () => {
    expect(findUnmatchedScope(keyFor(), never)).toBeUndefined();
  });

  it('finds nothing in a token for clusters, which take it themselves, and all else in it', () => {
    const token = (scope: object) =>
      recordOf(credentialObject({ kind: 'DirectClusterEndpointToken', spec: { scope } }));
    expect(findUnmatchedScope(token({ clusters: [{ cluster: 'production' }] }), never)).toBeUndefined();
    expect(findUnmatchedScope(token({ rules: [{ cluster: 'production' }] }), never)).toBeUndefined();
    expect(findUnmatchedScope(token({ projects: [{ project: 'a' }] }), never)).toBeDefined();
    expect(findUnmatchedScope(keyFor({ clusters: [{ cluster: 'production' }] }), never)).toBeDefined();
  });

  it('finds nothing once one of the names is there', () => {
    const record = keyFor({ projects: [{ project: 'a' }, { project: 'b' }] });
    expect(findUnmatchedScope(record, (name) => name === 'project/b')).toBeUndefined();
  });

  it('says which names are missing, the first three of them', () => {
    const projects = ['a', 'b', 'c', 'd'].map((project) => ({ project }));
    const unmatched = findUnmatchedScope(keyFor({ projects }), never);
    const { scopeMatchesNothing } = scopeCondition(unmatched, created + 10_000);
    expect(scopeMatchesNothing?.message).toBe(
      'Nothing that spec.scope names exists (there is no project a, no project b, no project c), so the scope allows next to nothing: correct the name, or create what it names.',
    );
  });

  it('names the virtual cluster when its project is there', () => {
    const record = keyFor({ virtualClusters: [{ project: 'a', virtualCluster: 'v' }] });
    const unmatched = findUnmatchedScope(record, (name) => name === 'project/a');
    expect(scopeCondition(unmatched, created + 10_000).scopeMatchesNothing?.message).toContain(
      '(there is no virtual cluster a/v)',
    );
  });

  it('says of the namespace of a project that it is none', () => {
    const unmatched = findUnmatchedScope(
      keyFor({ projects: [{ project: 'p-demo' }] }),
      (name) => name === 'namespace/p-demo',
    );
    expect(scopeCondition(unmatched, created + 10_000).scopeMatchesNothing?.message).toContain(
      '(there is no project p-demo, which is the namespace of one: leave out the prefix that it begins with)',
    );
  });

  it('repeats nothing of a scope that cannot be read', () => {
    const unmatched = findUnmatchedScope(keyFor({ projects: [{ project: 'Bad Name' }] }), never);
    const { scopeMatchesNothing } = scopeCondition(unmatched, created + 10_000);
    expect(scopeMatchesNothing?.message).toMatch(/^Nothing that spec\.scope names exists, so/);
  });

  it('says nothing in the first seconds, in which a project may follow its keys', () => {
    const unmatched = findUnmatchedScope(keyFor({ projects: [{ project: 'a' }] }), never);
    expect(scopeCondition(unmatched, created + 2_999)).toEqual({});
    expect(scopeCondition(unmatched, created + 3_000)).toHaveProperty('scopeMatchesNothing');
  });
});

describe('scopeNames', () => {
  it('are all that may decide, each once', () => {
    const scope = {
      spaces: ['s', 't'].map((space) => ({ project: 'a', space })),
      clusters: [{ cluster: '*' }],
    };
    expect(scopeNames(keyFor(scope))).toEqual(['project/a', 'space/a/s', 'space/a/t', 'cluster/*']);
  });

  it('are none where a rule is about every target', () => {
    expect(scopeNames(keyFor({ projects: [{ project: 'a' }], rules: [{}] }))).toEqual([]);
  });
});
