import { describe, expect, it } from 'vitest';
import type { CredentialKind } from '../../../api/credential-kinds.ts';
import { specWarnings, withSpecWarnings } from './spec-warnings.ts';

const texts = {
  scopeRules:
    'spec.scope.rules: deprecated; use projects, spaces, virtualClusters, clusters and roles of spec.scope',
  rules: 'spec.rules: deprecated; use projects, spaces, virtualClusters, clusters and roles of spec.scope',
  allowPlatformCli: 'spec.allowPlatformCli: deprecated; use the role platform-cli in spec.scope.roles',
  allowLoftCli: 'spec.scope.allowLoftCli: deprecated; use the role platform-cli in spec.scope.roles',
  parent: 'spec.parent: deprecated and without effect; the parent of a key is spec.accessKey',
  oidcLogin: 'spec.oidcLogin: deprecated; use spec.identity',
  tokenTTL:
    'spec.ttl: above the maximum of 7776000 seconds (90 days); the token ends earlier, see status.expirationTimestamp',
  certificateTTL:
    'spec.certificateTTL: above the maximum of 31536000 seconds (365 days), unless LATCHKEY_MAX_KUBECONFIG_TTL allows more; the kubeconfig ends earlier, see status.expirationTimestamp',
  nothing: 'spec.scope: has no entry, so it allows nothing but asking who one is; name what may be used',
  tokenEnd: 'spec.ttl: the end of a token without spec.accessKey never moves later; make another token',
  kubeConfigEnd:
    'spec.certificateTTL: the end of a kubeconfig without spec.accessKey never moves later; make another kubeconfig',
  noEnd: 'spec.ttl: without it, or with 0, the key never ends; set its life in seconds',
} as const;
const unknownRole = (index: number): string =>
  `spec.scope.roles[${index}].role: there is no role of that name, so it allows nothing; there are platform-user, platform-cli (also loft-cli), network-peer, agent, vcluster, runner and workspace`;

const deadVerb = (path: string): string =>
  `spec.${path}.verbs: one of them is no verb, and no request has it; the star has no meaning here, so leave verbs out for all of them`;

const longLife = (words: string): string =>
  `spec.ttl: it is in seconds, and this is more than a year: ${words}`;

const keys = 'OwnedAccessKey';
const tokens = 'DirectClusterEndpointToken';
const kubeConfigs = 'VirtualClusterInstanceKubeConfig';
const alice = { user: 'alice', ttl: 60 };
const rule = { verbs: ['get'] };
const cluster = { clusters: [{ cluster: 'a' }] };
type Fields = Readonly<Record<string, unknown>>;
type Row = readonly [
  does: string,
  kind: CredentialKind,
  change: { spec: Fields; former?: Fields },
  said: readonly string[],
];

const created = (does: string, kind: CredentialKind, spec: Fields, said: readonly string[]): Row => [
  does,
  kind,
  { spec },
  said,
];
/** Applies a merge patch to the spec. */
const merged = (former: Fields, patch: Fields): Fields =>
  Object.fromEntries(Object.entries({ ...former, ...patch }).filter(([, value]) => value !== null));
const changed = (does: string, before: Fields, patch: Fields, said: readonly string[]): Row => {
  const former = { ...alice, ...before };
  return [does, keys, { former, spec: merged(former, patch) }, said];
};
const dubious = {
  ttl: 0,
  parent: 'other',
  scope: { rules: [rule], roles: [{ role: 'x' }], allowLoftCli: true },
};

const judge = ([, kind, { spec, former }]: Row) =>
  specWarnings({ kind, spec: { ...spec }, former: former && { ...former } });

