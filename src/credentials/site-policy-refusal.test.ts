import { describe, expect, it } from 'vitest';
import { annotations } from '../api/names.ts';
import { toLiveRecord } from './live-record.ts';
import type { CredentialKind } from './record.ts';
import { parseSitePolicy } from './site-policy.ts';
import { nothingKept, sitePolicyRefusal } from './site-policy-refusal.ts';

const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const keyLife = (seconds: number, entry: string): string =>
  `spec.ttl: must be set, and at most ${seconds} seconds, by ${entry} ${config}`;
const tokenLife = `spec.ttl (86400 when absent): must be at most 7200 seconds, by maxTokenTTL ${config}`;
const certificateLife = `spec.certificateTTL (86400 when absent): must not be 0, and at most 7200 seconds, by maxCertificateTTL ${config}`;
const noScope = `spec.scope: must be set, by requireScope ${config}`;
const noScopeForOther = `spec.scope: must be set on a key for another user, by requireScope ${config}; who makes one also needs the verb impersonate on that user`;

const everything = {
  maxKeyTTL: '86400',
  'maxKeyTTL.Login': '3600',
  'maxKeyTTL.User': '43200',
  maxTokenTTL: '7200',
  maxCertificateTTL: '7200',
  requireEnd: 'true',
  requireScope: 'all',
};

const keys = 'OwnedAccessKey';
const tokens = 'DirectClusterEndpointToken';
const kubeConfigs = 'VirtualClusterInstanceKubeConfig';
const fine: Readonly<Record<CredentialKind, object>> = {
  [keys]: { user: 'alice', ttl: 3600, scope: {} },
  [tokens]: { ttl: 3600, scope: {} },
  [kubeConfigs]: { certificateTTL: 3600 },
};

/** A credential that root asked for; `undefined` takes a field out. */
function recordOf(kind: CredentialKind, spec: object) {
  const requester = { [annotations.requester]: 'root', [annotations.requesterGroups]: '[]' };
  const object = { metadata: { name: 'a', annotations: requester }, spec: { ...fine[kind], ...spec } };
  return toLiveRecord(JSON.parse(JSON.stringify(object)), kind);
}

const problemOf = (data: object, kind: CredentialKind, spec: object): string | undefined =>
  sitePolicyRefusal(parseSitePolicy({ data }), recordOf(kind, spec), nothingKept)?.problem;

describe('a site that asks for everything', () => {
  it.each<[string, CredentialKind, object, string]>([
    ['no key for longer', keys, { ttl: 86_401 }, keyLife(86_400, 'maxKeyTTL')],
    ['no key without a ttl', keys, { ttl: undefined }, keyLife(86_400, 'maxKeyTTL')],
    ['no key with ttl 0', keys, { ttl: 0 }, keyLife(86_400, 'maxKeyTTL')],
    ['no key whose ttl cannot be read', keys, { ttl: 'x' }, keyLife(86_400, 'maxKeyTTL')],
    ['no key for a hundred years', keys, { ttl: 3_153_600_000 }, keyLife(86_400, 'maxKeyTTL')],
    ['no session for longer', keys, { type: 'Login', ttl: 3601 }, keyLife(3600, 'maxKeyTTL.Login')],
    ['no key of users for longer', keys, { type: 'User', ttl: 43_201 }, keyLife(43_200, 'maxKeyTTL.User')],
    [
      'no key of a type without a limit of its own for longer',
      keys,
      { type: 'Other', ttl: 86_401 },
      keyLife(86_400, 'maxKeyTTL'),
    ],
    [
      'no idle key for longer',
      keys,
      { ttl: 86_401, ttlAfterLastActivity: true },
      keyLife(86_400, 'maxKeyTTL'),
    ],
    [
      'no key below another without an end of its own',
      keys,
      { user: undefined, accessKey: 'parent', ttl: undefined },
      keyLife(86_400, 'maxKeyTTL'),
    ],
    [
      'no key for longer that is disabled for now',
      keys,
      { ttl: 86_401, disabled: true },
      keyLife(86_400, 'maxKeyTTL'),
    ],
    ['no token for longer', tokens, { ttl: 7201 }, tokenLife],
    ['no token of the default life', tokens, { ttl: undefined }, tokenLife],
    ['no token with ttl 0, which is the default life', tokens, { ttl: 0 }, tokenLife],
    ['no kubeconfig for longer', kubeConfigs, { certificateTTL: 7201 }, certificateLife],
    [
      'no kubeconfig with a certificate for longer',
      kubeConfigs,
      { certificateTTL: 7201, clientCert: true },
      certificateLife,
    ],
    ['no kubeconfig of the default life', kubeConfigs, { certificateTTL: undefined }, certificateLife],
    [
      'no kubeconfig as long as the signer likes',
      kubeConfigs,
      { certificateTTL: 0, clientCert: true },
      certificateLife,
    ],
    ['no key without a scope', keys, { scope: undefined }, noScope],
    ['no token without a scope', tokens, { scope: undefined }, noScope],
    ['no token with an empty list of rules for a scope', tokens, { scope: undefined, rules: [] }, noScope],
  ])('wants %s', (_, kind, spec, problem) => {
    expect(problemOf(everything, kind, spec)).toBe(problem);
  });

  it.each<[string, CredentialKind, object]>([
    ['a key of the longest life', keys, { ttl: 86_400 }],
    ['a session of the longest life', keys, { type: 'Login', ttl: 3600 }],
    ['an idle key', keys, { ttlAfterLastActivity: true }],
    ['a key with a scope that allows nothing', keys, { scope: null }],
    ['a token of the longest life', tokens, { ttl: 7200 }],
    ['a token with rules for a scope', tokens, { scope: undefined, rules: [{ verbs: ['get'] }] }],
    ['a kubeconfig of the longest life', kubeConfigs, { certificateTTL: 7200 }],
  ])('lets %s be', (_, kind, spec) => {
    expect(problemOf(everything, kind, spec)).toBeUndefined();
  });

  it.each<[CredentialKind, object]>([
    [keys, { ttl: undefined, scope: undefined, ttlAfterLastActivity: true }],
    [tokens, { ttl: 9_000_000, scope: undefined }],
    [kubeConfigs, { certificateTTL: 0 }],
  ])('leaves each part of a %s that stands as it was', (kind, spec) => {
    const policy = parseSitePolicy({ data: everything });
    const record = recordOf(kind, spec);
    expect(sitePolicyRefusal(policy, record, { life: true, grant: true })).toBeUndefined();
    const codeOf = (life: boolean, grant: boolean) =>
      sitePolicyRefusal(policy, record, { life, grant })?.code;
    expect(codeOf(false, true)).toBe('ERR_POLICY_LIFE');
    expect(codeOf(true, false)).toBe(kind === kubeConfigs ? undefined : 'ERR_POLICY_SCOPE_MISSING');
  });
});

