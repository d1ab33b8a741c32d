import { expect, it } from 'vitest';
import { clusterRecord, instanceRecord, spaceRecord } from '../../../test/builders/target-record.ts';
import { systemClock } from '../../kube/clock.ts';
import type { RequestTarget } from '../../scope/request-path.ts';
import { TargetRecords } from '../index/target-records.ts';
import { Targets } from './targets.ts';

const namespace = 'p-red';
const metadata = (uid: string) => ({ uid, namespace });
const clusterRef = { cluster: 'c', namespace: 'apps' };

/** A project with a space and a virtual cluster, and the cluster of that space. */
function start() {
  const records = new TargetRecords('p-');
  records.projects.upsert({
    ...{ key: namespace, uid: 'p', resourceVersion: '1' },
    ...{ label: 'red', isDeleting: false },
  });
  const make = {
    cluster: (uid: string) => records.clusters.upsert(clusterRecord({ name: 'c', metadata: { uid } })),
    space: (uid: string) =>
      records.spaces.upsert(spaceRecord({ name: 's', metadata: metadata(uid), spec: { clusterRef } })),
    virtualCluster: (uid: string) =>
      records.instances.upsert(instanceRecord({ name: 'v', metadata: metadata(uid) })),
  };
  for (const [kind, create] of Object.entries(make)) create(`${kind}-1`);
  const targets = new Targets({
    ...{ platform: {} as never, records, connections: { find: () => undefined } },
    ...{ projectNamespacePrefix: 'p-', limits: {} as never, clock: systemClock },
  });
  return { make, uids: (target: RequestTarget) => targets.find(target)?.uids };
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

it('the platform is always the same', () => {
  expect(start().uids({ kind: 'management' })).toBe('');
});
