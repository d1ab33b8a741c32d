import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { UpstreamBusy } from '../turns/request-slots.ts';
import { EntryPermissions } from './entry-permissions.ts';
import { askAsUser, Questions } from './questions.ts';

const alice = { kind: 'user', user: 'alice', groups: [] } as const;
const entry = { verb: 'use', resource: 'clusters', namespace: '', name: 'c' };

interface Platform {
  readonly answerMs?: number;
  readonly maxConnections?: number;
  readonly random?: () => number;
  /** Questions of new requests at once. */
  readonly maxEntering?: number;
}

/** The API server takes its time for each answer, which is yes unless the test says otherwise. */
function start({
  answerMs = 0,
  maxConnections = 100,
  random = () => 0.5,
  maxEntering = 10_000,
}: Platform = {}) {
  const clock = new FakeClock();
  const asked: number[] = [];
  const platform = { allowed: true, isAway: false, answerMs, silentFor: '' };
  const create = async (who: object) => {
    asked.push(clock.monotonic());
    if ('user' in who && who.user === platform.silentFor) await new Promise(() => undefined);
    const { answerMs: ms } = platform;
    if (ms > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, ms));
    if (platform.isAway) throw new Error('the API server is away');
    return { status: { allowed: platform.allowed } };
  };
  const isAllowed = askAsUser({ as: (who: object) => ({ create: () => create(who) }) as never });
  const lost: unknown[] = [];
  const line = { isAllowed, clock, max: 10_000, maxWaiting: 0, maxWaitMs: 1 };
  const permissions = new EntryPermissions({
    entering: new Questions({ ...line, max: maxEntering }),
    staying: new Questions(line),
    clock,
    random,
    log: silentLogger,
    maxStayMs: 45_000,
    maxConnections,
    onLost: ({ user }) => lost.push([user, clock.monotonic()]),
  });
  /** Looks at the stay of each user twice a second, as the sweep over what is open does. Those who may stay at the end. */
  const stay = async (ms: number, users: readonly string[] = ['alice']) => {
    for (let left = ms; left > 0; left -= 500) {
      for (const user of users) permissions.mayStay({ ...alice, user }, entry);
      await clock.advanceAsync(Math.min(left, 500));
    }
    return users.filter((user) => permissions.mayStay({ ...alice, user }, entry));
  };
  const enter = async (...users: readonly string[]) =>
    await Promise.all(users.map((user) => permissions.ask({ ...alice, user }, entry)));
  return { clock, permissions, asked, lost, platform, stay, enter };
}

describe('the right to enter', () => {
  it('counts five seconds from the question, which is asked once for all who wait for it', async () => {
    const { clock, permissions, asked } = start({ answerMs: 1_000 });
    const answers = Promise.all([permissions.ask(alice, entry), permissions.ask(alice, entry)]);
    await clock.advanceAsync(1_000);
    await answers;
    expect([permissions.find(alice, entry), asked.length]).toEqual([true, 1]);
    await clock.advanceAsync(4_000);
    expect(permissions.find(alice, entry)).toBeUndefined();
  });

  it('answers those who wait with what is known, and asks about each verb and group of its own', async () => {
    const { permissions, asked, platform } = start();
    expect(await permissions.denialOf(alice, entry)).toBeUndefined();
    platform.allowed = false;
    expect([await permissions.isAllowed(alice, entry), asked.length]).toEqual([true, 1]);
    expect(await permissions.isAllowed(alice, { ...entry, verb: 'create' })).toBe(false);
    expect(await permissions.isAllowed(alice, { ...entry, group: 'other' })).toBe(false);
    expect(await permissions.denialOf({ ...alice, user: 'bob' }, entry)).toMatchObject({
      code: 'ERR_TARGET_ENTRY',
    });
    expect(asked.length).toBe(4);
  });

  it('that took longer than it counts is good for who waited, or they would ask for ever', async () => {
    const { clock, permissions } = start({ answerMs: 6_000 });
    const answer = permissions.ask(alice, entry);
    await clock.advanceAsync(6_000);
    await answer;
    expect(permissions.find(alice, entry)).toBe(true);
    await clock.advanceAsync(100);
    expect(permissions.find(alice, entry)).toBeUndefined();
  });
});