describe('who makes a credential', () => {
  it.each([
    created('is warned of spec.scope.rules of a key', keys, { ...alice, scope: { rules: [rule] } }, [
      texts.scopeRules,
    ]),
    created('is warned of spec.scope.rules of a token', tokens, { scope: { rules: [rule] } }, [
      texts.scopeRules,
    ]),
    created('is warned of spec.rules', tokens, { rules: [rule] }, [texts.rules]),
    created(
      'is warned of a virtual cluster without a project',
      keys,
      { ...alice, scope: { virtualClusters: [{ virtualCluster: 'shop' }] } },
      ['spec.scope.virtualClusters[0] allows nothing: project is empty'],
    ),
    created(
      'is warned of the second space, which has no name',
      keys,
      { ...alice, scope: { spaces: [{ project: 'a', space: 'b' }, { project: 'a' }] } },
      ['spec.scope.spaces[1] allows nothing: space is empty'],
    ),
    created('is warned of a star as verb', keys, { ...alice, scope: { rules: [rule, { verbs: ['*'] }] } }, [
      texts.scopeRules,
      deadVerb('scope.rules[1]'),
    ]),
    created('is warned of a verb that none is', tokens, { rules: [{ verbs: ['get', 'read'] }] }, [
      texts.rules,
      deadVerb('rules[0]'),
    ]),
    created('is warned of spec.allowPlatformCli', tokens, { allowPlatformCli: true }, [
      texts.allowPlatformCli,
    ]),
    created('is warned of spec.scope.allowLoftCli', tokens, { scope: { allowLoftCli: true } }, [
      texts.allowLoftCli,
    ]),
    created('is warned of spec.parent', keys, { ...alice, parent: 'other' }, [texts.parent]),
    created(
      'is warned of spec.oidcLogin',
      keys,
      { ...alice, oidcLogin: { lastRefresh: '2026-11-21T10:00:00Z' } },
      [texts.oidcLogin],
    ),
    created('is warned of a token for more than 90 days', tokens, { ttl: 7_776_001 }, [texts.tokenTTL]),
    created('is warned of a kubeconfig for more than a year', kubeConfigs, { certificateTTL: 31_536_001 }, [
      texts.certificateTTL,
    ]),
    created('is warned of an empty scope of a key', keys, { ...alice, scope: {} }, [texts.nothing]),
    created('is warned of an empty scope of a token', tokens, { scope: {} }, [texts.nothing]),
    created('is warned of a scope that is null', tokens, { scope: null }, [texts.nothing]),
    created(
      'is warned of a scope whose lists are all empty',
      keys,
      { ...alice, scope: { projects: [], roles: [] } },
      [texts.nothing],
    ),
    created(
      'is warned of the first unknown role',
      tokens,
      { scope: { roles: [{ role: 'agent' }, { role: 'Platform-CLI' }, { role: 'admin' }] } },
      [unknownRole(1)],
    ),
    created('is warned of a role without a name', tokens, { scope: { roles: [{ projects: ['a'] }] } }, [
      unknownRole(0),
    ]),
    created('is warned of a key without an end', keys, { user: 'alice' }, [texts.noEnd]),
    created('is warned of a key whose ttl is 0', keys, { user: 'alice', ttl: 0 }, [texts.noEnd]),
    created('is warned of a key for a second more than a year', keys, { ...alice, ttl: 31_536_001 }, [
      longLife('1 year'),
    ]),
    created('is warned of a key for milliseconds in place of seconds', keys, { ...alice, ttl: 86_400_000 }, [
      longLife('2 years and 270 days'),
    ]),
    created('is warned of the longest key', keys, { ...alice, ttl: 3_153_600_000 }, [longLife('100 years')]),
    created(
      'is warned of an idle key for more than a year',
      keys,
      { ...alice, ttl: 31_622_400, ttlAfterLastActivity: true },
      [longLife('1 year and 1 day')],
    ),
    created('is warned of a child for more than a year', keys, { accessKey: 'p', ttl: 40_000_000 }, [
      longLife('1 year and 97 days'),
    ]),
    created('is not warned of a key for a year', keys, { ...alice, ttl: 31_536_000 }, []),
    created(
      'is warned of everything at once, in the order of the fields',
      tokens,
      {
        ttl: 9_000_000,
        rules: [rule],
        allowPlatformCli: true,
        scope: { rules: [rule], roles: [{ role: 'x' }] },
      },
      [texts.scopeRules, texts.rules, texts.allowPlatformCli, texts.tokenTTL, unknownRole(0)],
    ),
    created('is not warned of a key that is as it should be', keys, { ...alice, scope: cluster }, []),
    created('is not warned of a key without a scope', keys, alice, []),
    created(
      'is not warned of a child without a ttl, which ends with its parent',
      keys,
      { accessKey: 'p' },
      [],
    ),
    created('is not warned of an idle end', keys, { ...alice, ttlAfterLastActivity: true }, []),
    created('is not warned of a token of nothing', tokens, {}, []),
    created('is not warned of the longest token', tokens, { ttl: 7_776_000 }, []),
    created('is not warned of the longest kubeconfig', kubeConfigs, { certificateTTL: 31_536_000 }, []),
    created('is not warned of certificateTTL 0', kubeConfigs, { certificateTTL: 0 }, []),
    created(
      'is not warned of deprecated fields that say nothing',
      tokens,
      { rules: [], allowPlatformCli: false },
      [],
    ),
    created(
      'is not warned of the roles that there are',
      tokens,
      {
        scope: {
          roles: ['platform-cli', 'loft-cli', 'network-peer', 'agent', 'vcluster', 'runner', 'workspace'].map(
            (role) => ({ role }),
          ),
        },
      },
      [],
    ),
    created(
      'is warned of deprecated rules beside an empty scope, which they fill',
      tokens,
      { scope: {}, rules: [rule] },
      [texts.rules],
    ),
  ])('%s', (...row) => {
    expect(judge(row)).toEqual(row[3]);
  });
});

