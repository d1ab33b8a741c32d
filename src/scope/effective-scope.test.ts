import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { effectiveScope, hasPlatformCli, type ScopeSource } from './effective-scope.ts';

const rule = { verbs: ['get'] };
const platformCli = { role: 'platform-cli' };

describe('effectiveScope', () => {
  it.each<[string, ScopeSource, unknown]>([
    ['nothing', {}, undefined],
    ['no rules', { rules: [] }, undefined],
    ['allowPlatformCli alone, which narrows nothing', { allowPlatformCli: true }, undefined],
    ['a null scope', { scope: null }, {}],
    ['an empty scope', { scope: {} }, {}],
    ['a scope that is no object', { scope: 'all' }, {}],
    ['a scope that is a list', { scope: [{ project: '*' }] }, {}],
    ['rules alone', { rules: [rule] }, { rules: [rule] }],
    ['rules beside an empty scope', { scope: {}, rules: [rule] }, { rules: [rule] }],
    ['rules in both places', { scope: { rules: [{}] }, rules: [rule] }, { rules: [{}, rule] }],
    [
      'rules and allowPlatformCli',
      { rules: [rule], allowPlatformCli: true },
      { rules: [rule], roles: [platformCli] },
    ],
    ['an empty scope and allowPlatformCli', { scope: {}, allowPlatformCli: true }, { roles: [platformCli] }],
    [
      'roles and allowPlatformCli',
      { scope: { roles: [{ role: 'agent' }] }, allowPlatformCli: true },
      { roles: [{ role: 'agent' }, platformCli] },
    ],
    ['allowLoftCli', { scope: { allowLoftCli: true } }, { roles: [platformCli] }],
    ['allowLoftCli that is off', { scope: { allowLoftCli: false } }, {}],
    ['allowLoftCli that is no boolean', { scope: { allowLoftCli: 'yes' } }, {}],
    [
      'a list that cannot be read',
      { scope: { roles: 'x' }, allowPlatformCli: true },
      { roles: [platformCli] },
    ],
    ['entries', { scope: { projects: [{ project: 'p' }] } }, { projects: [{ project: 'p' }] }],
  ])('of %s', (_, source, scope) => {
    expect(effectiveScope(source)).toEqual(scope);
  });

  it('narrows whenever a scope or a rule stands there, whatever it is', () => {
    const scope = fc.jsonValue();
    fc.assert(fc.property(scope, (value) => effectiveScope({ scope: value }) !== undefined));
  });
});

describe('hasPlatformCli', () => {
  it.each<[unknown, boolean]>([
    [[{ role: 'platform-cli' }], true],
    [[{ role: 'loft-cli', projects: ['p'] }], true],
    [[{ role: 'agent' }, { role: 'platform-cli' }], true],
    [[{ role: 'Platform-CLI' }], false],
    [['platform-cli', null], false],
    [{ role: 'platform-cli' }, false],
    [undefined, false],
  ])('answers for the roles %j', (roles, expected) => {
    expect(hasPlatformCli({ roles })).toBe(expected);
  });
});
