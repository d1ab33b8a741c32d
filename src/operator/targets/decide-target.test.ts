import { describe, expect, it } from 'vitest';
import { clusterRecord, instanceRecord } from '../../../test/builders/target-record.ts';
import { decideCluster, decideInstance } from './decide-target.ts';

const deletionTimestamp = '2026-11-21T11:00:00Z';

describe('decideInstance', () => {
  const connection = {
    owner: { kind: 'VirtualClusterInstance', uid: 'uid-of-shop' },
    kubeConfig: {
      ...{ namespace: 'default', name: 'vc-shop', key: 'config' },
      service: 'https://shop.default',
    },
    clusterRole: 'cluster-admin',
  };

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

  it('connects it at the server that is named', () => {
    const server = 'https://shop.example.com';
    expect(decideInstance(instanceRecord({ spec: { server } }))).toMatchObject({
      connection: { kubeConfig: { name: 'vc-shop', server } },
    });
  });

  it('never reads a Secret of another namespace', () => {
    const spec = { kubeConfigSecretRef: { namespace: 'kube-system', name: 'x' } };
    expect(decideInstance(instanceRecord({ spec }))).toMatchObject({
      connection: { kubeConfig: { namespace: 'default' } },
    });
  });

  it('makes nothing before the finalizer is set', () => {
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

describe('decideCluster', () => {
  const kubeConfigSecretRef = { namespace: 'clusters', name: 'staging', key: 'value' };
  const spec = { kubeConfigSecretRef };
  const connection = { owner: { kind: 'Cluster', uid: 'uid-of-shop' }, kubeConfig: kubeConfigSecretRef };

  it('connects it, and binds no users in it', () => {
    expect(decideCluster(clusterRecord({ spec }))).toEqual({ step: 'connect', connection });
  });

  it('makes nothing before the finalizer is set', () => {
    expect(decideCluster(clusterRecord({ spec, metadata: { finalizers: [] } }))).toEqual({
      step: 'addFinalizer',
    });
  });

  it('is content with a direct endpoint', () => {
    const record = clusterRecord({ spec: { directEndpoint: { host: 'staging.example.com' } } });
    expect(decideCluster(record)).toMatchObject({
      step: 'commit',
      desired: { phase: 'Ready', ready: { status: 'True', reason: 'Connected' } },
    });
  });

  it('connects it all the same when it has both', () => {
    const both = { ...spec, directEndpoint: { host: 'staging.example.com' } };
    expect(decideCluster(clusterRecord({ spec: both }))).toEqual({ step: 'connect', connection });
  });

  it.each([
    ['neither', {}],
    ['an empty direct endpoint', { directEndpoint: { host: '' } }],
  ])('reports what is missing with %s, for good', (_what, incomplete) => {
    const step = decideCluster(clusterRecord({ spec: incomplete }));
    expect(step).toMatchObject({
      step: 'commit',
      desired: {
        phase: 'Failed',
        ready: { status: 'False', reason: 'KubeConfigNotFound' },
        stalled: { message: expect.stringContaining('spec.directEndpoint.host') },
      },
    });
  });

  it.each([
    ['with a kubeconfig', spec, { step: 'finalize', connection }],
    ['without one', {}, { step: 'finalize' }],
  ])('cleans up behind a deleted one %s', (_what, given, expected) => {
    expect(decideCluster(clusterRecord({ spec: given, metadata: { deletionTimestamp } }))).toEqual(expected);
  });

  it('leaves a deleted one alone that holds nothing of ours', () => {
    const metadata = { deletionTimestamp, finalizers: ['example.com/other'] };
    expect(decideCluster(clusterRecord({ spec, metadata }))).toEqual({ step: 'leave' });
  });
});