describe('the right to stay', () => {
  it('is asked for again every 15 seconds, and no more often', async () => {
    const { stay, enter, asked } = start({ random: () => 0 });
    await enter('alice');
    expect(await stay(120_000)).toEqual(['alice']);
    expect(asked).toEqual([0, 15_000, 30_000, 45_000, 60_000, 75_000, 90_000, 105_000, 120_000]);
  });

  it('is not asked for when nothing is under way', async () => {
    const { clock, enter, asked } = start();
    await enter('alice');
    await clock.advanceAsync(120_000, 1_000);
    expect(asked).toHaveLength(1);
  });

  it.each([0, 0.5, 0.999])(
    'is lost within 20 seconds after it was taken away (jitter %d)',
    async (jitter) => {
      const { stay, enter, platform } = start({ random: () => jitter });
      await enter('alice');
      platform.allowed = false;
      expect(await stay(14_500)).toEqual(['alice']);
      expect(await stay(5_500)).toEqual([]);
    },
  );

  it('is lost at once when a new request learns of it, which is told once', async () => {
    const { clock, permissions, enter, platform, stay, lost } = start();
    await enter('alice');
    await clock.advanceAsync(5_000);
    platform.allowed = false;
    await permissions.ask(alice, entry);
    expect(await stay(0)).toEqual([]);
    await clock.advanceAsync(5_000);
    await permissions.ask(alice, entry);
    expect(lost).toEqual([['alice', 5_000]]);
  });

  it('is lost in the moment in which a question for a request under way gets its no', async () => {
    const { clock, stay, enter, platform, lost } = start({ random: () => 0 });
    await enter('alice');
    Object.assign(platform, { allowed: false, answerMs: 100 });
    await stay(15_000);
    expect(lost).toEqual([]);
    await clock.advanceAsync(100);
    expect(lost).toEqual([['alice', 15_100]]);
  });

  it('outlasts failures for 45 seconds from the last yes, and no longer; the questions come ever slower', async () => {
    const { stay, enter, platform, asked } = start({ random: () => 0.999 });
    await enter('alice');
    platform.isAway = true;
    expect(await stay(44_500)).toEqual(['alice']);
    expect(await stay(500)).toEqual([]);
    expect(asked.length).toBeLessThan(8);
    const gaps = asked.slice(2).map((at, index) => at - (asked[index + 1] ?? 0));
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
  });

  it('survives a failure that is over before that', async () => {
    const { stay, enter, platform } = start();
    await enter('alice');
    platform.isAway = true;
    await stay(40_000);
    platform.isAway = false;
    expect(await stay(60_000)).toEqual(['alice']);
  });

  it('ends while an API server keeps every question waiting', async () => {
    const { stay, enter, clock } = start({ answerMs: 100_000 });
    const entered = enter('alice');
    await clock.advanceAsync(100_000);
    await entered;
    expect(await stay(45_000)).toEqual([]);
  });

  it('does not depend on new requests, however long their questions take', async () => {
    const { stay, enter, permissions, platform } = start({ maxEntering: 1 });
    await enter('alice');
    platform.silentFor = 'mallory';
    void permissions.ask({ ...alice, user: 'mallory' }, entry);
    await expect(permissions.ask({ ...alice, user: 'bob' }, entry)).rejects.toBeInstanceOf(UpstreamBusy);
    expect(await stay(120_000)).toEqual(['alice']);
  });

  it('may be confirmed while a question of a new request is under way, which gets its answer all the same', async () => {
    const { stay, enter, clock, permissions, platform } = start({ random: () => 0 });
    await enter('alice');
    await clock.advanceAsync(15_000);
    platform.answerMs = 9_000;
    const answer = permissions.isAllowed(alice, entry);
    platform.answerMs = 0;
    await clock.advanceAsync(100);
    expect(await stay(8_900)).toEqual(['alice']);
    expect(await answer).toBe(true);
  });

  it('was never given to someone who did not enter', async () => {
    const { stay, enter } = start();
    await enter('alice');
    expect(await stay(0, ['alice', 'bob'])).toEqual(['alice']);
  });

  it('of many is asked for at a bounded rate, never at once, and no one is forgotten', async () => {
    let turn = 0;
    const random = () => (turn++ % 10) / 10;
    const { stay, enter, asked } = start({ maxConnections: 3_000, random });
    const users = Array.from({ length: 3_000 }, (_, index) => `user-${index}`);
    await enter(...users);
    expect(await stay(90_000, users)).toHaveLength(3_000);
    const later = asked.slice(3_000);
    const perSecond = new Map<number, number>();
    for (const at of later)
      perSecond.set(Math.floor(at / 1_000), (perSecond.get(Math.floor(at / 1_000)) ?? 0) + 1);
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(2 * 200);
    expect(later.length).toBeLessThan(6.5 * 3_000);
  });
});
