import { describe, expect, it } from 'vitest';
import { credentialObject, liveRecord, recordOf } from '../../test/builders/credential-object.ts';
import { chainOf, chainsOf, resolveAncestors } from './ancestors.ts';

const root = liveRecord({ name: 'root' });
const spec = { accessKey: 'root', key: 'some-key-of-twenty-characters' };
const middle = liveRecord({ name: 'middle', spec }, [root]);
const fresh = recordOf(
  credentialObject({ kind: 'DirectClusterEndpointToken', spec: { accessKey: 'middle' } }),
);
const lookup = (name: string) => [root, middle].find((record) => record.name === name);
const firstIssue = true;

describe('resolveAncestors', () => {
  it('is empty without an access key', () => {
    expect(resolveAncestors(root, lookup)).toEqual({ ancestors: [] });
  });

  it('finds them all, nearest first, for a credential that is issued for the first time', () => {
    expect(resolveAncestors(fresh, lookup, { firstIssue })).toEqual({ ancestors: [middle, root] });
  });

  it('tells an access key that is not there yet from one that is gone', () => {
    expect(resolveAncestors(fresh, () => undefined, { firstIssue })).toEqual({
      reason: 'AccessKeyNotFound',
      accessKey: 'middle',
    });
    const pinned = { ...fresh, status: { serial: 1, accessKeyUID: middle.uid } };
    expect(resolveAncestors(pinned, () => undefined, { firstIssue })).toEqual({
      reason: 'AccessKeyGone',
      accessKey: 'middle',
    });
  });

  it.each([1, 2, 3, 8, 9])('finds a loop of %i access keys none of which was ever confirmed', (length) => {
    const loop = Array.from({ length }, (_, index) => {
      const accessKey = `loop-${(index + 1) % length}`;
      return recordOf(credentialObject({ name: `loop-${index}`, spec: { accessKey } }));
    });
    const find = (name: string) => loop.find((record) => record.name === name);
    const below = recordOf(credentialObject({ name: 'below', spec: { accessKey: 'loop-0' } }));
    for (const record of [...loop, below]) {
      expect(resolveAncestors(record, find, { firstIssue })).toMatchObject({
        reason: 'AccessKeyChainInvalid',
      });
    }
  });

  it('never follows an ancestor that has pinned nothing', () => {
    const unpinned = { ...middle, status: { serial: 1 } };
    const find = (name: string) => (name === 'middle' ? unpinned : root);
    expect(resolveAncestors(fresh, find, { firstIssue })).toEqual({
      reason: 'Unconfirmed',
      accessKey: 'root',
    });
  });

  it('does not pin another object than the one that was pinned', () => {
    const pinned = { ...fresh, status: { serial: 0, accessKeyUID: 'another' } };
    expect(resolveAncestors(pinned, lookup, { firstIssue })).toEqual({
      reason: 'AccessKeyGone',
      accessKey: 'middle',
    });
  });
});

describe('chainOf', () => {
  it('is nothing without ancestors', () => {
    expect(chainOf([])).toBeUndefined();
  });

  it('is a hash that stays the same while nothing changes', () => {
    expect(chainOf([middle, root])).toMatch(/^[0-9a-f]{64}$/);
    expect(chainOf([middle, root])).toBe(
      chainOf([
        { ...middle, ttl: 5 },
        { ...root, disabled: true },
      ]),
    );
  });

  it.each([
    ['an ancestor less', [middle]],
    ['another order', [root, middle]],
    ['another UID', [{ ...middle, uid: 'x' }, root]],
    ['another fingerprint', [middle, { ...root, fingerprints: ['v1:x'] }]],
  ])('differs with %s', (_, ancestors) => {
    expect(chainOf(ancestors)).not.toBe(chainOf([middle, root]));
  });

  it('is not found when an ancestor has no fingerprint', () => {
    expect(chainOf([middle, { ...root, fingerprints: [] }])).toBeUndefined();
  });

  it('has one form for each algorithm that all of them know', () => {
    const upgraded = [middle, root].map((record) => ({
      ...record,
      fingerprints: ['v2:x', ...record.fingerprints],
    }));
    expect(chainsOf(upgraded)).toHaveLength(2);
    expect(chainsOf(upgraded)[1]).toBe(chainOf([middle, root]));
  });
});
