import { describe, expect, it } from 'vitest';
import { type CredentialParts, credentialObject, recordOf } from '../../test/builders/credential-object.ts';
import { annotations } from '../api/names.ts';
import { resolveIdentity } from './resolve-identity.ts';

const record = (parts: CredentialParts) => recordOf(credentialObject(parts));
const root = record({ name: 'root', spec: { team: 'red', groups: ['dev'] } });
const middle = record({ name: 'middle', spec: { accessKey: 'root' } });
const ofRed = { kind: 'team', user: 'team:red', groups: ['team:red', 'dev'] };

describe('resolveIdentity', () => {
  it('is what an access key names', () => {
    expect(resolveIdentity(root, [])).toEqual({ identity: ofRed });
  });

  it('comes from the farthest ancestor', () => {
    const token = record({ kind: 'DirectClusterEndpointToken', spec: { accessKey: 'middle' } });
    expect(resolveIdentity(token, [middle, root])).toEqual({ identity: ofRed });
  });

  it('has of the groups of the parent those that were confirmed, at every level', () => {
    const status = { confirmedGroups: ['team:red'] };
    const narrowed = { ...ofRed, groups: ['team:red'] };
    const child = record({ name: 'middle', spec: { accessKey: 'root' }, status });
    expect(resolveIdentity(child, [root])).toEqual({ identity: narrowed });
    const token = record({ kind: 'DirectClusterEndpointToken', spec: { accessKey: 'middle' } });
    expect(resolveIdentity(token, [child, root])).toEqual({ identity: narrowed });
    const none = record({ spec: { accessKey: 'root' }, status: { confirmedGroups: [] } });
    expect(resolveIdentity(none, [root])).toEqual({ identity: { ...ofRed, groups: [] } });
  });

  it('is that of the requester for a token without an access key', () => {
    const token = record({ kind: 'DirectClusterEndpointToken', spec: {} });
    expect(resolveIdentity(token, [])).toEqual({
      identity: { kind: 'requester', user: 'alice', groups: ['dev'] },
    });
  });

  describe('of a token that was confirmed', () => {
    const confirmed = { fingerprint: 'v1:f', subject: 'alice', confirmedGroups: ['dev', 'ops'] };
    const token = (stamps: Record<string, string>, status: CredentialParts['status'] = confirmed) =>
      resolveIdentity(
        record({ kind: 'DirectClusterEndpointToken', spec: {}, annotations: stamps, status }),
        [],
      );
    const by = (user: string, groups: readonly string[] = ['dev']) => ({
      [annotations.requester]: user,
      [annotations.requesterGroups]: JSON.stringify(groups),
    });

    it('is refused when the stamps name another user since', () => {
      expect(token(by('root'))).toMatchObject({ refusal: { reason: 'RequesterUnknown' } });
      const long = 'x'.repeat(1_024);
      expect(token(by(`${long}y`), { ...confirmed, subject: long })).toHaveProperty('identity');
    });

    it('has no group that it was confirmed without, and loses what its requester has lost', () => {
      expect(token(by('alice', ['dev', 'admins']))).toMatchObject({ identity: { groups: ['dev'] } });
      expect(token(by('alice', []))).toMatchObject({ identity: { groups: [] } });
    });

    it('is that of the stamps where an earlier release confirmed it, and before the first confirmation', () => {
      expect(token(by('alice', ['admins']), { fingerprint: 'v1:f' })).toMatchObject({
        identity: { user: 'alice', groups: ['admins'] },
      });
      expect(token(by('bob'), { subject: 'alice' })).toMatchObject({ identity: { user: 'bob' } });
    });
  });

  it('may be repeated by a child', () => {
    expect(
      resolveIdentity(record({ spec: { accessKey: 'root', team: 'red', groups: ['dev'] } }), [root]),
    ).toEqual({ identity: ofRed });
    expect(resolveIdentity(record({ spec: { accessKey: 'root', team: 'red' } }), [root])).toEqual({
      identity: ofRed,
    });
  });

  it.each([
    ['another user', { accessKey: 'root', user: 'alice' }, [root]],
    ['another group', { accessKey: 'root', team: 'red', groups: ['admins'] }, [root]],
    ['an access key that is not found', { accessKey: 'root' }, []],
    ['an ancestor that names no one', { accessKey: 'middle' }, [record({ spec: {} })]],
    ['no one at all', {}, []],
    ['a reserved name', { user: 'system:admin' }, []],
  ])('is refused with %s', (_, spec, ancestors) => {
    expect(resolveIdentity(record({ spec }), ancestors)).toMatchObject({
      refusal: { reason: 'IdentityInvalid' },
    });
  });

  it('is refused for a GitOps controller without an access key', () => {
    const parts = {
      kind: 'DirectClusterEndpointToken',
      annotations: { [annotations.requester]: 'system:serviceaccount:argocd:c' },
    } as const;
    expect(resolveIdentity(record(parts), [])).toMatchObject({ refusal: { reason: 'RequesterNotAllowed' } });
  });

  it('never turns an unreadable access key into the requester', () => {
    const token = record({ kind: 'DirectClusterEndpointToken', spec: { accessKey: 7 } });
    expect(resolveIdentity(token, [])).toMatchObject({ refusal: { reason: 'AccessKeyNotFound' } });
  });
});
