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
  deletions = new ForegroundDeletions(() => now);
});

it('Secrets of an object that is deleted in the background are left to no one', () => {
  const record = deleted('one', 'ours');
  expect(deletions.isLeftToCollector(record, secret)).toBe(false);
  expect(deletions.end(record)).toBeUndefined();
});

it('the garbage collector has two seconds, from when the deletion was first seen', () => {
  expect(deletions.isLeftToCollector(inForeground, secret)).toBe(true);
  now += 1_999;
  expect(deletions.isLeftToCollector(inForeground, undefined)).toBe(true);
  now += 1;
  expect(deletions.isLeftToCollector(inForeground, secret)).toBe(false);
});

it('the Secret that was there at the beginning is known at the end, once', () => {
  deletions.isLeftToCollector(inForeground, secret);
  deletions.isLeftToCollector(inForeground, undefined);
  expect([deletions.end(inForeground), deletions.end(inForeground)]).toEqual([secret, undefined]);
});

it('a Secret that something else has deleted is not named at the end, and the head start does not begin again', () => {
  deletions.isLeftToCollector(inForeground, secret);
  now += 2_000;
  deletions.forgetSecret(inForeground);
  expect(deletions.isLeftToCollector(inForeground, secret)).toBe(false);
  expect(deletions.end(inForeground)).toBeUndefined();
});

it('only the last thousand are remembered', () => {
  for (let n = 0; n <= 1_000; n++) deletions.isLeftToCollector({ ...inForeground, uid: `u${n}` }, secret);
  expect(deletions.end({ ...inForeground, uid: 'u0' })).toBeUndefined();
  expect(deletions.end({ ...inForeground, uid: 'u1' })).toBe(secret);
});
