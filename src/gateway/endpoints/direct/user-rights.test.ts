import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import type { Identity } from '../../../credentials/identity.ts';
import { UserRights } from './user-rights.ts';

const identity = (user: string, groups: readonly string[] = []) => ({ user, groups }) as Identity;
const entry = { verb: 'use', resource: 'clusters', namespace: '', name: 'west' };

/** An API server whose answers come when the test says so. */
class Permissions {
  readonly allowed = new Set<string>();
  readonly open: { readonly user: string; readonly answer: (problem?: Error) => void }[] = [];
  asked = 0;

  async isAllowed({ user }: Identity): Promise<boolean> {
    this.asked += 1;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const answer = (problem?: Error) =>
      problem === undefined ? resolve(this.allowed.has(user)) : reject(problem);
    this.open.push({ user, answer });
    return await promise;
  }

  mayStay({ user }: Identity): boolean {
    return this.allowed.has(user);
  }
}

function setUp({ allowed = ['alice'] } = {}) {
  const clock = new FakeClock();
  const permissions = new Permissions();
  for (const user of allowed) permissions.allowed.add(user);
  const changed: string[] = [];
  const rights = new UserRights({ permissions, clock, entry, onChange: (hash) => changed.push(hash) });
  const answerAll = async (problem?: Error) => {
    while (permissions.open.length > 0) {
      for (const { answer } of permissions.open.splice(0)) answer(problem);
      await clock.settle();
    }
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    rights.check();
    await answerAll();
  };
  return { clock, permissions, rights, changed, answerAll, pass };
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

it('has four questions under way at most, whatever comes at once', async () => {
  const { permissions, rights, answerAll } = setUp({ allowed: [] });
  for (let user = 0; user < 1_000; user += 1) rights.find(`${user}`, identity(`user-${user}`));
  expect(permissions.open).toHaveLength(4);
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
    const { permissions, rights, clock, answerAll } = setUp({ allowed: ['user-9'] });
    for (let user = 0; user < 10; user += 1) rights.find(`${user}`, identity(`user-${user}`));
    for (const { answer } of permissions.open.splice(0)) answer(new Error('refused'));
    await clock.settle();
    await answerAll();
    expect(rights.find('9', identity('user-9'))).toBe(true);
  });
});

describe('a user without tokens', () => {
  it('is forgotten, and asked about again when there is one', async () => {
    const { permissions, rights, answerAll, pass } = setUp();
    rights.find('1', identity('alice'));
    await answerAll();
    rights.forget('1');
    await pass(0);
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
