import { expect, it } from 'vitest';
import { requestLimits, upstreamLimits } from './limits.ts';

it('one number of connections says how many watches a target gets, and how many requests wait for one', () => {
  const limits = upstreamLimits({ upstreamConnections: 25 });
  expect(limits).toEqual({ connections: 25, longConnections: 200, maxWaiting: 100, maxWaitMs: 10_000 });
});

it.each([
  [400, { ofUser: { short: 400, long: 2_000 }, ofCredential: { short: 100, long: 500 } }],
  [1, { ofUser: { short: 1, long: 5 }, ofCredential: { short: 1, long: 2 } }],
])(
  'one number of requests says what a user and a credential may have at once: %s',
  (requestsPerUser, expected) => {
    expect(requestLimits({ requestsPerUser })).toEqual(expected);
  },
);
