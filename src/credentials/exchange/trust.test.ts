import { describe, expect, it } from 'vitest';
import { parseTrust, takesAccount, takesToken } from './trust.ts';

const url = 'https://issuer.example.com';
const trust = (exchange: unknown) => parseTrust(exchange) ?? { maxTTL: 0, tokens: [], serviceAccounts: [] };
const takes = (rules: unknown, claims: Record<string, unknown>, issuer = url) =>
  takesToken(trust({ tokens: rules }), issuer, claims);

describe('a rule about tokens', () => {
  it('takes what has every claim as exactly that text', () => {
    const rules = [{ issuer: url, claims: { repository: 'a', ref: 'main' } }];
    expect(takes(rules, { repository: 'a', ref: 'main', more: 1 })).toBe(true);
    expect(takes(rules, { repository: 'a' })).toBe(false);
    expect(takes(rules, { repository: 'a', ref: 'main' }, `${url}/`)).toBe(false);
  });

  it('is one of several, of which one is enough, and claims of two do not mix', () => {
    const rules = [
      { issuer: url, claims: { project: 'a', ref: 'main' } },
      { issuer: url, claims: { project: 'b', ref: 'next' } },
    ];
    expect(takes(rules, { project: 'b', ref: 'next' })).toBe(true);
    expect(takes(rules, { project: 'b', ref: 'main' })).toBe(false);
  });

  it.each([
    ['without claims', { issuer: url }],
    ['with empty claims', { issuer: url, claims: {} }],
    ['with a list of claims', { issuer: url, claims: ['sub'] }],
    ['with an empty text', { issuer: url, claims: { sub: '' } }],
    ['with a number', { issuer: url, claims: { sub: 1 } }],
    ['with what is checked anyway alone', { issuer: url, claims: { iss: url } }],
    ['without issuer', { claims: { sub: 'x' } }],
    ['that is a text', 'sub'],
    ['that is null', null],
  ])('%s takes nothing', (_, rule) => {
    expect(takes([rule], { sub: 'x', iss: url })).toBe(false);
    expect(takes([rule], { sub: '', iss: url })).toBe(false);
    expect(takes([rule], { sub: 1, iss: url })).toBe(false);
  });

  it('finds no claim in what every object has', () => {
    expect(takes([{ issuer: url, claims: { constructor: 'x' } }], {})).toBe(false);
    const claims = JSON.parse('{"__proto__": "x"}');
    expect(takes([{ issuer: url, claims }], {})).toBe(false);
    expect(takes([{ issuer: url, claims }], claims)).toBe(true);
  });

  it.each([
    ['https://token.actions.githubusercontent.com', 'repository_id'],
    ['https://token.actions.githubusercontent.com/acme', 'repository_id'],
    ['https://gitlab.com', 'project_id'],
    ['https://agent.buildkite.com', 'pipeline_id'],
    ['https://oidc.circleci.com/org/8a', 'oidc.circleci.com/project-id'],
  ])('about %s needs the claim %s, whatever the schema let in', (issuer, claim) => {
    const name = { sub: 'acme/shop' };
    expect(takes([{ issuer, claims: name }], name, issuer)).toBe(false);
    const whole = { ...name, [claim]: '1' };
    expect(takes([{ issuer, claims: whole }], whole, issuer)).toBe(true);
  });
});

it('a ServiceAccount is named by its namespace and its name', () => {
  const accounts = trust({ serviceAccounts: [{ namespace: 'ci', name: 'worker' }, { name: 'x' }, null] });
  expect(takesAccount(accounts, 'system:serviceaccount:ci:worker')).toBe(true);
  for (const user of ['system:serviceaccount:ci:worker2', 'system:serviceaccount:ci2:worker', 'worker', ''])
    expect(takesAccount(accounts, user)).toBe(false);
});

it.each([
  ['absent', undefined, undefined],
  ['null', null, undefined],
  ['true', true, undefined],
  ['a list', [], undefined],
  ['empty', {}, 3_600],
  ['with the longest life', { maxTTL: 86_400 }, 86_400],
  ['with a life of no seconds', { maxTTL: 0 }, undefined],
  ['with a life for ever', { maxTTL: 9e9 }, undefined],
  ['with a life that is a text', { maxTTL: '900' }, undefined],
  ['with a life that is null', { maxTTL: null }, undefined],
])('spec.exchange that is %s gives a life of %s', (_, exchange, maxTTL) => {
  expect(parseTrust(exchange)?.maxTTL).toBe(maxTTL);
});
