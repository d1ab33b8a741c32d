import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import type { Identity } from '../../../credentials/identity.ts';
import { UpstreamBusy } from '../../turns/request-slots.ts';
import { UserRights } from './user-rights.ts';

const identity = (user: string, groups: readonly string[] = []) => ({ user, groups }) as Identity;
const entry = { verb: 'use', resource: 'clusters', namespace: '', name: 'west' };

const maxStayMs = 45_000;

const personOf = ({ user, groups }: Identity): string => JSON.stringify([user, groups]);

/** An API server whose answers come when the test says so. */
class Permissions {
  readonly maxStayMs = maxStayMs;
  readonly allowed = new Set<string>();
  /** When users were last asked about, where no newer answer came. */
  readonly old = new Map<string, number>();
  /** Users with their groups that have an answer. */
  readonly answered = new Set<string>();
  readonly open: { readonly user: string; readonly answer: (problem?: Error) => void }[] = [];
  /** In the order in which their last answers were read. */
  readonly looked: string[] = [];
  readonly #clock: FakeClock;
  asked = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  async isAllowed(identity: Identity): Promise<boolean> {
    const { user } = identity;
    this.asked += 1;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const answer = (problem?: Error) => {
      if (problem !== undefined) return reject(problem);
      this.old.delete(user);
      this.answered.add(personOf(identity));
      resolve(this.allowed.has(user));
    };
    this.open.push({ user, answer });
    return await promise;
  }

