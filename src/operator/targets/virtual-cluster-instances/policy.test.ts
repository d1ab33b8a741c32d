import { describe, expect, it } from 'vitest';
import { instanceRecord } from '../../../../test/builders/target-record.ts';
import { decideInstance } from './policy.ts';

const deletionTimestamp = '2026-11-21T11:00:00Z';
const connection = {
  owner: { kind: 'VirtualClusterInstance', uid: 'uid-of-shop' },
  kubeConfig: { namespace: 'default', name: 'vc-shop', key: 'config' },
  clusterRole: 'cluster-admin',
};

describe('decideInstance', () => {
  it('connects it by the Secret that a vCluster writes', () => {
    expect(decideInstance(instanceRecord())).toEqual({ step: 'connect', connection });
  });

  it('connects it by the Secret that is named, and with the role that is named', () => {
    const spec = {
      kubeConfigSecretRef: { name: 'shop-kubeconfig', key: 'value' },
      access: { clusterRole: 'view' },
    };
    expect(decideInstance(instanceRecord({ spec }))).toMatchObject({
      connection: {
        kubeConfig: { namespace: 'default', name: 'shop-kubeconfig', key: 'value' },
        clusterRole: 'view',
      },
    });
  });

  it('never reads a Secret of another namespace', () => {
    const spec = { kubeConfigSecretRef: { namespace: 'kube-system', name: 'x' } };
    expect(decideInstance(instanceRecord({ spec }))).toMatchObject({
      connection: { kubeConfig: { namespace: 'default' } },
    });
  });

  it('makes nothing before the finalizer stands there', () => {
    const record = instanceRecord({ metadata: { finalizers: ['example.com/other'] } });
    expect(decideInstance(record)).toEqual({ step: 'addFinalizer' });
  });

  it('cleans up behind a deleted one, and connects it no more', () => {
    expect(decideInstance(instanceRecord({ metadata: { deletionTimestamp } }))).toEqual({
      step: 'finalize',
      connection,
    });
  });

  it('leaves a deleted one alone that holds nothing of ours', () => {
    const metadata = { deletionTimestamp, finalizers: ['example.com/other'] };
    expect(decideInstance(instanceRecord({ metadata }))).toEqual({ step: 'leave' });
  });
});
