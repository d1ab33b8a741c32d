import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../test/builders/credential-object.ts';
import { annotations } from '../api/names.ts';
import {
  identityOfRequester,
  invitationOf,
  isCreatedWith,
  isOwnedBy,
  mayNameAccessKey,
  parseRequester,
} from './requester.ts';

const stamped = (user: unknown, groups: unknown) =>
  parseRequester({ [annotations.requester]: user, [annotations.requesterGroups]: groups });

describe('parseRequester', () => {
  it.each([
    ['[]', []],
    ['["dev","ops"]', ['dev', 'ops']],
    ['["with \\"quotes\\" and \\\\"]', ['with "quotes" and \\']],
    ['["a,b","system:masters"]', ['a,b', 'system:masters']],
  ])('reads the groups %s', (text, groups) => {
    expect(stamped('alice', text)).toEqual({ user: 'alice', groups });
  });

  it.each([
    undefined,
    null,
    '',
    'dev',
    '{}',
    'null',
    '"dev"',
    '["dev"',
    '["dev",]',
    '["dev",7]',
    '[["dev"]]',
    '["dev"] x',
    7,
  ])('knows no one with the groups %j', (groups) => {
    expect(stamped('alice', groups)).toBeUndefined();
  });

  it.each([undefined, null, '', 7])('knows no one with the user %j', (user) => {
    expect(stamped(user, '[]')).toBeUndefined();
  });

  it('reads back any names that are written as JSON', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.array(fc.string()), (user, groups) => {
        expect(stamped(user, JSON.stringify(groups))).toEqual({ user, groups });
      }),
    );
  });
});

describe('identityOfRequester', () => {
  it('leaves reserved and unprintable groups out', () => {
    const groups = [
      'dev',
      'system:masters',
      'system:authenticated',
      'kubeadm:cluster-admins',
      'team:red',
      'ü',
      '',
      ' x',
      'dev',
    ];
    expect(identityOfRequester({ user: 'alice', groups })).toEqual({
      identity: { kind: 'requester', user: 'alice', groups: ['dev'] },
    });
  });

  it('keeps the group of a team that asks with its own key, and no other team', () => {
    expect(identityOfRequester({ user: 'team:red', groups: ['team:red', 'team:blue', 'dev'] })).toEqual({
      identity: { kind: 'requester', user: 'team:red', groups: ['team:red', 'dev'] },
    });
  });

  it.each([
    'system:serviceaccount:argocd:controller',
    'system:admin',
    'kubeadm:x',
    'management.platform.sh:kubeconfig:1',
    'team:',
    'team:system:x',
    'älice',
    'alice ',
  ])('gives %j nothing and says how to go on', (user) => {
    expect(identityOfRequester({ user, groups: [] })).toEqual({
      refusal: {
        reason: 'RequesterNotAllowed',
        message: `${JSON.stringify(user)} cannot have a credential of its own; set spec.accessKey to the access key that this one belongs to`,
      },
    });
  });

  it('gives an unknown requester nothing', () => {
    expect(identityOfRequester(undefined)).toMatchObject({ refusal: { reason: 'RequesterUnknown' } });
  });
});

describe('isOwnedBy', () => {
  const annotationsOf = (requester: string) => ({
    [annotations.requester]: requester,
    [annotations.requesterGroups]: '[]',
  });
  const token = 'DirectClusterEndpointToken';

  it.each<[string, string, object, boolean]>([
    ['its user', 'alice', { spec: { user: 'alice' } }, true],
    ['its creator', 'maker', { spec: { user: 'alice' } }, true],
    ['a stranger', 'mallory', { spec: { user: 'alice' } }, false],
    ['the user of its subject', 'robot', { spec: { subject: 'robot' } }, true],
    ['the user of its team', 'team:ops', { spec: { team: 'ops' } }, true],
    ['a user of the name of its team', 'ops', { spec: { team: 'ops' } }, false],
    ['its creator, below a key', 'maker', { spec: { accessKey: 'root' } }, true],
    ['the user of the key above it', 'alice', { spec: { accessKey: 'root' } }, false],
    ['the creator of a token', 'maker', { kind: token, spec: {} }, true],
    ['someone else, of a token', 'alice', { kind: token, spec: {} }, false],
  ])('%s: %s', (_, user, parts, expected) => {
    const record = recordOf(credentialObject({ ...parts, annotations: annotationsOf('maker') }));
    expect(isOwnedBy({ user, groups: [] }, record)).toBe(expected);
  });
});

