import { expect, it } from 'vitest';
import { FakeClock } from '../../kube/fake-clock.ts';
import { EntryPermissions } from './entry-permissions.ts';

const alice = { kind: 'user', user: 'alice', groups: [] } as const;
const entry = { verb: 'use', resource: 'clusters', namespace: '', name: 'c' };

/** The API server takes its time for each answer, which is yes. */
function start(answerMs: number) {
  const clock = new FakeClock();
  let asked = 0;
  const create = async () => {
    asked += 1;
    await new Promise<void>((resolve) => clock.setTimer(resolve, answerMs));
    return { status: { allowed: true } };
  };
  const permissions = new EntryPermissions({ client: { as: () => ({ create }) as never }, clock });
  return { clock, permissions, asked: () => asked };
}

it('an answer counts five seconds from the question, which is asked once for all who wait for it', async () => {
  const { clock, permissions, asked } = start(1_000);
  const answers = Promise.all([permissions.ask(alice, entry), permissions.ask(alice, entry)]);
  await clock.advanceAsync(1_000);
  await answers;
  expect([permissions.find(alice, entry), asked()]).toEqual([true, 1]);
  await clock.advanceAsync(4_000);
  expect(permissions.find(alice, entry)).toBeUndefined();
});

it('an answer that took longer than it counts is good for who waited, or they would ask for ever', async () => {
  const { clock, permissions } = start(6_000);
  const answer = permissions.ask(alice, entry);
  await clock.advanceAsync(6_000);
  await answer;
  expect(permissions.find(alice, entry)).toBe(true);
  await clock.advanceAsync(100);
  expect(permissions.find(alice, entry)).toBeUndefined();
});
