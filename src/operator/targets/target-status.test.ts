import { describe, expect, it } from 'vitest';
import {
  clusterRecord,
  instanceRecord,
  readyStatus,
  spaceRecord,
} from '../../../test/builders/target-record.ts';
import type { TargetReference } from '../../platform/targets/target-reference.ts';
import { connected, refused, targetStatusPatch, targetTransitions, terminating } from './target-status.ts';

const now = Date.UTC(2026, 10, 21, 11);
const isNow = '2026-11-21T11:00:00Z';
const unreachable = { reason: 'TargetUnreachable', message: 'down' } as const;
const ingress = { accessPoint: { ingress: { enabled: true, host: 'shop.example.com:8443' } } };

describe('targetStatusPatch', () => {
  it('writes everything over the default of the schema', () => {
    const pending = { type: 'Ready', status: 'Unknown', reason: 'Pending', message: '' };
    const status = { observedGeneration: -1, conditions: [{ ...pending, lastTransitionTime: 'x' }] };
    expect(targetStatusPatch(instanceRecord({ status, spec: ingress }), connected('fine'), now)).toEqual({
      phase: 'Ready',
      state: 'Ready',
      endpoint: 'https://shop.example.com:8443',
      virtualCluster: { accessPoint: { ingress: { enabled: true } } },
      observedGeneration: 1,
      conditions: [
        {
          ...{ type: 'Ready', status: 'True', reason: 'Connected', message: 'fine', observedGeneration: 1 },
          lastTransitionTime: isNow,
        },
      ],
    });
  });

  it.each([
    ['an instance', instanceRecord],
    ['a cluster', clusterRecord],
    ['a space', spaceRecord],
  ])('writes nothing when %s has all of it already', (_kind, record) => {
    const patch = targetStatusPatch(record(), refused(unreachable), now) as Record<string, unknown>;
    const again = record({ status: { endpoint: undefined, ...patch } });
    expect(targetStatusPatch(again, refused(unreachable), now + 5_000)).toBeUndefined();
  });

  it('writes what is confirmed, and takes away what the merge would keep', () => {
    const place = { cluster: 'staging', uid: 'u-1', namespace: 'shop' };
    const record = spaceRecord({ status: { confirmed: { clusterRef: place } } });
    const patchTo = (confirmed: TargetReference) =>
      targetStatusPatch(record, { ...connected('fine'), confirmed }, now)?.['confirmed'];
    expect(patchTo({ clusterRef: place })).toBeUndefined();
    expect(patchTo({ clusterRef: { cluster: 'other' } })).toEqual({
      secretRef: null,
      server: null,
      clusterRef: { cluster: 'other', uid: null, namespace: null, virtualCluster: null },
    });
  });

  it('removes the endpoint when the ingress is switched off', () => {
    const status = {
      ...{ endpoint: 'https://shop.example.com', phase: 'Ready' },
      ...{ virtualCluster: { accessPoint: { ingress: { enabled: true } } } },
    };
    const off = { accessPoint: { ingress: { enabled: false, host: 'shop.example.com' } } };
    expect(targetStatusPatch(instanceRecord({ status, spec: off }), connected('fine'), now)).toMatchObject({
      endpoint: null,
      virtualCluster: { accessPoint: { ingress: { enabled: false } } },
    });
  });

  it('writes no endpoint for other kinds', () => {
    for (const record of [clusterRecord(), spaceRecord()]) {
      const patch = targetStatusPatch(record, connected('fine'), now);
      expect(Object.keys(patch ?? {}).toSorted()).toEqual([
        ...['conditions', 'observedGeneration', 'phase', 'state'],
      ]);
    }
  });

  it('keeps the time of the last transition while only the reason changes', () => {
    const record = instanceRecord({ status: readyStatus('False', 'KubeConfigNotFound') });
    const patch = targetStatusPatch(record, refused(unreachable), now);
    expect(patch?.['conditions']).toEqual([
      expect.objectContaining({ type: 'Ready', lastTransitionTime: '2026-11-21T10:00:00Z' }),
      expect.objectContaining({ type: 'Reconciling', status: 'True', lastTransitionTime: isNow }),
    ]);
  });
});

describe('refused', () => {
  it.each([
    ['KubeConfigNotFound', 'Pending', 'Reconciling'],
    ['ClusterNotFound', 'Pending', 'Reconciling'],
    ['ClusterNotReady', 'Pending', 'Reconciling'],
    ['TargetUnreachable', 'Failed', 'Reconciling'],
    ['TargetNotTrusted', 'Failed', 'Reconciling'],
    ['TargetUnauthorized', 'Failed', 'Reconciling'],
    ['TargetForbidden', 'Failed', 'Reconciling'],
    ['TargetAnswer', 'Failed', 'Reconciling'],
    ['SecretFailed', 'Failed', 'Reconciling'],
    ['KubeConfigRefused', 'Failed', 'Stalled'],
    ['AddressRefused', 'Failed', 'Stalled'],
    ['SecretConflict', 'Failed', 'Stalled'],
    ['TargetInUse', 'Failed', 'Stalled'],
  ] as const)('gives %s the phase %s, %s', (reason, phase, condition) => {
    const { reconciling, stalled, ...rest } = refused({ reason, message: 'm' });
    expect(rest).toEqual({ phase, ready: { status: 'False', reason, message: 'm' } });
    expect({ reconciling, stalled }).toEqual({
      reconciling: condition === 'Reconciling' ? { reason, message: 'm' } : undefined,
      stalled: condition === 'Stalled' ? { reason, message: 'm' } : undefined,
    });
  });

  it('is final whatever the reason when no waiting mends it', () => {
    expect(refused({ reason: 'ClusterNotFound', message: 'm' }, true)).toMatchObject({
      phase: 'Failed',
      stalled: { reason: 'ClusterNotFound' },
    });
  });
});

describe('targetTransitions', () => {
  const was = (status: string, reason: string) => instanceRecord({ status: readyStatus(status, reason) });

  it.each([
    ['Unknown', 'Pending', connected('fine'), { type: 'Normal', reason: 'Connected', action: 'Connect' }],
    ['False', 'TargetUnreachable', connected('fine'), { type: 'Normal', reason: 'Connected' }],
    [
      'True',
      'Connected',
      refused(unreachable),
      { type: 'Warning', reason: 'TargetUnreachable', note: 'down' },
    ],
    ['False', 'TargetForbidden', refused(unreachable), { type: 'Warning', action: 'Refuse' }],
    ['True', 'Connected', terminating, { type: 'Warning', reason: 'Deleting' }],
  ])('publishes the way from %s %s', (status, reason, desired, event) => {
    expect(targetTransitions(was(status, reason), desired)).toEqual([expect.objectContaining(event)]);
  });

  it.each([
    ['True', 'Connected', connected('fine')],
    ['False', 'TargetUnreachable', refused(unreachable)],
    ['Unknown', 'Pending', refused({ reason: 'AdmissionMissing', message: 'all wait for it' })],
  ])(
    'publishes nothing about a wait for the policies, and while it stays %s %s',
    (status, reason, desired) => {
      expect(targetTransitions(was(status, reason), desired)).toEqual([]);
    },
  );
});
