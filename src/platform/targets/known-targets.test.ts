import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { TargetName } from '../../scope/named-targets.ts';
import { KnownTargets } from './known-targets.ts';
import { toProjectRecord } from './project-record.ts';
import { toClusterRecord, toInstanceRecord, toSpaceRecord } from './target-record.ts';
import { TargetStores } from './target-stores.ts';

const label = 'management.platform.sh/project';

function setUp() {
  const stores = new TargetStores(new FakeClock());
  const known = new KnownTargets(stores, 'p-');
  const heard: TargetName[] = [];
  known.subscribe((name) => heard.push(name));
  return { stores, known, heard };
}

let version = 1;
const creationTimestamp = '2026-11-21T09:00:00Z';
const metadata = (name: string, more: object = {}) => ({
  metadata: { name, uid: `u-${name}`, resourceVersion: String(version++), creationTimestamp, ...more },
});
const deletionTimestamp = '2026-11-21T10:00:00Z';
const project = (more: object = {}) =>
  toProjectRecord(metadata('p-a', { labels: { [label]: 'a' }, ...more }));

describe('KnownTargets', () => {
  it('knows a project by its name and its namespace', () => {
    const { stores, known } = setUp();
    stores.projects.upsert(project());
    expect(['project/a', 'project/*', 'namespace/p-a', 'project/b'].filter(known.has)).toEqual([
      'project/a',
      'project/*',
      'namespace/p-a',
    ]);
  });

  it.each([
    ['has another label', { labels: { [label]: 'b' } }],
    ['is being deleted', { deletionTimestamp }],
  ])('knows no project when its namespace %s', (_, more) => {
    const { stores, known } = setUp();
    stores.projects.upsert(project(more));
    expect(known.has('project/*')).toBe(false);
  });

  it('knows clusters, spaces and virtual clusters until they are being deleted', () => {
    const { stores, known } = setUp();
    const names = [
      'cluster/c',
      'space/a/s',
      'space/a/*',
      'virtualCluster/a/v',
      'instance/p-a/v',
      'instance/*/*',
    ];
    const put = (more: object = {}) => {
      stores.clusters.upsert(toClusterRecord(metadata('c', more)));
      stores.spaces.upsert(toSpaceRecord(metadata('s', { namespace: 'p-a', ...more })));
      stores.instances.upsert(toInstanceRecord(metadata('v', { namespace: 'p-a', ...more })));
    };
    put();
    expect(names.filter(known.has)).toEqual(names);
    put({ deletionTimestamp });
    expect(names.filter(known.has)).toEqual([]);
  });

  it('knows no instance in a namespace that can be no project', () => {
    const { stores, known } = setUp();
    stores.spaces.upsert(toSpaceRecord(metadata('s', { namespace: 'other' })));
    stores.instances.upsert(toInstanceRecord(metadata('v', { namespace: 'other' })));
    expect(known.has('instance/*/v')).toBe(false);
  });

  it('tells of the first of a name and of the last, and of nothing between', () => {
    const { stores, heard } = setUp();
    stores.clusters.upsert(toClusterRecord(metadata('c')));
    stores.clusters.upsert(toClusterRecord(metadata('d')));
    stores.clusters.upsert(toClusterRecord(metadata('d', { labels: { a: 'b' } })));
    expect(heard).toEqual(['cluster/c', 'cluster/*', 'cluster/d']);
    heard.length = 0;
    stores.clusters.remove('c');
    stores.clusters.remove('d');
    expect(heard).toEqual(['cluster/c', 'cluster/d', 'cluster/*']);
  });
});
