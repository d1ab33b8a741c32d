import { describe, expect, it } from 'vitest';
import type { LiveCredential, LiveScope } from '../../api/live-credentials.ts';
import { credentialExtra } from '../../api/names.ts';
import { toVerdict } from './endpoint-verdict.ts';
import { judgeReview } from './judge-review.ts';

const cluster = 'edge';
const jti = 'uid-1.7';
const reading = {
  owner: 'DirectClusterEndpointToken "ci"',
  scope: { rules: [{ verbs: ['get', 'list'], resources: [{ group: '', resources: ['pods'] }], cluster }] },
};
const whole = { owner: 'OwnedAccessKey "top"', scope: { clusters: [{ cluster }] } };
const credentialWith = (scopes: readonly LiveScope[]): LiveCredential => ({
  ...{ hash: 'a'.repeat(64), uid: 'uid-1', name: 'ci', user: 'ann', groups: ['dev'], scopes, end: 1 },
});

const pods = { namespace: 'default', verb: 'list', version: 'v1', resource: 'pods' };
const specOf = (resourceAttributes: object, more: object = {}) => ({
  ...{ user: 'ann', groups: ['dev', 'system:authenticated'], extra: { [credentialExtra]: [jti] } },
  ...{ resourceAttributes, ...more },
});

function judge(spec: object, { scopes = [reading, whole], problem = undefined as string | undefined } = {}) {
  const verdict = toVerdict(credentialWith(scopes));
  return judgeReview(spec as Record<string, unknown>, {
    cluster,
    followed: { findToken: (asked) => (asked === jti ? verdict : undefined) },
    problem: () => problem,
  });
}
const noOpinion = { allowed: false, denied: false, reason: '' };
const refused = (code: string) => ({
  allowed: false,
  denied: true,
  reason: expect.stringContaining(`(${code})`),
});

describe('judgeReview', () => {
  it('never allows: what is in the scope is up to the rights of the user', () => {
    expect(judge(specOf(pods))).toEqual(noOpinion);
  });

  it.each([
    ['another verb', { ...pods, verb: 'delete' }],
    ['another resource', { ...pods, resource: 'secrets' }],
    ['a subresource', { ...pods, verb: 'get', name: 'web', subresource: 'log' }],
    ['everything', { namespace: '*', verb: '*', group: '*', resource: '*' }],
  ])('denies %s outside the scope, and names the credential', (_, attributes) => {
    const answer = judge(specOf(attributes));
    expect(answer).toEqual(refused('ERR_SCOPE'));
    expect(answer.reason).toContain('DirectClusterEndpointToken "ci"');
  });

  it('judges paths that name no resource', () => {
    const path = (name: string) =>
      specOf({}, { resourceAttributes: undefined, nonResourceAttributes: { path: name, verb: 'get' } });
    expect(judge(path('/version'))).toEqual(noOpinion);
    expect(judge(path('/metrics'))).toEqual(refused('ERR_SCOPE'));
  });

  it.each([
    ['unknown', { extra: { [credentialExtra]: ['uid-1.6'] } }],
    ['one of two', { extra: { [credentialExtra]: [jti, jti] } }],
    ['none', { extra: { [credentialExtra]: [] } }],
    ['no text', { extra: { [credentialExtra]: jti } }],
    ['that of another user', { user: 'bob' }],
    ['without a user', { user: undefined }],
    ['with a group that its user has lost', { groups: ['dev', 'admins'] }],
  ])('denies a token that is %s', (_, more) => {
    expect(judge(specOf(pods, more))).toEqual(refused('ERR_WEBHOOK_CREDENTIAL'));
  });

  it.each(['impersonate', 'impersonate:user-info', 'impersonate-on:user-info:list'])(
    'denies %s, whatever the scope: the other user would have none',
    (verb) => {
      for (const scopes of [[reading], [whole], []])
        expect(judge(specOf({ verb, resource: 'users', name: 'bob' }), { scopes })).toEqual(
          refused('ERR_IMPERSONATION'),
        );
    },
  );

  it('denies every token while it is not known which are good, and no one else', () => {
    const problem = 'the platform has been away for too long';
    expect(judge(specOf(pods), { problem })).toEqual(refused('ERR_ENDPOINT_OUTAGE'));
    expect(judge(specOf(pods, { extra: {} }), { problem })).toEqual(noOpinion);
  });

  it.each([
    ['nothing', { resourceAttributes: undefined }],
    ['two things', { nonResourceAttributes: { path: '/version', verb: 'get' } }],
    ['what is no text', { resourceAttributes: { ...pods, verb: 7 } }],
  ])('denies a review about %s', (_, more) => {
    expect(judge(specOf(pods, more), { scopes: [] })).toEqual(refused('ERR_REVIEW_UNREADABLE'));
  });

  it('tells an object without a namespace from those of all namespaces', () => {
    const rule = {
      verbs: ['get', 'list'],
      resources: [{ group: 'example.com', resources: ['widgets'] }],
      namespaces: [''],
      cluster,
    };
    const scopes = [{ owner: 'own', scope: { rules: [rule] } }];
    const widget = { group: 'example.com', resource: 'widgets', name: 'a' };
    expect(judge(specOf({ ...widget, verb: 'get' }), { scopes })).toEqual(noOpinion);
    expect(judge(specOf({ ...widget, name: '', verb: 'list' }), { scopes })).toEqual(refused('ERR_SCOPE'));
  });
});
