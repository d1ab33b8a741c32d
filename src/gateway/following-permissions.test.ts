import { expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { silentLogger } from '../logger.ts';
import { createFollowingPermissions } from './permissions.ts';

const entry = { verb: 'use', resource: 'clusters', namespace: '', name: 'west' };

it('the rights of users whose tokens are followed are kept however few connections a gateway may have', async () => {
  const clock = new FakeClock();
  const staying = { as: () => ({ create: async () => ({ status: { allowed: true } }) }) };
  const permissions = createFollowingPermissions({
    ...{ clock, random: () => 0.5, log: silentLogger, staying: staying as never },
    settings: { maxConnections: 10, staleAfterMs: 45_000, upstreamConnections: 8 } as never,
  });
  const users = Array.from({ length: 1_000 }, (_, index) => ({
    ...({ kind: 'user', groups: [], user: `user-${index}` } as const),
  }));
  for (const user of users) await permissions.isAllowed(user, entry);
  for (let second = 0; second < 120; second += 2) {
    for (const user of users) permissions.lastAnswer(user, entry);
    for (let step = 0; step < 4; step += 1) await clock.advanceAsync(500);
  }
  expect(users.filter((user) => permissions.mayStay(user, entry))).toHaveLength(users.length);
});
