import { describe, expect, it } from 'vitest';
import { type AuditEvent, auditEvents, usesOf } from './audit-uses.ts';
import { describePermission, type Permission, permissionsOf, type RBACObject } from './permissions.ts';
import { compareRoleWithUse, covers } from './role-use.ts';

const account = { kind: 'ServiceAccount', name: 'worker', namespace: 'work' };
const username = 'system:serviceaccount:work:worker';

const rolesOf = (rules: RBACObject['rules'], namespace?: string): RBACObject[] => {
  const prefix = namespace === undefined ? 'Cluster' : '';
  const metadata = { name: 'worker', ...(namespace === undefined ? {} : { namespace }) };
  return [
    { kind: `${prefix}Role`, metadata, rules: rules ?? null },
    {
      kind: `${prefix}RoleBinding`,
      metadata,
      roleRef: { kind: `${prefix}Role`, name: 'worker' },
      subjects: [account],
    },
  ];
};
const permission = (over: Partial<Permission> = {}): Permission => ({
  verb: 'get',
  group: '',
  resource: 'secrets',
  namespace: '*',
  name: '*',
  ...over,
});
const event = (over: Partial<AuditEvent> & { objectRef?: object } = {}): AuditEvent => ({
  stage: 'ResponseComplete',
  verb: 'get',
  user: { username },
  objectRef: { resource: 'secrets', namespace: 'ns', name: 'a' },
  ...over,
});

describe('permissionsOf', () => {
  it('makes one permission of each verb, resource, group and name', () => {
    const rules = [
      {
        apiGroups: ['', 'x'],
        resources: ['a', 'b/status'],
        resourceNames: ['n', 'm'],
        verbs: ['get', 'patch'],
      },
    ];
    const permissions = permissionsOf(rolesOf(rules), account);
    expect(permissions).toHaveLength(16);
    expect(permissions).toContainEqual({
      verb: 'patch',
      group: 'x',
      resource: 'b/status',
      namespace: '*',
      name: 'm',
    });
  });

  it('bounds a Role to its namespace', () => {
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
    expect(permissionsOf(rolesOf(rules, 'work'), account)).toEqual([permission({ namespace: 'work' })]);
  });

  it.each([
    ['another name', { ...account, name: 'other' }],
    ['another namespace', { ...account, namespace: 'other' }],
    ['another kind', { kind: 'User', name: 'worker' }],
  ])('gives nothing to a subject of %s', (_, subject) => {
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
    expect(permissionsOf(rolesOf(rules), subject)).toEqual([]);
  });

  it.each([
    ['group', { apiGroups: ['*'], resources: ['a'], verbs: ['get'] }],
    ['resource', { apiGroups: [''], resources: ['a/*'], verbs: ['get'] }],
    ['verb', { apiGroups: [''], resources: ['a'], verbs: ['*'] }],
  ])('refuses a wildcard as %s', (_, rule) => {
    expect(() => permissionsOf(rolesOf([rule]), account)).toThrow('wildcard');
  });

  it('refuses a binding of a role that is not there', () => {
    const [, binding] = rolesOf([]);
    expect(() => permissionsOf([binding as RBACObject], account)).toThrow('is not there');
  });

  it('allows nothing by a role without rules', () => {
    expect(permissionsOf(rolesOf(null), account)).toEqual([]);
  });
});

describe('usesOf', () => {
  it('names each use once, with its subresource', () => {
    const objectRef = { apiGroup: 'g', resource: 'keys', subresource: 'status', name: 'k' };
    expect(
      usesOf([event({ verb: 'patch', objectRef }), event({ verb: 'patch', objectRef })], username),
    ).toEqual([{ verb: 'patch', group: 'g', resource: 'keys/status', namespace: '', name: 'k' }]);
  });

  it('counts refused requests', () => {
    expect(usesOf([event({ responseStatus: { code: 403 } })], username)).toHaveLength(1);
  });

  it.each<[string, AuditEvent]>([
    ['others', event({ user: { username: 'alice' } })],
    ['the user when somebody else is impersonated', event({ impersonatedUser: { username: 'alice' } })],
    ['paths that are no resource', { stage: 'ResponseComplete', verb: 'get', user: { username } }],
    [
      'what everybody may ask',
      event({
        verb: 'create',
        objectRef: { apiGroup: 'authentication.k8s.io', resource: 'selfsubjectreviews' },
      }),
    ],
  ])('leaves out %s', (_, one) => {
    expect(usesOf([one], username)).toEqual([]);
  });

  it('reads a log whose last line is not whole yet', () => {
    const line = JSON.stringify(event());
    expect(auditEvents(`${line}\n${line}\n${line.slice(0, 20)}`)).toHaveLength(2);
    expect(auditEvents('')).toEqual([]);
  });
});

describe('covers', () => {
  const use = permission({ namespace: 'ns', name: 'a' });

  it.each<[string, Permission, Permission]>([
    ['any name in any namespace', permission(), use],
    ['any name in the namespace', permission({ namespace: 'ns' }), use],
    ['the name', permission({ name: 'a' }), use],
    ['a collection, without names', permission({ verb: 'list' }), permission({ verb: 'list', name: '' })],
  ])('%s', (_, allowed, asked) => {
    expect(covers(allowed, asked)).toBe(true);
  });

  it.each<[string, Permission, Permission]>([
    ['another verb', permission({ verb: 'list' }), use],
    ['another group', permission({ group: 'x' }), use],
    ['the resource of a subresource', permission(), { ...use, resource: 'secrets/status' }],
    ['a subresource of the resource', permission({ resource: 'secrets/status' }), use],
    ['another namespace', permission({ namespace: 'other' }), use],
    ['all namespaces by one of them', permission({ namespace: 'ns' }), { ...use, namespace: '' }],
    ['another name', permission({ name: 'b' }), use],
    ['a collection by a name', permission({ verb: 'list', name: 'a' }), { ...use, verb: 'list', name: '' }],
    ['a create by a name', permission({ verb: 'create', name: 'a' }), { ...use, verb: 'create' }],
  ])('not %s', (_, allowed, asked) => {
    expect(covers(allowed, asked)).toBe(false);
  });
});

describe('compareRoleWithUse', () => {
  it('finds nothing when role and use agree', () => {
    const allowed = [permission(), permission({ verb: 'list' })];
    const used = [
      permission({ namespace: 'ns', name: 'a' }),
      permission({ verb: 'list', namespace: '', name: '' }),
    ];
    expect(compareRoleWithUse(allowed, used)).toEqual({ unused: [], missing: [] });
  });

  it('names what was never used and what was not allowed', () => {
    const used = permission({ verb: 'patch', namespace: 'ns', name: 'a' });
    expect(compareRoleWithUse([permission()], [used])).toEqual({ unused: [permission()], missing: [used] });
  });
});

describe('describePermission', () => {
  it.each<[Permission, string]>([
    [permission(), 'get secrets'],
    [permission({ group: 'g', resource: 'keys/status', verb: 'patch' }), 'patch keys/status.g'],
    [permission({ namespace: 'ns', name: 'a' }), 'get secrets named a in ns'],
  ])('%j', (one, text) => {
    expect(describePermission(one)).toBe(text);
  });
});
