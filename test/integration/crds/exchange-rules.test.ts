import { describe, expect, it } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { crdWorld, verdict } from './world.ts';

const world = await crdWorld();
const github = 'https://token.actions.githubusercontent.com';
const tokens = (issuer: string, claims: unknown) => ({ tokens: [{ issuer, claims }] });
const worker = { namespace: 'ci', name: 'worker' };
const judge = (exchange: unknown): Promise<string> =>
  verdict(world.admin, ownedAccessKeys, { user: 'ci-shop', exchange });

describe('spec.exchange', () => {
  it.each([
    ['of GitHub, by the ID of a repository', tokens(github, { repository_id: '821093847' })],
    ['of a GitHub enterprise', tokens(`${github}/acme`, { repository_id: '1', ref: 'refs/heads/main' })],
    ['of GitLab', tokens('https://gitlab.com', { project_id: '4711', ref_protected: 'true' })],
    ['of Buildkite', tokens('https://agent.buildkite.com', { pipeline_id: '0187' })],
    ['of CircleCI', tokens('https://oidc.circleci.com/org/8a', { 'oidc.circleci.com/project-id': '9b' })],
    ['of a GitLab of their own', tokens('https://gitlab.example.com', { sub: 'project_path:a/b' })],
    ['of a name that only begins as a public one', tokens('https://gitlab.com.example.com', { sub: 'x' })],
    ['of a ServiceAccount', { serviceAccounts: [worker] }],
    ['with the longest life', { maxTTL: 86_400, serviceAccounts: [worker] }],
  ])('takes tokens %s', async (_, exchange) => {
    expect(await judge(exchange)).toBe('accepted');
  });

  it.each([
    ['names nothing', {}, 'spec.exchange must name something in tokens or serviceAccounts'],
    ['names nothing in two lists', { tokens: [], serviceAccounts: [] }, 'spec.exchange must name something'],
    ['has no claim', tokens(github, {}), 'should have at least 1 properties'],
    ['has GitHub without an ID', tokens(github, { repository: 'acme/shop' }), 'everyone has tokens of this'],
    [
      'has GitLab without an ID',
      tokens('https://gitlab.com', { project_path: 'a/b' }),
      'everyone has tokens',
    ],
    ['has GitLab with a slash', tokens('https://gitlab.com/', { sub: 'x' }), 'everyone has tokens'],
    [
      'has a claim that is checked anyway',
      tokens('https://a.example', { aud: 'x' }),
      'are checked in any case',
    ],
    ['has an empty claim', tokens('https://a.example', { sub: '' }), 'should be at least 1 chars long'],
    ['has a list as claim', tokens('https://a.example', { sub: ['x'] }), 'must be of type string'],
    ['has plain HTTP', tokens('http://a.example', { sub: 'x' }), 'issuer must be an https URL'],
    ['has a query', tokens('https://a.example?x', { sub: 'x' }), 'issuer must be an https URL'],
    ['has a short life', { maxTTL: 59, serviceAccounts: [worker] }, 'greater than or equal to 60'],
    ['has a long life', { maxTTL: 86_401, serviceAccounts: [worker] }, 'less than or equal to 86400'],
    ['names half an account', { serviceAccounts: [{ name: 'worker' }] }, 'namespace: Required value'],
  ])('is refused when it %s', async (_, exchange, message) => {
    expect(await judge(exchange)).toContain(message);
  });
});
