import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Impersonation, impersonationHeaders } from './impersonation.ts';

const reader = { serviceAccount: { namespace: 'latchkey-system', name: 'latchkey-reader' } };

describe('impersonationHeaders', () => {
  it.each<[string, Impersonation, string[]]>([
    ['a user', { user: 'alice', groups: [] }, ['impersonate-user', 'alice']],
    [
      'groups, a header each',
      { user: 'alice', groups: ['dev', 'ops', 'system:authenticated'] },
      [
        ...['impersonate-user', 'alice'],
        ...[
          'impersonate-group',
          'dev',
          'impersonate-group',
          'ops',
          'impersonate-group',
          'system:authenticated',
        ],
      ],
    ],
    [
      'extras, with their keys encoded and a header for each value',
      {
        user: 'a',
        groups: [],
        extra: { 'management.platform.sh/access-key': ['ci/1', 'ci/2'], '(x)': ['y'] },
      },
      [
        ...['impersonate-user', 'a'],
        ...['impersonate-extra-management.platform.sh%2Faccess-key', 'ci/1'],
        ...['impersonate-extra-management.platform.sh%2Faccess-key', 'ci/2'],
        ...['impersonate-extra-%28x%29', 'y'],
      ],
    ],
    [
      'a ServiceAccount by its full name',
      reader,
      ['impersonate-user', 'system:serviceaccount:latchkey-system:latchkey-reader'],
    ],
  ])('are those of %s', (_, who, headers) => {
    expect(impersonationHeaders(who)).toEqual(headers);
  });

  it.each<[string, Impersonation]>([
    ['an empty user, which would be the process itself', { user: '', groups: ['dev'] }],
    ['a user of the control plane', { user: 'system:kube-controller-manager', groups: [] }],
    [
      'a ServiceAccount that is given as a user',
      { user: 'system:serviceaccount:latchkey-system:latchkey-reader', groups: [] },
    ],
    ['the group of all rights', { user: 'alice', groups: ['system:masters'] }],
    ['the group that kubeadm gives all rights', { user: 'alice', groups: ['kubeadm:cluster-admins'] }],
    ['an empty group', { user: 'alice', groups: [''] }],
    ['a line break', { user: 'alice\r\nimpersonate-user: bob', groups: [] }],
    ['a control character', { user: 'alice\u0000', groups: [] }],
    ['letters that a header would change', { user: 'jos\u00e9', groups: [] }],
    ['letters that no header holds', { user: 'alice', groups: ['\u5f00\u53d1'] }],
    ['a space at the end, which would be lost', { user: 'alice ', groups: [] }],
    ['an extra without a key', { user: 'alice', groups: [], extra: { '': ['x'] } }],
    ['a key that would lose its capitals', { user: 'alice', groups: [], extra: { Scopes: ['x'] } }],
    ['a line break in a key', { user: 'alice', groups: [], extra: { 'a\nb': ['x'] } }],
    ['a line break in a value', { user: 'alice', groups: [], extra: { a: ['x\ny'] } }],
    ['an account with a colon in its name', { serviceAccount: { namespace: 'a:b', name: 'c' } }],
    ['an account without a name', { serviceAccount: { namespace: 'a', name: '' } }],
  ])('refuse %s', (_, who) => {
    expect(() => impersonationHeaders(who)).toThrow(TypeError);
  });

  it('hold exactly one user, which is not empty and not of the control plane, or there are none', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('system:masters', 'system:admin', '', 'a', ' a'));
    const who = fc.record({
      user: text,
      groups: fc.array(text),
      extra: fc.dictionary(fc.string(), fc.array(fc.string(), { maxLength: 3 }), { noNullPrototype: true }),
    });
    fc.assert(
      fc.property(who, (one) => {
        let headers: readonly string[];
        try {
          headers = impersonationHeaders(one);
        } catch (error) {
          return error instanceof TypeError;
        }
        const names = headers.filter((_, index) => index % 2 === 0);
        const users = headers.filter(
          (_, index) => headers[index - 1] === 'impersonate-user' && index % 2 === 1,
        );
        return (
          names.every((name) => /^impersonate-(user|group|extra-[!-'*-9;-~]+)$/.test(name)) &&
          headers.every((header) => /^[\x20-\x7e]*$/.test(header)) &&
          users.length === 1 &&
          users.every((user) => user !== '' && !user.startsWith('system:'))
        );
      }),
    );
  });
});