describe('who changes a credential', () => {
  it.each<Row>([
    changed('is warned of the end that is removed', {}, { ttl: null }, [texts.noEnd]),
    changed('is warned of the scope that is emptied', { scope: cluster }, { scope: {} }, [texts.nothing]),
    changed('is warned of an end that moves beyond a year', {}, { ttl: 63_072_000 }, [longLife('2 years')]),
    changed('is not warned again of an end beyond a year', { ttl: 63_072_000 }, { description: 'new' }, []),
    changed('is warned of a new rule', { scope: { rules: [rule] } }, { scope: { rules: [rule, rule] } }, [
      texts.scopeRules,
    ]),
    changed(
      'is warned of a new unknown role',
      { scope: { roles: [{ role: 'x' }] } },
      { scope: { roles: [{ role: 'y' }] } },
      [unknownRole(0)],
    ),
    changed('is not warned again of what stays', dubious, { description: 'new' }, []),
    changed('is not warned again when it is disabled', dubious, { disabled: true }, []),
    ...(
      [
        ['a longer life of a token', tokens, { ttl: 600 }, { ttl: 601 }, [texts.tokenEnd]],
        ['the life of a token that is left out', tokens, { ttl: 600 }, { ttl: null }, [texts.tokenEnd]],
        ['a year for a kubeconfig', kubeConfigs, {}, { certificateTTL: 0 }, [texts.kubeConfigEnd]],
        ['a shorter life of a token', tokens, {}, { ttl: 600 }, []],
        ['a shorter life of a kubeconfig', kubeConfigs, { certificateTTL: 0 }, { certificateTTL: 600 }, []],
        ['a longer life below a key', tokens, { accessKey: 'a', ttl: 600 }, { ttl: 601 }, []],
      ] as const
    ).map(
      ([change, kind, former, patch, said]): Row => [
        `is told of ${change} that it ends no later, or nothing`,
        kind,
        { former, spec: merged(former, patch) },
        said,
      ],
    ),
  ])('%s', (...row) => {
    expect(judge(row)).toEqual(row[3]);
  });
});

describe('a reply', () => {
  const object = { spec: { user: 'alice', scope: {} } };

  it('carries them as the API server sends warnings', () => {
    const { headers } = withSpecWarnings({ status: 201, body: {} }, { kind: keys, object });
    expect(headers).toEqual({ warning: [`299 - "${texts.nothing}"`, `299 - "${texts.noEnd}"`] });
  });

  it('carries none to what was refused', () => {
    expect(withSpecWarnings({ status: 403, body: {} }, { kind: keys, object })).not.toHaveProperty('headers');
  });
});
