import { describe, expect, it } from 'vitest';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { objectOf, pathOf } from '../admission/objects.ts';
import { admissionWorld } from '../admission/world.ts';
import { largestRules } from './largest-spec.ts';
import { describeRows, type Flavour, type Row } from './rows.ts';

/** As the API server puts it. */
const warning = (text: string): string =>
  `Validation failed for ValidatingAdmissionPolicy 'latchkey-warnings' with binding 'latchkey-warnings': ${text}`;

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
  `spec.scope.roles[${index}].role: there is no role of that name, so it allows nothing; there are platform-cli (also loft-cli), network-peer, agent, vcluster, runner and workspace`;

const longLife = (words: string): string =>
  `spec.ttl: it is in seconds, and this is more than a year: ${words}`;

const keys = ownedAccessKeys;
const tokens = directClusterEndpointTokens;
const kubeConfigs = virtualClusterInstanceKubeConfigs;
const alice = { user: 'alice', ttl: 60 };
const rule = { verbs: ['get'] };
const cluster = { clusters: [{ cluster: 'a' }] };
type Fields = Record<string, unknown>;

const created = (does: string, resource: Resource, spec: Fields, said: readonly string[]): Row => ({
  who: 'master',
  does,
  resource,
  attempt: { verb: 'create' },
  content: { spec },
  answer: 'allowed',
  warnings: said.map(warning),
});

describeRows('a warning at creation', [
  created('is warned of spec.scope.rules of a key', keys, { ...alice, scope: { rules: [rule] } }, [
    texts.scopeRules,
  ]),
  created('is warned of spec.scope.rules of a token', tokens, { scope: { rules: [rule] } }, [
    texts.scopeRules,
  ]),
  created('is warned of spec.rules', tokens, { rules: [rule] }, [texts.rules]),
  created('is warned of spec.allowPlatformCli', tokens, { allowPlatformCli: true }, [texts.allowPlatformCli]),
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
  created('is not warned of a child without a ttl, which ends with its parent', keys, { accessKey: 'p' }, []),
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
  {
    ...created('is warned of it by server-side apply', keys, { user: 'alice' }, [texts.noEnd]),
    attempt: { verb: 'create', flavour: 'apply' },
  },
  {
    ...created('is warned of it with generateName', keys, { user: 'alice' }, [texts.noEnd]),
    attempt: { verb: 'create', flavour: 'generateName' },
  },
]);

const changed = (does: string, before: Fields, spec: Fields, said: readonly string[]): Row => ({
  who: 'master',
  does,
  resource: keys,
  before: { by: 'master', spec: { ...alice, ...before } },
  attempt: { verb: 'update', flavour: 'merge patch' },
  content: { spec },
  answer: 'allowed',
  warnings: said.map(warning),
});
const dubious = {
  ttl: 0,
  parent: 'other',
  scope: { rules: [rule], roles: [{ role: 'x' }], allowLoftCli: true },
};
const flavours: readonly Flavour[] = ['PUT', 'JSON patch', 'merge patch', 'forced apply'];

describeRows('a warning on an update', [
  ...flavours.map((flavour) => ({
    ...changed(`is warned of the end that is taken away, by ${flavour}`, {}, { ttl: 0 }, [texts.noEnd]),
    attempt: { verb: 'update', flavour } as const,
  })),
  ...(
    [
      ['a longer life of a token', tokens, { ttl: 600 }, { ttl: 601 }, [texts.tokenEnd]],
      ['the life of a token that is left out', tokens, { ttl: 600 }, { ttl: null }, [texts.tokenEnd]],
      ['a year for a kubeconfig', kubeConfigs, {}, { certificateTTL: 0 }, [texts.kubeConfigEnd]],
      ['a shorter life of a token', tokens, {}, { ttl: 600 }, []],
      ['a shorter life of a kubeconfig', kubeConfigs, { certificateTTL: 0 }, { certificateTTL: 600 }, []],
      ['a longer life below a key', tokens, { accessKey: 'a', ttl: 600 }, { ttl: 601 }, []],
    ] as const
  ).map(([change, resource, before, spec, said]) => ({
    ...changed(`is told of ${change} that it ends no later, or nothing`, {}, spec, said),
    ...{ resource, before: { by: 'master' as const, spec: before } },
  })),
  changed('is warned of the end that is removed', {}, { ttl: null }, [texts.noEnd]),
  {
    ...changed('is warned of the scope that is emptied', { scope: cluster }, { scope: {} }, [texts.nothing]),
    attempt: { verb: 'update', flavour: 'PUT' },
  },
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
  {
    ...changed('is not warned of a change of labels', dubious, {}, []),
    content: { metadata: { labels: { a: 'b' } } },
  },
  {
    ...changed(
      'puts dubious things in and gets no warning, because it reads no warnings',
      {},
      { ttl: 0 },
      [],
    ),
    who: 'operator',
  },
]);

describe('kubectl', async () => {
  const world = await admissionWorld();

  it('prints a warning, and exits with 0', async () => {
    const input = JSON.stringify(objectOf(keys, { user: 'alice' }));
    const { exitCode, stderr } = await world.plane.kubectl(['create', '-f', '-'], { input });
    expect(exitCode).toBe(0);
    expect(stderr.trim()).toBe(`Warning: ${warning(texts.noEnd)}`);
  });

  it('is still warned of it when the spec is as large as the schema allows', async () => {
    const object = objectOf(tokens, { scope: { rules: largestRules, roles: [{ role: 'x' }] } });
    const answer = await world.admin.send('POST', pathOf(tokens), { body: object });
    expect(answer.status).toBe(201);
    expect(answer.warnings).toEqual([warning(texts.scopeRules), warning(unknownRole(0))]);
    const changed = { ...answer.body, spec: { ...answer.body.spec, ttl: 9_000_000 } };
    const path = pathOf(tokens, object.metadata.name);
    expect(await world.admin.send('PUT', path, { body: changed })).toMatchObject({
      status: 200,
      warnings: [warning(texts.tokenTTL), warning(texts.tokenEnd)],
    });
  });
});
