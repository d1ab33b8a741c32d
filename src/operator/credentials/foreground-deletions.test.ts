import { beforeEach, expect, it } from 'vitest';
import { liveRecord } from '../../../test/builders/credential-object.ts';
import { ForegroundDeletions } from './foreground-deletions.ts';
import type { SecretRecord } from './secret-record.ts';

let now: number;
let deletions: ForegroundDeletions;
const secret = { key: 'default/out' } as SecretRecord;
const deleted = (name: string, ...finalizers: string[]) => liveRecord({ name, metadata: { finalizers } });
const inForeground = deleted('one', 'ours', 'foregroundDeletion');

beforeEach(() => {
  now = 1_000;
  deletions = new ForegroundDeletions(() => now, 60_000);
});

const isLeft = (record = inForeground, present: SecretRecord | undefined = secret) => {
  deletions.begin(record, present);
  return deletions.isLeftToCollector(record);
};

it('nothing of an object that is deleted in the background is left to the garbage collector', () => {
  const record = deleted('one', 'ours');
  expect([isLeft(record), deletions.end(record)]).toEqual([false, undefined]);
});

it('the garbage collector has ten seconds, from when the deletion was first seen', () => {
  expect(isLeft()).toBe(true);
  now += 9_999;
  expect(isLeft()).toBe(true);
  now += 1;
  expect(isLeft()).toBe(false);
});

it('the garbage collector has half of the time that the object may wait, where that is less', () => {
  deletions = new ForegroundDeletions(() => now, 5_000);
  expect(isLeft()).toBe(true);
  now += 2_500;
  expect(isLeft()).toBe(false);
});

it('nothing is left to it any more when it has taken its finalizer off', () => {
  expect([isLeft(), isLeft(deleted('one', 'ours'))]).toEqual([true, false]);
});

it('a Secret counts as collected for a second when it has taken its finalizer off: its deletion may come later', () => {
  const collected = deleted('one', 'ours');
  deletions.begin(inForeground, secret);
  expect(deletions.areSecretsLeftToCollector(inForeground)).toBe(true);
  expect(deletions.areSecretsLeftToCollector(collected)).toBe(true);
  now += 999;
  expect(deletions.areSecretsLeftToCollector(collected)).toBe(true);
  now += 1;
  expect(deletions.areSecretsLeftToCollector(collected)).toBe(false);
  expect(deletions.areSecretsLeftToCollector(deleted('other', 'ours'))).toBe(false);
});

it('the Secret that was there at the beginning is known at the end, once', () => {
  deletions.begin(inForeground, secret);
  deletions.begin(inForeground, undefined);
  expect([deletions.end(inForeground), deletions.end(inForeground)]).toEqual([secret, undefined]);
});

it('a Secret that something else has deleted is not named at the end, and the head start does not begin again', () => {
  isLeft();
  now += 10_000;
  deletions.forgetSecret(inForeground);
  expect([isLeft(), deletions.end(inForeground)]).toEqual([false, undefined]);
});

it('only the last thousand are remembered', () => {
  for (let n = 0; n <= 1_000; n++) deletions.begin({ ...inForeground, uid: `u${n}` }, secret);
  const ends = ['u0', 'u1'].map((uid) => deletions.end({ ...inForeground, uid }));
  expect(ends).toEqual([undefined, secret]);
});
