import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { identityOfSpec, isCleanName, reservedPrefixes } from './identity.ts';

const messageOf = (spec: Record<string, unknown>): string | undefined => {
  const result = identityOfSpec(spec);
  return result !== undefined && 'refusal' in result ? result.refusal.message : undefined;
};

describe('identityOfSpec', () => {
  it.each([
    [{ user: 'alice' }, { kind: 'user', user: 'alice', groups: [] }],
    [
      { user: 'alice@example.com', team: '', groups: ['dev'] },
      { kind: 'user', user: 'alice@example.com', groups: ['dev'] },
    ],
    [{ team: 'red' }, { kind: 'team', user: 'team:red', groups: ['team:red'] }],
    [
      { team: 'red', groups: ['dev'] },
      { kind: 'team', user: 'team:red', groups: ['team:red', 'dev'] },
    ],
    [
      { subject: 'robot 7', user: null },
      { kind: 'subject', user: 'robot 7', groups: [] },
    ],
  ])('reads %j', (spec, identity) => {
    expect(identityOfSpec(spec)).toEqual({ identity });
  });

  it.each([{}, { user: '', team: null, groups: [] }, { groups: null }])('finds no one in %j', (spec) => {
    expect(identityOfSpec(spec)).toBeUndefined();
  });

  it.each([
    [{ user: 'a', team: 'b' }, 'set exactly one of spec.user, spec.team and spec.subject'],
    [
      { user: 'system:admin' },
      'spec.user must not begin with "system:", which is reserved; choose another name',
    ],
    [
      { team: 'kubeadm:x' },
      'spec.team must not begin with "kubeadm:", which is reserved; choose another name',
    ],
    [
      { subject: 'team:red' },
      'spec.subject must not begin with "team:", which is reserved; choose another name',
    ],
    [
      { user: 'management.platform.sh:users' },
      'spec.user must not begin with "management.platform.sh:", which is reserved; choose another name',
    ],
    [{ user: ' alice' }, 'spec.user must be printable ASCII without a space at either end'],
    [{ user: 'alice\n' }, 'spec.user must be printable ASCII without a space at either end'],
    [{ user: 'älice' }, 'spec.user must be printable ASCII without a space at either end'],
    [{ user: 7 }, 'spec.user must be a string'],
    [{ user: ['alice'] }, 'spec.user must be a string'],
    [
      { groups: ['dev'] },
      'spec.groups needs spec.user, spec.team or spec.subject; with spec.accessKey the groups come from that key',
    ],
    [{ user: 'a', groups: 'dev' }, 'spec.groups must be a list of group names'],
    [{ user: 'a', groups: ['dev', ''] }, 'spec.groups[1] must not be empty'],
    [{ user: 'a', groups: ['dev', null] }, 'spec.groups[1] must be a string'],
    [
      { user: 'a', groups: ['system:masters'] },
      'spec.groups[0] must not begin with "system:", which is reserved; choose another name',
    ],
    [{ user: 'a', groups: Array(17).fill('g') }, 'spec.groups holds 17 groups; at most 16 are allowed'],
  ])('refuses %j with the field and the fix', (spec, message) => {
    expect(messageOf(spec)).toBe(message);
  });

  it('bears 16 groups', () => {
    expect(identityOfSpec({ user: 'a', groups: Array(16).fill('g') })).toHaveProperty('identity');
  });

  it('never lets a reserved or unprintable name through, whatever stands in the spec', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...reservedPrefixes).map((prefix) => `${prefix}x`),
      fc.jsonValue(),
    );
    const spec = fc.record(
      { user: name, team: name, subject: name, groups: fc.oneof(fc.array(name), name) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(spec, (value) => {
        const result = identityOfSpec(value);
        if (result === undefined || 'refusal' in result) return true;
        const { kind, user, groups } = result.identity;
        const names = kind === 'team' ? [user.slice('team:'.length), ...groups.slice(1)] : [user, ...groups];
        return names.every(
          (text) => isCleanName(text) && !reservedPrefixes.some((prefix) => text.startsWith(prefix)),
        );
      }),
    );
  });
});