describe('one entry alone', () => {
  const idle = { ttlAfterLastActivity: true };
  const none = { scope: undefined };
  const byEnd = (text: string) => `${text}, by requireEnd ${config}`;
  it.each<[object, CredentialKind, object, string | undefined]>([
    [{ requireEnd: 'fixed' }, keys, idle, byEnd('spec.ttlAfterLastActivity: must not be true')],
    [{ requireEnd: 'fixed' }, keys, { ttl: undefined }, byEnd('spec.ttl: must be set')],
    [{ requireEnd: 'fixed' }, keys, { ttl: 3_153_600_000 }, undefined],
    [{ requireEnd: 'fixed' }, tokens, { ttl: undefined }, undefined],
    [{ requireEnd: 'true' }, keys, { ttl: 0 }, byEnd('spec.ttl: must be set')],
    [{ requireEnd: 'true' }, keys, idle, undefined],
    [{ requireEnd: 'false' }, keys, { ttl: undefined }, undefined],
    [{ requireScope: 'tokens' }, tokens, none, noScope],
    [{ requireScope: 'tokens' }, keys, none, undefined],
    [{ requireScope: 'tokens' }, kubeConfigs, {}, undefined],
    [{ requireScope: 'keys' }, keys, none, noScope],
    [{ requireScope: 'keys' }, tokens, none, undefined],
    [{ requireScope: 'others' }, keys, none, noScopeForOther],
    [{ requireScope: 'others' }, keys, { ...none, user: 'root' }, undefined],
    [{ requireScope: 'others' }, keys, { ...none, user: undefined }, undefined],
    [{ requireScope: 'others' }, keys, { ...none, user: undefined, accessKey: 'p' }, undefined],
    [{ requireScope: 'others' }, keys, { scope: {} }, undefined],
    [{ requireScope: 'others' }, tokens, none, undefined],
    [{ requireScope: 'none' }, tokens, none, undefined],
    [{ 'maxKeyTTL.Login': '600', maxKeyTTL: '900' }, keys, { type: 'Other', ttl: 900 }, undefined],
    [{}, keys, { ttl: undefined, ...none }, undefined],
    [{}, kubeConfigs, { certificateTTL: 0 }, undefined],
  ])('%j: a %s with %j', (data, kind, spec, problem) => {
    expect(problemOf(data, kind, spec)).toBe(problem);
  });

  it('that cannot be read says so', () => {
    expect(problemOf({ maxKeyTTL: 'x' }, keys, { ttl: 86_401 })).toBe(
      `spec.ttl: must be set, and at most 86400 seconds, because maxKeyTTL ${config} cannot be read; correct it there`,
    );
    expect(problemOf({ other: '' }, tokens, { scope: undefined })).toBe(
      `spec.scope: must be set, the strictest value, because other is unknown ${config}; remove or correct it there`,
    );
  });

  // Specs that still let people work under the strictest values: a day, a scope.
  it.each<[CredentialKind, object]>([
    [keys, { ttl: 86_400 }],
    [tokens, { ttl: undefined }],
    [kubeConfigs, { certificateTTL: undefined }],
  ])('that is unknown stops no %s with %j', (kind, spec) => {
    expect(problemOf({ other: '' }, kind, spec)).toBeUndefined();
  });
});
