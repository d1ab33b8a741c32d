import { expect, it } from 'vitest';
import { credentialsPerUser, requestLimits, serverLimits, upstreamLimits } from './limits.ts';

it('one number of connections says how many watches a target gets, and how many requests wait for one', () => {
  const limits = upstreamLimits({ upstreamConnections: 25 });
  expect(limits).toEqual({ connections: 25, longConnections: 200, maxWaiting: 100, maxWaitMs: 10_000 });
});

it.each([
  [256, { ofUser: { short: 384, long: 1_920 }, ofCredential: { short: 96, long: 480 } }],
  [1, { ofUser: { short: 2, long: 10 }, ofCredential: { short: 1, long: 3 } }],
])(
  'the same number says what a user and a credential may have at once: %s',
  (upstreamConnections, expected) => {
    expect(requestLimits({ upstreamConnections })).toEqual(expected);
  },
);

it.each([
  [600, 1_800],
  [0, 0],
])(
  'of an address with %s refused requests a minute, %s connections stay without a credential',
  (missesPerAddress, strangersPerAddress) => {
    expect(serverLimits({ maxConnections: 5_000, missesPerAddress })).toMatchObject({ strangersPerAddress });
  },
);

it.each([
  [1_000, 100],
  [1, 1],
  [0, undefined],
])('of %s objects of a requester, %s may be made through the gateway', (maxObjectsPerOwner, expected) => {
  expect(credentialsPerUser({ maxObjectsPerOwner })).toBe(expected);
});
