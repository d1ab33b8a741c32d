import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  credentialObject,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { annotations } from '../../api/names.ts';
import type { CredentialKind, CredentialRecord } from '../../credentials/record.ts';
import { resolveIdentity } from '../../credentials/resolve-identity.ts';
import { type Naming, reviewOf } from './review.ts';

const unasked: Naming = { invitation: { kind: 'none' }, mayName: true };
const invitation = { kind: 'pinned', namespace: 'shop', uid: '0b1c' } as const;
const token: CredentialKind = 'DirectClusterEndpointToken';
const by = (user: string, groups: readonly string[] = []) => ({
  [annotations.changedBy]: user,
  [annotations.changedByGroups]: JSON.stringify(groups),
});
const secretRef = { namespace: 'shop', name: 'out' };
const onSecret = ['get', 'create', 'update'].map((verb) => `${verb} secrets/out in shop`);

function questions(
  parts: CredentialParts,
  parent?: CredentialParts,
  naming: Naming = unasked,
): readonly string[] {
  const record = recordOf(credentialObject(parts));
  const ancestors = parent === undefined ? [] : [recordOf(credentialObject({ name: 'above', ...parent }))];
  return told(record, ancestors, naming);
}

function told(
  record: CredentialRecord,
  ancestors: readonly CredentialRecord[] = [],
  naming: Naming = unasked,
) {
  const result = resolveIdentity(record, ancestors);
  if ('refusal' in result) throw new Error(result.refusal.message);
  const review = reviewOf(record, result.identity, naming);
  return (review?.questions ?? []).map(
    ({ verb, resource, name, namespace }) =>
      `${verb} ${resource}/${name}${namespace === undefined ? '' : ` in ${namespace}`}`,
  );
}

// The builder's objects were made by alice, who is in the group dev.
describe('what is asked about the one who asked', () => {
  it.each<[string, CredentialParts, readonly string[]]>([
    ['a key for oneself', { spec: { user: 'alice' } }, []],
    ['a group that they are in', { spec: { user: 'alice', groups: ['dev'] } }, []],
    [
      'a group that they are not in',
      { spec: { user: 'alice', groups: ['dev', 'ops'] } },
      ['impersonate groups/ops'],
    ],
    ['another user', { spec: { user: 'bob' } }, ['impersonate users/bob']],
    ['a team', { spec: { team: 'dev' } }, ['impersonate users/team:dev', 'impersonate groups/team:dev']],
    ['a subject of their own name', { spec: { subject: 'alice' } }, ['impersonate users/alice']],
    ['a Secret', { spec: { user: 'alice', secretRef } }, onSecret],
    ['a token of their own', { kind: token }, []],
    ['a token of their own, changed by themselves', { kind: token, annotations: by('alice') }, []],
    [
      'a key of another user, changed by its creator, who is in its group by now',
      { spec: { user: 'bob', groups: ['ops'] }, annotations: by('alice', ['ops']) },
      ['impersonate users/bob'],
    ],
    ['a key of another user, changed by that user', { spec: { user: 'bob' }, annotations: by('bob') }, []],
  ])('%s', (_, parts, expected) => {
    expect(questions(parts)).toEqual(expected);
  });

  it('a member of a team whose key is for that team is asked about', () => {
    const stamps = { [annotations.requester]: 'team:dev', [annotations.requesterGroups]: '["team:dev"]' };
    expect(questions({ spec: { team: 'dev' }, annotations: stamps })).toEqual([
      'impersonate users/team:dev',
      'impersonate groups/team:dev',
    ]);
  });

  it('a Secret of a kubeconfig is in the namespace of the kubeconfig', () => {
    const spec = { secretRef: { name: 'out' } };
    const metadata = { namespace: 'shop' };
    expect(questions({ kind: 'VirtualClusterInstanceKubeConfig', spec, metadata })).toEqual(onSecret);
  });
});

