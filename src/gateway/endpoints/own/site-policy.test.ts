import { describe, expect, it } from 'vitest';
import { annotations } from '../../../api/names.ts';
import type { CredentialKind } from '../../../credentials/record.ts';
import { parseSitePolicy } from '../../../credentials/site-policy.ts';
import { Refusal } from '../shared/reply.ts';
import { refuseBySitePolicy } from './checks.ts';

const policy = parseSitePolicy({
  data: { maxKeyTTL: '3600', maxTokenTTL: '600', requireScope: 'others', acceptPlainKey: 'false' },
});
const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const objectOf = (spec: object, metadata: object = {}) => ({
  metadata: {
    annotations: { [annotations.requester]: 'alice', [annotations.requesterGroups]: '[]' },
    ...metadata,
  },
  spec,
});

function refusalOf(kind: CredentialKind, spec: object, stored?: object): unknown {
  try {
    refuseBySitePolicy(policy, { kind, object: objectOf(spec), ...(stored && { stored: objectOf(stored) }) });
    return undefined;
  } catch (error) {
    return error instanceof Refusal ? error.answer.code : error;
  }
}

const key = 'OwnedAccessKey';
const fine = { user: 'alice', ttl: 3600 };

describe('a credential that is to be stored', () => {
  it.each<[CredentialKind, object, string | undefined]>([
    [key, fine, undefined],
    [key, { ...fine, ttl: 3601 }, 'ERR_POLICY_LIFE'],
    [key, { user: 'alice' }, 'ERR_POLICY_LIFE'],
    [key, { user: 'bob', ttl: 60 }, 'ERR_POLICY_SCOPE_MISSING'],
    [key, { user: 'bob', ttl: 60, scope: {} }, undefined],
    // A sent key is stored as its hash.
    [key, { ...fine, key: 'x'.repeat(40) }, undefined],
    ['DirectClusterEndpointToken', {}, 'ERR_POLICY_LIFE'],
    ['DirectClusterEndpointToken', { ttl: 600 }, undefined],
    ['VirtualClusterInstanceKubeConfig', { certificateTTL: 0 }, undefined],
  ])('%s with %j: %s', (kind, spec, code) => {
    expect(refusalOf(kind, spec)).toBe(code);
  });

  it('reads which entry refuses it', () => {
    const problem = `spec.ttl: must be set, and at most 3600 seconds, by maxKeyTTL ${config}`;
    expect(() => refuseBySitePolicy(policy, { kind: key, object: objectOf({ user: 'alice' }) })).toThrow(
      expect.objectContaining({
        answer: expect.objectContaining({ body: expect.stringContaining(problem) }),
      }),
    );
  });
});

describe('a credential from before the rule', () => {
  it.each<[object, object, string | undefined]>([
    [{ user: 'alice' }, { description: 'old' }, undefined],
    [{ user: 'alice' }, { disabled: true }, undefined],
    [{ user: 'bob', ttl: 60 }, { displayName: 'old' }, undefined],
    [{ user: 'alice' }, { ttl: 7200 }, 'ERR_POLICY_LIFE'],
    [{ user: 'alice' }, { ttl: 60 }, undefined],
    [{ user: 'alice', ttl: 7200 }, { ttlAfterLastActivity: true }, 'ERR_POLICY_LIFE'],
    [{ user: 'bob', ttl: 60 }, { groups: ['dev'] }, 'ERR_POLICY_SCOPE_MISSING'],
    [{ user: 'alice', ttl: 7200 }, { scope: {} }, undefined],
  ])('%j that gets %j: %s', (stored, change, code) => {
    expect(refusalOf(key, { ...stored, ...change }, stored)).toBe(code);
  });

  it('loses its finalizers while it is being deleted, whatever it says', () => {
    const stored = objectOf({ user: 'alice' }, { deletionTimestamp: '2026-11-25T10:00:00Z' });
    expect(() =>
      refuseBySitePolicy(policy, { kind: key, object: objectOf({ user: 'alice', ttl: 7200 }), stored }),
    ).not.toThrow();
  });
});
