import { describe, expect, it } from 'vitest';
import { type CredentialParts, liveRecord, uidOf } from '../../../test/builders/credential-object.ts';
import type { Identity } from '../../credentials/identity.ts';
import { selfStatus } from './selves.ts';

const alice: Identity = { kind: 'user', user: 'alice', groups: ['dev'] };
const projects = { projects: [{ project: 'red' }] };
const clusters = { clusters: [{ cluster: 'staging' }] };

interface Case {
  readonly parts?: CredentialParts;
  readonly parents?: readonly CredentialParts[];
  readonly identity?: Identity;
  readonly end?: number;
}

function statusOf({ parts = {}, parents = [], identity = alice, end = Number.POSITIVE_INFINITY }: Case) {
  const ancestors = parents.map((parent) => liveRecord(parent));
  const verdict = { record: liveRecord(parts, ancestors), ancestors, identity, end };
  return selfStatus(verdict, 'p-');
}

describe('a Self', () => {
  it('of a key without a scope and without an end says who it speaks for, and how it is called', () => {
    expect(statusOf({})).toEqual({
      user: { name: 'alice', username: 'alice', subject: 'alice' },
      subject: 'alice',
      groups: ['dev', 'system:authenticated'],
      accessKey: 'ci',
      credential: { kind: 'OwnedAccessKey', name: 'ci', uid: uidOf('ci') },
      scopes: [],
      projectNamespacePrefix: 'p-',
    });
  });

  it('says the type of the key, its own scope and those above it, and its end', () => {
    const spec = { user: 'alice', type: 'Login', key: 'example-plain-key-of-ci', scope: projects };
    const parents = [{ name: 'above', spec: { user: 'alice', key: 'example-plain-key', scope: clusters } }];
    const end = Date.UTC(2026, 11, 24, 18);
    expect(statusOf({ parts: { spec }, parents, end })).toMatchObject({
      accessKeyType: 'Login',
      accessKeyScope: projects,
      scopes: [
        { kind: 'OwnedAccessKey', name: 'ci', scope: projects },
        { kind: 'OwnedAccessKey', name: 'above', scope: clusters },
      ],
      expirationTimestamp: '2026-12-24T18:00:00Z',
    });
  });

  it('of a key without a scope below one with a scope names that scope as the one of the other', () => {
    const parents = [{ name: 'above', spec: { user: 'alice', key: 'example-plain-key', scope: clusters } }];
    const status = statusOf({ parents });
    expect(status).not.toHaveProperty('accessKeyScope');
    expect(status['scopes']).toEqual([{ kind: 'OwnedAccessKey', name: 'above', scope: clusters }]);
  });

  it('of a scope that allows nothing says so', () => {
    const spec = { user: 'alice', key: 'example-plain-key-of-ci', scope: {} };
    expect(statusOf({ parts: { spec } })).toMatchObject({ accessKeyScope: {}, scopes: [{ scope: {} }] });
  });

  it.each<[Identity, object, readonly string[]]>([
    [{ kind: 'team', user: 'team:core', groups: ['team:core'] }, { team: { name: 'core' } }, ['user']],
    [{ kind: 'subject', user: 'robot', groups: [] }, { subject: 'robot' }, ['user', 'team']],
    [{ kind: 'requester', user: 'bob', groups: [] }, { user: { name: 'bob' } }, ['team']],
  ])('of %j names it as what it is', (identity, names, absent) => {
    const status = statusOf({ identity });
    expect(status).toMatchObject({ ...names, subject: identity.user });
    for (const field of absent) expect(status).not.toHaveProperty(field);
  });

  it('of a token names the token and no access key', () => {
    const scope = { roles: [{ role: 'platform-cli' }] };
    const status = statusOf({ parts: { kind: 'DirectClusterEndpointToken', name: 't', spec: { scope } } });
    expect(status).toMatchObject({ credential: { kind: 'DirectClusterEndpointToken', name: 't' } });
    expect(status).not.toHaveProperty('accessKey');
  });

  it('of a kubeconfig says which virtual cluster it is good for', () => {
    const parts = {
      kind: 'VirtualClusterInstanceKubeConfig',
      name: 'mine',
      metadata: { namespace: 'p-red' },
      spec: { virtualClusterInstance: 'shop' },
    } as const;
    expect(statusOf({ parts })).toMatchObject({
      credential: { kind: 'VirtualClusterInstanceKubeConfig', namespace: 'p-red', name: 'mine' },
      scopes: [
        {
          kind: 'VirtualClusterInstanceKubeConfig',
          namespace: 'p-red',
          name: 'mine',
          scope: { virtualClusters: [{ project: 'red', virtualCluster: 'shop' }] },
        },
      ],
    });
  });
});
