import { describe, expect, it } from 'vitest';
import {
  clusterRecord,
  instanceRecord,
  readyStatus,
  spaceRecord,
} from '../../../test/builders/target-record.ts';
import { systemClock } from '../../kube/clock.ts';
import type { RequestTarget } from '../../scope/request-path.ts';
import { TargetRecords } from '../index/target-records.ts';
import { Targets } from './targets.ts';

const namespace = 'p-red';
const metadata = (uid: string) => ({ uid, namespace });
const clusterRef = { cluster: 'c', namespace: 'apps' };
const confirmed = { clusterRef: { ...clusterRef, uid: 'cluster-1' } };

/** A project with a space and a virtual cluster, and the cluster of that space. */
function start() {
  const records = new TargetRecords('p-');
  records.projects.upsert({
    ...{ key: namespace, uid: 'p', resourceVersion: '1' },
    ...{ label: 'red', isDeleting: false, created: '' },
  });
  const make = {
    cluster: (uid: string) => records.clusters.upsert(clusterRecord({ name: 'c', metadata: { uid } })),
    space: (uid: string) =>
      records.spaces.upsert(
        spaceRecord({ name: 's', metadata: metadata(uid), spec: { clusterRef }, status: { confirmed } }),
      ),
    virtualCluster: (uid: string) =>
      records.instances.upsert(instanceRecord({ name: 'v', metadata: metadata(uid) })),
  };
  for (const [kind, create] of Object.entries(make)) create(`${kind}-1`);
  const targets = new Targets({
    ...{
      platform: {} as never,
      records,
      connections: { find: () => ({ isPlatform: () => false }) as never },
    },
    ...{ projectNamespacePrefix: 'p-', limits: {} as never, clock: systemClock },
  });
  return { make, records, targets, uids: (target: RequestTarget) => targets.find(target)?.uids };
}

const cluster: RequestTarget = { kind: 'cluster', cluster: 'c' };
const space: RequestTarget = { kind: 'space', project: 'red', space: 's' };
const virtualCluster: RequestTarget = { kind: 'virtualCluster', project: 'red', virtualCluster: 'v' };

it.each([
  ['cluster', 'cluster', cluster],
  ['space', 'space', space],
  ['space', 'cluster', space],
  ['virtual cluster', 'virtualCluster', virtualCluster],
] as const)(
  'a %s is another one when its %s was deleted and made again under the same name',
  (_, kind, target) => {
    const { make, uids } = start();
    const before = uids(target);
    make[kind](`${kind}-1`);
    expect(uids(target)).toBe(before);
    make[kind](`${kind}-2`);
    expect([before, uids(target)]).not.toContain(undefined);
    expect(uids(target)).not.toBe(before);
  },
);

const place = { ...confirmed.clusterRef, namespace: 'other' };

it.each<[string, Record<string, unknown>, string, string | undefined]>([
  ['is confirmed', { confirmed }, 'cluster-1', 'apps'],
  ['is confirmed in a Cluster that was made again since', { confirmed }, 'cluster-2', undefined],
  ['is confirmed as another namespace', { confirmed: { clusterRef: place } }, 'cluster-1', 'other'],
  ['was connected by an earlier release', readyStatus('True', 'Connected'), 'cluster-1', 'apps'],
  ['no one has confirmed', readyStatus('False', 'RequesterNotPermitted'), 'cluster-1', undefined],
])('leads into a space only as it is confirmed: one that %s', (_, status, uid, expected) => {
  const { make, records, targets } = start();
  make.cluster(uid);
  records.spaces.upsert(
    spaceRecord({ name: 's', metadata: metadata('space-2'), spec: { clusterRef }, status }),
  );
  const found = targets.find(space);
  expect(found?.upstream && found.namespace).toBe(expected);
});

it('the platform is always the same', () => {
  expect(start().uids({ kind: 'management' })).toBe('');
});

describe('the right to enter', () => {
  it.each([cluster, space, virtualCluster])('%j is the same whether it is there or not', (target) => {
    const { targets } = start();
    const other = new Targets({
      ...{
        platform: {} as never,
        records: new TargetRecords('p-'),
        connections: { find: () => ({}) as never },
      },
      ...{ projectNamespacePrefix: 'p-', limits: {} as never, clock: systemClock },
    });
    expect(other.find(target)).toBeUndefined();
    expect(targets.find(target)?.entry).toEqual(other.entryOf(target));
    expect(other.entryOf(target)).toEqual(targets.entryOf(target));
  });

  it.each<RequestTarget>([
    { kind: 'cluster', cluster: 'C' },
    { kind: 'cluster', cluster: 'c'.repeat(254) },
    { kind: 'space', project: 'a.b', space: 's' },
    { kind: 'virtualCluster', project: 'p'.repeat(62), virtualCluster: 'v' },
    { kind: 'virtualCluster', project: 'red', virtualCluster: '-v' },
  ])('is no question where nothing can have the name: %j', (target) => {
    expect(start().targets.entryOf(target)).toBeUndefined();
  });

  it('is none for the platform', () => {
    expect(start().targets.entryOf({ kind: 'management' })).toBeUndefined();
  });
});
