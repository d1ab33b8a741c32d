import { expect, it } from 'vitest';
import { liveRecord } from '../../../test/builders/credential-object.ts';
import { CredentialRecords } from './credential-records.ts';
import { RecentChanges } from './recent-changes.ts';

/** As a reflector fills it: the position follows each change. */
function start(first?: string) {
  const records = new CredentialRecords();
  const state = { position: first };
  const changes = new RecentChanges(records, () => state.position);
  const store = records.ofKind.OwnedAccessKey;
  const put = (name: string, resourceVersion: string) => {
    store.upsert(liveRecord({ name, metadata: { resourceVersion } }));
    if (state.position !== undefined) state.position = resourceVersion;
  };
  const remove = (name: string, resourceVersion: string) => {
    store.remove(name);
    state.position = resourceVersion;
  };
  const since = (version: string) =>
    changes.since('OwnedAccessKey', version)?.map(({ type, key }) => `${type} ${key}`);
  return { state, put, remove, since, position: () => changes.position('OwnedAccessKey') };
}

it('knows what came after a version, deletions too', () => {
  const { state, put, remove, since, position } = start();
  put('a', '9');
  put('b', '10');
  state.position = '11';
  put('a', '12');
  put('c', '15');
  remove('b', '17');
  expect(since('11')).toEqual(['updated a', 'added c', 'deleted b']);
  expect(since('12')).toEqual(['added c', 'deleted b']);
  expect(since('16')).toEqual(['deleted b']);
  expect(since('17')).toEqual([]);
  expect(position()).toBe('17');
});

it('has a deletion for a client that another replica told a later version, which belongs to no object', () => {
  const { put, remove, since } = start('10');
  put('a', '12');
  remove('a', '15');
  expect(since('14')).toEqual(['deleted a']);
});

it('does not know what came before it knew everything', () => {
  const { state, put, since } = start();
  put('a', '9');
  expect(since('9')).toBeUndefined();
  state.position = '11';
  expect(since('10')).toBeUndefined();
  put('a', '12');
  expect(since('11')).toEqual(['updated a']);
});

it('goes on while everything is read again', () => {
  const { state, put, since } = start('10');
  expect(since('10')).toEqual([]);
  state.position = undefined;
  put('a', '12');
  expect(since('11')).toEqual(['added a']);
  state.position = '13';
  expect(since('12')).toEqual([]);
});

it('forgets what is long ago', () => {
  const { put, since } = start('0');
  for (let version = 1; version <= 4_001; version++) put('a', String(version));
  expect(since('1999')).toBeUndefined();
  expect(since('2000')).toHaveLength(2_001);
});

it('keeps no scope of the versions that an object had: one user who changes it often would fill the memory', () => {
  const records = new CredentialRecords();
  const changes = new RecentChanges(records, () => '1');
  const store = records.ofKind.OwnedAccessKey;
  const version = (resourceVersion: string) =>
    liveRecord({
      spec: { user: 'alice', scope: { projects: [{ project: 'shop' }] } },
      metadata: { resourceVersion },
    });
  store.upsert(version('2'));
  store.upsert(version('3'));
  const kept = changes.since('OwnedAccessKey', '1')?.flatMap(({ previous, current }) => [previous, current]);
  expect(kept?.map((record) => record && [record.resourceVersion, record.scope])).toEqual([
    undefined,
    ['2', {}],
    ['2', {}],
    ['3', {}],
  ]);
  expect(store.get(version('3').key)?.scope).toEqual({ projects: [{ project: 'shop' }] });
});
