import { expect, it } from 'vitest';
import { HeldBytes } from './endpoints/shared/held-bytes.ts';
import {
  credentialsPerUser,
  heldBytesLimits,
  requestLimits,
  serverLimits,
  upstreamLimits,
} from './limits.ts';

it('one number of connections says how many watches a target gets, and how many requests wait for one', () => {
  const limits = upstreamLimits({ upstreamConnections: 25 });
  expect(limits).toEqual({ connections: 25, longConnections: 200, maxWaiting: 100, maxWaitMs: 10_000 });
});

it.each([
  [256, { ofUser: { short: 384, long: 1_920 }, ofCredential: { short: 96, long: 480 } }],
  [1, { ofUser: { short: 384, long: 1_920 }, ofCredential: { short: 96, long: 480 } }],
  [1_000, { ofUser: { short: 1_500, long: 7_500 }, ofCredential: { short: 375, long: 1_875 } }],
])(
  'the same number says what a user and a credential may have at once: %s',
  (upstreamConnections, expected) => {
    expect(requestLimits({ upstreamConnections })).toEqual(expected);
  },
);

it.each([
  [600, 1_800],
  [10, 1_800],
  [1_000, 3_000],
  [0, 0],
])(
  'of an address with %s refused requests a minute, %s connections stay without a credential',
  (missesPerAddress, strangersPerAddress) => {
    expect(serverLimits({ maxConnections: 5_000, missesPerAddress })).toMatchObject({ strangersPerAddress });
  },
);

it.each([
  [1_000, 100],
  [5_000, 500],
  [50, 50],
  [1, 1],
  [0, undefined],
])('of %s objects of a requester, %s may be made through the gateway', (maxObjectsPerOwner, expected) => {
  expect(credentialsPerUser({ maxObjectsPerOwner })).toBe(expected);
});

it.each([
  ['client-go', 90],
  ['an Application Load Balancer, and nginx', 60],
  ['a load balancer of Google', 600],
])('an idle connection stays longer than %s keeps one', (_, seconds) => {
  expect(serverLimits({ maxConnections: 5_000, missesPerAddress: 600 }).idleMs).toBeGreaterThan(
    seconds * 1_000,
  );
});

it('with one credential no one takes so much memory that its user cannot disable it with another', () => {
  const { ofCredential, ofUser } = heldBytesLimits;
  const held = new HeldBytes(heldBytesLimits);
  held.hold({ user: 'alice', credential: 'leaked' }).takeOrThrow(ofCredential / 4);
  const megabytes = (ofUser - ofCredential) / 4 / 2 ** 20;
  expect(megabytes).toBeGreaterThanOrEqual(3);
  held.hold({ user: 'alice', credential: 'other' }).takeOrThrow(megabytes * 2 ** 20);
});