  lastAnswer(identity: Identity) {
    const { user } = identity;
    this.looked.push(user);
    if (!this.answered.has(personOf(identity))) return undefined;
    return { allowed: this.allowed.has(user), asked: this.old.get(user) ?? this.#clock.monotonic() };
  }
}

function setUp({ allowed = ['alice'] } = {}) {
  const clock = new FakeClock();
  const permissions = new Permissions(clock);
  for (const user of allowed) permissions.allowed.add(user);
  const changed: string[] = [];
  const heard = { silences: 0 };
  const onSilence = () => {
    heard.silences += 1;
  };
  const onChange = (hash: string) => changed.push(hash);
  const rights = new UserRights({ permissions, clock, entry, onChange, onSilence });
  const answerAll = async (problem?: Error) => {
    while (permissions.open.length > 0) {
      for (const { answer } of permissions.open.splice(0)) answer(problem);
      await clock.settle();
    }
  };
  const pass = async (ms: number, problem?: Error) => {
    clock.advance(ms);
    rights.check();
    await answerAll(problem);
  };
  return { clock, permissions, rights, changed, heard, answerAll, pass };
}

it('asks once for all tokens of a user, and once more for the same user with other groups', async () => {
  const { permissions, rights, changed, answerAll } = setUp();
  for (const hash of ['1', '2', '3']) expect(rights.find(hash, identity('alice'))).toBeUndefined();
  expect(rights.find('4', identity('alice', ['admins']))).toBeUndefined();
  expect(rights.isAsking).toBe(true);
  await answerAll();
  expect(permissions.asked).toBe(2);
  expect(changed.toSorted()).toEqual(['1', '2', '3', '4']);
  expect(rights.find('1', identity('alice'))).toBe(true);
  expect(rights.isAsking).toBe(false);
});

describe('the answer that another stream has got', () => {
  /** The first stream has asked about the users; what follows is seen by another. */
  const setUpSecond = async (allowed: readonly string[] = ['alice']) => {
    const { permissions, clock, rights: first, answerAll } = setUp({ allowed: [...allowed] });
    for (const user of ['alice', 'mallory']) first.find(user, identity(user));
    await answerAll();
    const changed: string[] = [];
    const rights = new UserRights({
      ...{ permissions, clock, entry, onSilence: () => {} },
      onChange: (hash) => changed.push(hash),
    });
    return { permissions, clock, rights, changed, answerAll };
  };

  it('counts at once if it was a yes, and no question is asked', async () => {
    const { permissions, rights } = await setUpSecond();
    expect(rights.find('1', identity('alice'))).toBe(true);
    expect(rights.isAsking).toBe(false);
    expect(permissions.open).toEqual([]);
  });

  it('does not count for the same user with other groups, nor if it was a no', async () => {
    const { permissions, rights } = await setUpSecond();
    expect(rights.find('1', identity('alice', ['admins']))).toBeUndefined();
    expect(rights.find('2', identity('mallory'))).toBeUndefined();
    expect(permissions.open.map(({ user }) => user)).toEqual(['alice', 'mallory']);
  });

  it('does not count any more when it is older than those on which a stream under way rests', async () => {
    const { permissions, clock, rights } = await setUpSecond();
    permissions.old.set('alice', clock.monotonic());
    clock.advance(maxStayMs / 2);
    expect(rights.find('1', identity('alice'))).toBeUndefined();
    expect(permissions.open.map(({ user }) => user)).toEqual(['alice']);
  });

  it('ends with the next one: the right may have been lost since', async () => {
    const { permissions, rights, changed } = await setUpSecond();
    expect(rights.find('1', identity('alice'))).toBe(true);
    permissions.allowed.delete('alice');
    rights.check();
    expect(changed).toEqual(['1']);
    expect(rights.find('1', identity('alice'))).toBe(false);
  });
});

it('has sixteen questions under way at most, whatever comes at once', async () => {
  const { permissions, rights, answerAll } = setUp({ allowed: [] });
  for (let user = 0; user < 1_000; user += 1) rights.find(`${user}`, identity(`user-${user}`));
  expect(permissions.open).toHaveLength(16);
  await answerAll();
  expect(permissions.asked).toBe(1_000);
  expect(rights.isAsking).toBe(false);
});

describe('a user without the right', () => {
  it('is told of as such, is asked about again after a minute, and has it then', async () => {
    const { permissions, rights, changed, answerAll, pass } = setUp({ allowed: [] });
    rights.find('1', identity('alice'));
    await answerAll();
    expect(rights.find('1', identity('alice'))).toBe(false);
    permissions.allowed.add('alice');
    await pass(59_000);
    expect([rights.find('1', identity('alice')), permissions.asked]).toEqual([false, 1]);
    await pass(1_000);
    expect([rights.find('1', identity('alice')), permissions.asked]).toEqual([true, 2]);
    expect(changed).toEqual(['1', '1']);
  });

  it('who had it loses it at the next look, for each token', async () => {
    const { permissions, rights, changed, answerAll, pass } = setUp();
    for (const hash of ['1', '2']) rights.find(hash, identity('alice'));
    await answerAll();
    changed.length = 0;
    permissions.allowed.clear();
    await pass(0);
    expect(changed.toSorted()).toEqual(['1', '2']);
    expect(rights.find('1', identity('alice'))).toBe(false);
  });
});

describe('a question that fails', () => {
  it('leaves it unknown, and is asked again after five seconds', async () => {
    const { permissions, rights, changed, answerAll, pass } = setUp();
    rights.find('1', identity('alice'));
    await answerAll(new Error('the API server is away'));
    expect(rights.find('1', identity('alice'))).toBeUndefined();
    expect([rights.isAsking, changed]).toEqual([true, []]);
    await pass(4_000);
    expect(permissions.asked).toBe(1);
    await pass(1_000);
    expect(rights.find('1', identity('alice'))).toBe(true);
    expect(rights.isAsking).toBe(false);
  });

  it('does not keep the others waiting', async () => {
    const { permissions, rights, clock, answerAll } = setUp({ allowed: ['user-39'] });
    for (let user = 0; user < 40; user += 1) rights.find(`${user}`, identity(`user-${user}`));
    for (const { answer } of permissions.open.splice(0)) answer(new Error('refused'));
    await clock.settle();
    await answerAll();
    expect(rights.find('39', identity('user-39'))).toBe(true);
  });
});

describe('a user without tokens', () => {
  it('is forgotten, and asked about again when there is one', async () => {
    const { permissions, rights, answerAll, pass } = setUp();
    rights.find('1', identity('alice'));
    await answerAll();
    rights.forget('1');
    await pass(0);
    permissions.answered.clear();
    expect(rights.find('2', identity('alice'))).toBeUndefined();
    expect(permissions.asked).toBe(2);
  });

  it('whose question is under way is not counted as unknown for ever', async () => {
    const { rights, answerAll, pass } = setUp();
    rights.find('1', identity('alice'));
    rights.forget('1');
    await answerAll(new Error('refused'));
    await pass(0);
    expect(rights.isAsking).toBe(false);
  });
});

it('a token that now speaks for another user has the right of that one alone', async () => {
  const { rights, changed, answerAll, pass, permissions } = setUp();
  rights.find('1', identity('alice'));
  await answerAll();
  rights.find('1', identity('mallory'));
  await answerAll();
  expect(rights.find('1', identity('mallory'))).toBe(false);
  changed.length = 0;
  permissions.allowed.clear();
  await pass(0);
  expect(changed).toEqual([]);
});

it('the groups of a user in another order are the same question', async () => {
  const { permissions, rights, answerAll } = setUp();
  rights.find('1', identity('alice', ['b', 'a']));
  rights.find('2', identity('alice', ['a', 'b']));
  await answerAll();
  expect(permissions.asked).toBe(1);
});

it('looks at the oldest answers first, so that the budget of questions reaches each of them', async () => {
  const { permissions, rights, answerAll, pass } = setUp({ allowed: ['alice', 'bob', 'carol'] });
  for (const user of permissions.allowed) rights.find(user, identity(user));
  await answerAll();
  // Of alice there is a newer answer, of the others there is none.
  for (const user of ['bob', 'carol']) permissions.old.set(user, 0);
  await pass(10_000);
  permissions.looked.length = 0;
  await pass(0);
  expect(permissions.looked).toEqual(['bob', 'carol', 'alice']);
});

describe('an answer that is too old', () => {
  const away = new Error('the API server is away');

  it('while nothing is answered ends the stream and takes no token away: no one refused', async () => {
    const { permissions, rights, changed, heard, answerAll, pass } = setUp({ allowed: ['alice', 'bob'] });
    for (const user of permissions.allowed) rights.find(user, identity(user));
    await answerAll();
    changed.length = 0;
    permissions.old.set('alice', 0).set('bob', 10_000);
    for (let second = 2; second < 45; second += 2) await pass(2_000, away);
    expect(heard.silences).toBe(0);
    await pass(1_000, away);
    expect([heard.silences, changed]).toEqual([1, []]);
  });

  it('while others are answered is asked for again, and takes nothing away as long as its question waits', async () => {
    const { permissions, rights, changed, heard, answerAll, pass } = setUp({ allowed: ['alice', 'bob'] });
    for (const user of permissions.allowed) rights.find(user, identity(user));
    await answerAll();
    const { asked } = permissions;
    changed.length = 0;
    permissions.old.set('alice', 0);
    for (let second = 0; second < 200; second += 2) await pass(2_000, new UpstreamBusy());
    expect([heard.silences, changed, permissions.asked > asked]).toEqual([0, [], true]);
    await pass(2_000);
    expect(permissions.old.size).toBe(0);
    expect(rights.find('alice', identity('alice'))).toBe(true);
  });

  it('whose own question alone fails does not count for ever', async () => {
    const { permissions, rights, changed, heard, answerAll, pass } = setUp({ allowed: ['alice', 'bob'] });
    for (const user of permissions.allowed) rights.find(user, identity(user));
    await answerAll();
    changed.length = 0;
    permissions.old.set('alice', 0);
    for (let second = 0; second < 88; second += 2) await pass(2_000, away);
    expect(changed).toEqual([]);
    await pass(2_000, away);
    expect([heard.silences, changed]).toEqual([0, ['alice']]);
  });

  it('is a no where the last answer was one', async () => {
    const { permissions, rights, changed, heard, answerAll, pass } = setUp();
    rights.find('1', identity('alice'));
    await answerAll();
    changed.length = 0;
    permissions.old.set('alice', 0);
    permissions.allowed.clear();
    await pass(100_000);
    expect([heard.silences, changed]).toEqual([0, ['1']]);
  });
});