describe('mayNameAccessKey', () => {
  const keyOf = (user: string, maker: string, spec = {}) =>
    recordOf(
      credentialObject({
        spec: { user, key: 'k'.repeat(20), ...spec },
        annotations: { [annotations.requester]: maker },
      }),
    );
  const by = (user: string) => ({ user, groups: [] });
  const argo = 'system:serviceaccount:argocd:controller';

  it.each([
    ['the user of the key', by('alice'), keyOf('alice', 'bob'), true],
    ['the maker of the key', by('bob'), keyOf('alice', 'bob'), true],
    ['a team, for its own key', by('team:red'), keyOf('', 'bob', { user: '', team: 'red' }), true],
    ['a stranger', by('mallory'), keyOf('alice', 'bob'), false],
    [
      'a member of the team, for the key of the team',
      by('red'),
      keyOf('', 'bob', { user: '', team: 'red' }),
      false,
    ],
    ['the GitOps controller that made the key', by(argo), keyOf('alice', argo), false],
    ['no one known', undefined, keyOf('alice', 'bob'), false],
    ['an empty name', by(''), keyOf('', '', { user: '' }), false],
  ])('answers for %s', (_, requester, parent, allowed) => {
    expect(mayNameAccessKey(requester, parent)).toBe(allowed);
  });

  it('compares with the inherited user when the key is a child itself', () => {
    const parent = keyOf('', 'bob', { user: '', accessKey: 'root' });
    expect(mayNameAccessKey(by('alice'), parent)).toBe(false);
    expect(mayNameAccessKey(by('alice'), parent, { parentUser: 'alice' })).toBe(true);
  });
});

describe('invitationOf', () => {
  const uid = '0b1c';
  const parentOf = (allowedNamespaces: readonly string[], pins?: readonly object[]) =>
    recordOf(
      credentialObject({
        spec: { user: 'alice', allowedNamespaces },
        status: pins === undefined ? {} : { allowedNamespaces: pins },
      }),
    );

  it.each([
    ['a namespace that is pinned', ['p-one'], [{ name: 'p-one', uid }], 'pinned'],
    ['one that did not exist when it was listed', ['p-one'], [{ name: 'p-one' }], 'none'],
    ['one that was taken out', [], [{ name: 'p-one', uid }], 'none'],
    ['one that is listed and not pinned yet', ['p-one'], undefined, 'pending'],
    ['another one', ['p-two'], [{ name: 'p-two', uid }], 'none'],
  ])('answers for %s', (_, listed, pins, kind) => {
    expect(invitationOf({ namespace: 'p-one' }, parentOf(listed, pins)).kind).toBe(kind);
  });

  it('invites nothing that has no namespace', () => {
    expect(invitationOf({}, parentOf(['p-one'], [{ name: 'p-one', uid }])).kind).toBe('none');
  });
});

describe('isCreatedWith', () => {
  const uid = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6';

  it.each([
    [`ci/${uid}`, true],
    [`ci.example.com/${uid}`, true],
    [`ci/${uid},other/${uid}`, false],
    [`ci,other/${uid}`, false],
    [`a/b/${uid}`, false],
    ['ci', false],
    ['ci/', false],
    [`/${uid}`, false],
  ])('answers for %s', (stamp, expected) => {
    expect(isCreatedWith(stamp)).toBe(expected);
  });
});
