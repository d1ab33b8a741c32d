import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { ReadPolicies } from './policy-digest.ts';
import { PolicyHistory } from './policy-history.ts';

const start = Date.UTC(2026, 10, 26);

let clock: FakeClock;
let history: PolicyHistory;
/** The digest of what the watches have brought. */
let seen: string | undefined;
/** The policies in the API server. */
let present: ReadPolicies;
let questions: number;
/** How often it was said that all is known again. */
let known: number;
/** Since when all policies have their effect. */
let guardedSince: number;
/** Holds back the answers. */
let held: Promise<void> | undefined;

async function answer(): Promise<ReadPolicies> {
  questions += 1;
  const now = present;
  await held;
  return now;
}

beforeEach(() => {
  clock = new FakeClock(start);
  [seen, present, questions] = ['a', { digest: 'a', resourceVersion: '100' }, 0];
  [guardedSince, held, known] = [start, undefined, 0];
  history = new PolicyHistory({
    clock,
    readAll: answer,
    digestOfAll: () => seen,
    readGuarding: async () => (await answer()).digest,
    digestOfGuarding: () => seen,
    isGuarded: (_, since) => since >= guardedSince,
    onKnown: () => {
      known += 1;
    },
  });
});

const unseen = expect.objectContaining({ code: 'ERR_ADMISSION_UNSEEN' });

describe('what is known of the policies', () => {
  it('reaches up to the newest object that has arrived before the question', async () => {
    await history.known('changes', '90');
    expect([history.isKnown('changes', '90'), history.isKnown('changes', '91')]).toEqual([true, false]);
    await history.known('changes', '90');
    expect(questions).toBe(1);
  });

  it.each<[string, string | undefined]>([
    ['the watches have not brought what the API server has', 'b'],
    ['the policies are not known at all', undefined],
  ])('is nothing new while %s', async (_, brought) => {
    seen = brought;
    await expect(history.known('changes', '100')).rejects.toThrow(unseen);
    await expect(history.prove()).rejects.toThrow(unseen);
    expect(history.isKnown('changes', '100')).toBe(false);
    expect(history.proven).toBeUndefined();
  });

  it('takes one question for all who wait, and one more for those who came while the answer was on its way', async () => {
    const flowing = Promise.withResolvers<void>();
    held = flowing.promise;
    const early = [history.known('changes', '99'), history.known('changes', '98')];
    const late = [history.known('changes', '101'), history.known('changes', '102')];
    flowing.resolve();
    await Promise.all(early);
    expect([questions, history.isKnown('changes', '101')]).toEqual([1, false]);
    await clock.advanceAsync(25, 5);
    await Promise.all(late);
    expect(questions).toBe(2);
  });

  it('is asked for at most once in 25 milliseconds', async () => {
    await history.known('changes', '1');
    const second = history.known('changes', '2');
    await clock.advanceAsync(20, 5);
    expect(questions).toBe(1);
    await clock.advanceAsync(5, 5);
    await second;
    expect(questions).toBe(2);
  });

  it('is asked for again after a question that failed', async () => {
    held = Promise.reject(new Error('down'));
    await expect(history.known('changes', '100')).rejects.toThrow('down');
    held = undefined;
    const again = history.known('changes', '100');
    await clock.advanceAsync(25, 5);
    await again;
    expect(history.isKnown('changes', '100')).toBe(true);
    // Once, for all who waited meanwhile.
    expect(known).toBe(1);
    await history.prove();
    expect(known).toBe(1);
  });

  it('is said with its moment, and how long ago that was', async () => {
    expect(history.age).toBe(Number.POSITIVE_INFINITY);
    await history.prove();
    clock.advance(3_000);
    expect(history.age).toBe(3_000);
    expect(history.proven).toEqual(present);
    expect(history.isKnown('changes', '100')).toBe(true);
  });
});

describe('a time without policies', () => {
  const isUnguarded = (version: string) => history.wasUnguarded('changes', version);

  it('begins after the last version of which all is known', async () => {
    await history.known('changes', '100');
    history.begin('changes');
    expect(history.isOpen('changes')).toBe(true);
    expect([isUnguarded('100'), isUnguarded('101')]).toEqual([false, true]);
    expect(history.wasUnguarded('records', '101')).toBe(false);
  });

  it('begins later where the watch has brought more', async () => {
    await history.known('changes', '100');
    history.begin('changes', '150');
    expect([isUnguarded('150'), isUnguarded('151')]).toEqual([false, true]);
  });

  it('begins with the first object where nothing was known', () => {
    history.begin('changes');
    expect(isUnguarded('1')).toBe(true);
  });

  it('ends with a question that was asked when the policies had their effect, not with an answer that came then', async () => {
    history.begin('changes');
    guardedSince = start + 5_000;
    const flowing = Promise.withResolvers<void>();
    held = flowing.promise;
    const asked = history.prove();
    clock.advance(6_000);
    flowing.resolve();
    await asked;
    expect(history.isOpen('changes')).toBe(true);
    present = { ...present, resourceVersion: '120' };
    await history.prove();
    expect(history.isOpen('changes')).toBe(false);
    expect([isUnguarded('120'), isUnguarded('121')]).toEqual([true, false]);
  });

  it('does not end with what is asked about single objects: that says nothing of now', async () => {
    history.begin('changes');
    await history.known('changes', '200');
    expect(history.isOpen('changes')).toBe(true);
  });
});
