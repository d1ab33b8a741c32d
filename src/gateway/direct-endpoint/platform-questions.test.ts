import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { Identity } from '../../credentials/identity.ts';
import { UpstreamBusy } from '../turns/request-slots.ts';
import { platformQuestions, type SpaceAnswer } from './space-rights.ts';

const person = (user: string): Identity => ({ kind: 'user', user, groups: [] });
const spaceOf = (number: number) => ({
  ...{ verb: 'use', resource: 'spaceinstances', namespace: 'p-red', name: `space-${number}` },
});

/** A platform whose answers come when the test says so. */
function setUp() {
  const clock = new FakeClock();
  const open: { readonly query: URLSearchParams; readonly answer: (allowed: unknown) => void }[] = [];
  const request = async (_method: string, _path: string, { query }: { query: URLSearchParams }) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    open.push({ query, answer: (allowed) => resolve({ allowed }) });
    return await promise;
  };
  const told: boolean[] = [];
  const followed = { hashOf: ({ user }: Identity) => `hash-of-${user}` };
  const onAnswer = ({ isAllowed }: SpaceAnswer) => told.push(isAllowed);
  const spaceUID = () => 's1';
  const questions = platformQuestions({
    ...{ client: { request } as never, cluster: 'edge', clock, followed, spaceUID, onAnswer },
  });
  const ask = async (user: string, number: number) =>
    await questions.ask(`${user} ${number}`, person(user), spaceOf(number));
  return { clock, open, told, ask };
}

it('names the token and the space, and takes nothing but true for a yes', async () => {
  const { open, told, ask } = setUp();
  const answers = [ask('ann', 1), ask('ann', 2)];
  expect(Object.fromEntries(open[0]?.query ?? [])).toEqual({
    ...{ namespace: 'p-red', space: 'space-1', hash: 'hash-of-ann' },
  });
  open[0]?.answer(true);
  open[1]?.answer('true');
  expect((await Promise.all(answers)).map(({ allowed }) => allowed)).toEqual([true, false]);
  expect(told).toEqual([true, false]);
});

it('a user who asks for a thousand spaces at once leaves room for others, and waits ten seconds at most', async () => {
  const { clock, open, ask } = setUp();
  const flood = Promise.allSettled(Array.from({ length: 1_000 }, (_, number) => ask('mallory', number)));
  const before = open.length;
  const own = ask('ann', 1);
  expect(before).toBeLessThan(16);
  expect(open.at(-1)?.query.get('hash')).toBe('hash-of-ann');
  open.at(-1)?.answer(true);
  expect((await own).allowed).toBe(true);
  await clock.advanceAsync(10_000);
  for (const { answer } of open) answer(true);
  const outcomes = await flood;
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused.length).toBe(1_000 - before);
  for (const each of refused) expect((each as PromiseRejectedResult).reason).toBeInstanceOf(UpstreamBusy);
});
