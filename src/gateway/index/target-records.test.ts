import { expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import type { InformerSource } from '../../platform/informers.ts';
import { TargetRecords } from './target-records.ts';

/** A namespace as the informer of projects brings it. */
function start(metadata: object) {
  const records = new TargetRecords('p-');
  const sources = new Map<string, InformerSource<never>>();
  records.addTo({ add: (name, source) => void sources.set(name, source as never) });
  const { store, toRecord, labelSelector } = sources.get('projects') as InformerSource<never>;
  expect(labelSelector).toBe('management.platform.sh/project');
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { uid: 'u', ...metadata } };
  store.upsert(toRecord(namespace as KubeObject) as never);
  return records;
}

const labelled = (label: string) => ({ labels: { 'management.platform.sh/project': label } });

it('a namespace is a project by its name and its label', () => {
  const { findProject, projects } = start({ name: 'p-red', ...labelled('red') });
  expect([findProject('p-red'), findProject('p-blue')]).toEqual(['red', undefined]);
  projects.remove('p-red');
  expect(findProject('p-red')).toBeUndefined();
});

it('tells when another namespace is a project, and not when a project changes in other ways', () => {
  const records = start({ name: 'p-red', ...labelled('red') });
  const { projects } = records;
  const change = (changes: object) => {
    const before = records.projectsVersion;
    projects.upsert({ ...projects.get('p-red'), ...changes } as never);
    return records.projectsVersion !== before;
  };
  expect(change({ resourceVersion: '2' })).toBe(false);
  expect(change({ resourceVersion: '3', label: 'blue' })).toBe(true);
  expect(change({ resourceVersion: '4', isDeleting: true })).toBe(true);
  const before = records.projectsVersion;
  projects.remove('p-red');
  expect(records.projectsVersion).not.toBe(before);
});

it.each([
  ['no label', { name: 'p-red' }],
  ['an empty label', { name: 'p-red', ...labelled('') }],
  ['the label of another project', { name: 'p-red', ...labelled('blue') }],
  ['its whole name as label', { name: 'p-red', ...labelled('p-red') }],
  ['a name without the prefix', { name: 'red', ...labelled('red') }],
  ['the prefix alone as name', { name: 'p-', ...labelled('') }],
  ['a deletion timestamp', { name: 'p-red', ...labelled('red'), deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ['a deletion timestamp that is no time', { name: 'p-red', ...labelled('red'), deletionTimestamp: 'soon' }],
])('a namespace with %s is no project', (_, metadata) => {
  expect(start(metadata).findProject(metadata.name)).toBeUndefined();
});

it.each(['instances', 'spaces', 'clusters'] as const)(
  'tells when one of the %s goes or is another one, and of no other change',
  (kind) => {
    const told: unknown[] = [];
    const store = new TargetRecords('p-', (uid) => told.push(uid))[kind];
    const write = (resourceVersion: string, change: object = {}) =>
      store.upsert({
        ...{ key: 'p-red/a', namespace: 'p-red', name: 'a', uid: 'one', resourceVersion, ...change },
      } as never);
    write('1');
    write('2', { conditions: [] });
    expect(told).toEqual([]);
    write('3', { deleted: 1 });
    expect(told).toEqual(['one']);
    write('4', { uid: 'two' });
    store.remove('p-red/a');
    expect(told).toEqual(['one', 'one', 'two']);
  },
);
