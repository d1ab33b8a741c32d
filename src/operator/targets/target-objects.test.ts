import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/json.ts';
import { uidOf } from '../../kube/object.ts';
import {
  compareToWanted,
  isOwnedBy,
  removalOrder,
  type TargetObject,
  wantedObjects,
} from './target-objects.ts';

const owner = { kind: 'VirtualClusterInstance', uid: 'u1' } as const;
const labels = {
  'management.platform.sh/owner-kind': 'VirtualClusterInstance',
  'management.platform.sh/owner-uid': 'u1',
};
const rules = [{ apiGroups: ['a.example.com'], resources: ['b'], verbs: ['c'] }];
const all = wantedObjects(owner, rules, 'view');
const [account, role, binding, users] = all as [TargetObject, TargetObject, TargetObject, TargetObject];
const stored = ({ manifest }: TargetObject, change: JsonObject = {}) => ({ ...manifest, ...change });

describe('wantedObjects', () => {
  it('makes an account, its role and its binding, and the binding of the users', () => {
    expect(all.map(({ manifest }) => manifest)).toEqual([
      {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'latchkey-impersonator', namespace: 'kube-system', labels },
        automountServiceAccountToken: false,
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'latchkey-impersonator', labels },
        rules,
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'latchkey-impersonator', labels },
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'latchkey-impersonator',
        },
        subjects: [{ kind: 'ServiceAccount', name: 'latchkey-impersonator', namespace: 'kube-system' }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'management.platform.sh:users', labels },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        subjects: [
          { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'management.platform.sh:users' },
        ],
      },
    ]);
  });

  it('binds no users without a role for them', () => {
    expect(wantedObjects(owner, rules).map(({ key }) => key.name)).not.toContain(
      'management.platform.sh:users',
    );
  });

  it('is taken away whole, rights first', () => {
    const places = (objects: readonly Pick<TargetObject, 'resource' | 'key'>[]) =>
      objects.map(({ resource, key }) => `${resource.plural} ${key.name}`);
    expect(places(removalOrder)).toEqual(places(all.toReversed()));
  });
});

describe('compareToWanted', () => {
  it.each(all.map((object) => [object.resource.plural, object] as const))(
    'finds %s intact, with what an API server adds',
    (_plural, object) => {
      const present = stored(object, { metadata: { uid: 'x', managedFields: [{}] }, secrets: [] });
      expect(compareToWanted(present, object)).toBe('intact');
    },
  );

  it.each([
    ['an account whose token is mounted', account, { automountServiceAccountToken: true }],
    ['an account that does not say', account, { automountServiceAccountToken: undefined }],
    ['a role with another rule', role, { rules: [...(role.exact['rules'] as []), { verbs: ['*'] }] }],
    ['a role without rules', role, { rules: null }],
    ['another subject', binding, { subjects: [...(binding.exact['subjects'] as []), { kind: 'User' }] }],
    ['no subjects', users, { subjects: undefined }],
  ])('finds it altered: %s', (_what, object, change) => {
    expect(compareToWanted(stored(object, change), object)).toBe('altered');
  });

  it.each([
    [
      'a binding to another role',
      users,
      { roleRef: { ...(users.fixed['roleRef'] as object), name: 'edit' } },
    ],
    ['a role that takes rules from others', role, { aggregationRule: { clusterRoleSelectors: [] } }],
  ])('finds it beyond repair: %s', (_what, object, change) => {
    expect(compareToWanted(stored(object, change), object)).toBe('unrepairable');
  });

  const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
  it.each([
    ['nothing', undefined],
    ['a text', 'x'],
    ['a list', []],
    ['metadata that is none', { metadata: 'x' }],
    ['thousands of brackets', { rules: deep, subjects: deep, roleRef: deep, metadata: { labels: deep } }],
  ])('takes %s for what it is: not the object', (_what, present) => {
    for (const object of all) expect(compareToWanted(present, object)).not.toBe('intact');
    expect(isOwnedBy(present, owner)).toBe(false);
    expect(uidOf(present)).toBeUndefined();
  });
});

describe('isOwnedBy', () => {
  it.each([
    [true, labels],
    [false, { ...labels, 'management.platform.sh/owner-uid': 'u2' }],
    [false, { ...labels, 'management.platform.sh/owner-kind': 'Cluster' }],
    [false, { 'management.platform.sh/owner-uid': 'u1' }],
    [false, undefined],
  ])('is %s for the labels %j', (expected, marks) => {
    expect(isOwnedBy({ metadata: { labels: marks } }, owner)).toBe(expected);
  });
});