describe('what is asked about the one who names a parent', () => {
  const child = { kind: token, spec: { accessKey: 'above' } };
  it.each<[string, CredentialParts, readonly string[]]>([
    ['that speaks for themselves', { spec: { user: 'alice', groups: ['dev'] } }, []],
    [
      'with a group that they are not in',
      { spec: { user: 'alice', groups: ['ops'] } },
      ['impersonate groups/ops'],
    ],
    ['that speaks for another user', { spec: { user: 'bob' } }, ['impersonate users/bob']],
    ['that speaks for a subject of their name', { spec: { subject: 'alice' } }, []],
    ['of a team', { spec: { team: 'dev' } }, ['impersonate users/team:dev', 'impersonate groups/team:dev']],
  ])('a parent %s', (_, parent, expected) => {
    expect(questions(child, parent)).toEqual(expected);
  });

  it('a request with the key of a team may name that key', () => {
    const stamps = { [annotations.requester]: 'team:dev', [annotations.requesterGroups]: '["team:dev"]' };
    expect(questions({ ...child, annotations: stamps }, { spec: { team: 'dev' } })).toEqual([]);
  });

  it.each([
    ['who may not name it otherwise', false, {}],
    [
      'who may, and is asked about it where the namespace is another',
      true,
      { otherwise: [{ group: '', verb: 'impersonate', resource: 'users', name: 'bob' }] },
    ],
  ])('a parent that invites the namespace takes the same namespace, of one %s', (_, mayName, otherwise) => {
    const record = recordOf(credentialObject(child));
    const identity = { kind: 'user', user: 'bob', groups: [] } as const;
    expect(reviewOf(record, identity, { invitation, mayName })).toEqual({
      asker: { user: 'alice', groups: ['dev'] },
      questions: [],
      invitation: { namespace: 'shop', uid: '0b1c', ...otherwise },
    });
  });
});

describe('what is confirmed', () => {
  const object = confirmed(credentialObject({ spec: { user: 'bob' } }));

  it('is not asked about again', () => {
    expect(told(recordOf(object))).toEqual([]);
  });

  it('is not asked about when only the version of the fingerprint is new', () => {
    const record = recordOf(object);
    expect(told({ ...record, fingerprints: ['v2:new', ...record.fingerprints] })).toEqual([]);
  });

  it('is asked about when its spec has changed', () => {
    expect(told({ ...recordOf(object), fingerprints: ['v1:another'] })).toEqual(['impersonate users/bob']);
  });
});

describe('what is asked about groups that a key got after its child was confirmed', () => {
  const groups = ['dev', 'ops', 'admins'];
  const identity = { kind: 'user', user: 'bob', groups } as const;
  const child = (confirmedGroups?: readonly string[]) =>
    recordOf(
      confirmed(credentialObject({ kind: token, spec: { accessKey: 'above' }, status: { confirmedGroups } })),
    );
  const impersonate = (name: string) => ({ group: '', verb: 'impersonate', resource: 'groups', name });
  const asker = { user: 'alice', groups: ['dev'] };

  it('are those groups, except for what the one who asked is in', () => {
    expect(reviewOf(child(['ops']), identity, unasked)).toEqual({
      asker,
      questions: [impersonate('admins')],
      ofNewGroups: true,
    });
  });

  it.each([
    ['there are none', groups],
    ['the one who asked is in them', ['ops', 'admins']],
    ['a release confirmed it that did not ask', undefined],
  ])('is nothing when %s', (_, confirmedGroups) => {
    expect(reviewOf(child(confirmedGroups), identity, unasked)).toBeUndefined();
  });

  it('is the namespace alone where the key invites it', () => {
    expect(reviewOf(child([]), identity, { invitation, mayName: false })).toEqual({
      asker,
      questions: [],
      invitation: { namespace: 'shop', uid: '0b1c' },
      ofNewGroups: true,
    });
  });
});
