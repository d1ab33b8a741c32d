import { describe, expect, it } from 'vitest';
import {
  clusterRecord,
  instanceRecord,
  readyStatus,
  spaceRecord,
  type TargetParts,
} from '../../../test/builders/target-record.ts';
import { annotations } from '../../api/names.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import { decideReference, type ReviewInput } from './reference-review.ts';
import { unguarded } from './unguarded-targets.ts';

const ada = { user: 'ada', groups: ['devs'] };
const bob = { user: 'bob', groups: [] };
const created = Date.parse('2026-11-21T10:00:00Z');

const recorded = {
  annotations: { [annotations.requester]: 'ada', [annotations.requesterGroups]: '["devs"]' },
};
const changedByBob = {
  annotations: {
    ...recorded.annotations,
    [annotations.changedBy]: 'bob',
    [annotations.changedByGroups]: '[]',
  },
};
const secretRef = { namespace: 'default', name: 'vc-shop', key: 'config' };
const spec = { kubeConfigSecretRef: { namespace: 'ops', name: 'east' } };
const place = { clusterRef: { cluster: 'east', namespace: 'team' } };

const instance = (parts: TargetParts = {}) => instanceRecord({ metadata: recorded, ...parts });
const space = (parts: TargetParts = {}) => spaceRecord({ metadata: recorded, spec: place, ...parts });
const cluster = (parts: TargetParts = {}) => clusterRecord({ metadata: recorded, spec, ...parts });

const decide = (record: TargetRecord, input: Partial<ReviewInput> = {}) =>
  decideReference({
    record,
    uids: {},
    wasEntered: false,
    trustedSince: created,
    isUnguarded: false,
    ...input,
  });

const get = (namespace: string, name: string) => ({
  group: '',
  verb: 'get',
  resource: 'secrets',
  namespace,
  name,
});
const bind = (name: string) => ({ verb: 'bind-namespace', resource: 'clusters', name });

describe('decideReference', () => {
  it.each<[string, TargetRecord, readonly object[]]>([
    ['an instance that names nothing', instance(), [get('default', 'vc-shop')]],
    [
      'an instance by its virtual cluster',
      instance({ spec: { clusterRef: { virtualCluster: 'v' } } }),
      [get('default', 'vc-v')],
    ],
    [
      'an instance in a Cluster',
      instance({ spec: { ...place, kubeConfigSecretRef: { name: 's' } } }),
      [get('default', 's'), bind('east')],
    ],
    ['a Cluster', cluster(), [get('ops', 'east')]],
    ['a space', space(), [bind('east')]],
  ])('asks about %s', (_, record, questions) => {
    expect(decide(record)).toEqual({ kind: 'ask', reviews: [{ asker: ada, questions }] });
  });

  it.each([
    ['a Cluster without an administrator kubeconfig', cluster({ spec: {} })],
    ['a space without a place', space({ spec: {} })],
  ])('asks nothing about %s', (_, record) => {
    expect(decide(record)).toMatchObject({ kind: 'confirmed' });
  });

  it('asks about the one who made the last change too', () => {
    expect(decide(instance({ metadata: changedByBob }))).toMatchObject({
      reviews: [{ asker: ada }, { asker: bob }],
    });
  });

  it.each<[string, TargetRecord]>([
    ['the same', instance({ status: { confirmed: { secretRef } } })],
    ['the same, whose requester no one knows', instanceRecord({ status: { confirmed: { secretRef } } })],
    [
      'the same server',
      instance({ spec: { server: 'https://a' }, status: { confirmed: { secretRef, server: 'https://a' } } }),
    ],
  ])('does not ask again about %s', (_, record) => {
    expect(decide(record)).toMatchObject({ kind: 'confirmed', reference: record.confirmed });
  });

  it.each<[string, TargetParts]>([
    ['another Secret', { spec: { kubeConfigSecretRef: { name: 'other' } } }],
    ['another key', { spec: { kubeConfigSecretRef: { key: 'value' } } }],
    ['another server', { spec: { server: 'https://a' } }],
    ['another place', { spec: { kubeConfigSecretRef: { name: 'vc-shop' }, ...place } }],
  ])('asks about %s than the confirmed one', (_, parts) => {
    const record = instance({
      ...parts,
      status: { ...readyStatus('True', 'Connected'), confirmed: { secretRef } },
    });
    expect(decide(record)).toMatchObject({ kind: 'ask' });
  });

  it.each<[string, string | undefined, 'ask' | 'confirmed']>([
    ['that was made again', 'u-2', 'ask'],
    ['that is the same', 'u-1', 'confirmed'],
    ['that is gone', undefined, 'confirmed'],
  ])('a namespace or Cluster %s: %s, %s', (_, uid, kind) => {
    const known = (what: 'namespace' | 'cluster') => ({ uids: uid === undefined ? {} : { [what]: uid } });
    const inNamespace = { namespace: 'ops', name: 'east', key: 'config', namespaceUID: 'u-1' };
    const confirmed = { clusterRef: { ...place.clusterRef, uid: 'u-1' } };
    const status = { confirmed: { secretRef: inNamespace } };
    expect(decide(cluster({ status }), known('namespace'))).toMatchObject({ kind });
    expect(decide(space({ status: { confirmed } }), known('cluster'))).toMatchObject({ kind });
  });

  it('keeps the UIDs that are confirmed while their object is gone', () => {
    const confirmed = { clusterRef: { ...place.clusterRef, uid: 'u-1' } };
    expect(decide(space({ status: { confirmed } }))).toEqual({ kind: 'confirmed', reference: confirmed });
  });

  it.each<[string, TargetRecord, boolean, string]>([
    ['is Connected', instanceRecord({ status: readyStatus('True', 'Connected') }), false, 'confirmed'],
    ['is away', instanceRecord({ status: readyStatus('False', 'TargetUnreachable') }), true, 'confirmed'],
    [
      'was never entered',
      instanceRecord({ status: readyStatus('False', 'TargetUnreachable') }),
      false,
      'refused',
    ],
    [
      'was changed since',
      instanceRecord({ status: readyStatus('True', 'Connected'), metadata: { generation: 2 } }),
      false,
      'refused',
    ],
    [
      'was changed since, and was entered',
      instanceRecord({ status: readyStatus('False', 'TargetUnreachable'), metadata: { generation: 2 } }),
      true,
      'refused',
    ],
  ])('what an earlier release has made, which %s', (_, record, wasEntered, kind) => {
    expect(decide(record, { wasEntered })).toMatchObject({ kind });
  });

  it.each<[string, TargetRecord, Partial<ReviewInput>]>([
    ['without annotations', instanceRecord(), {}],
    ['older than the policies', instance(), { trustedSince: created + 1 }],
    ['of a time without policies', instance(), { isUnguarded: true }],
    ['that was older than the policies of an earlier time', instance({ status: unstamped() }), {}],
  ])('believes no one in an object %s', (_, record, input) => {
    expect(decide(record, input)).toMatchObject({
      kind: 'refused',
      problem: { reason: 'RequesterUnknown' },
    });
  });
});

function unstamped() {
  const { conditions: [ready] = [] } = readyStatus('False', 'RequesterUnknown') as {
    conditions: object[];
  };
  return { conditions: [{ ...ready, message: unguarded.message }] };
}
