import { describe, expect, it } from 'vitest';
import { clusterRecord } from '../../../../test/builders/target-record.ts';
import { decideCluster } from './policy.ts';

const deletionTimestamp = '2026-11-21T11:00:00Z';
const kubeConfigSecretRef = { namespace: 'clusters', name: 'staging', key: 'value' };
const spec = { kubeConfigSecretRef };
const connection = { owner: { kind: 'Cluster', uid: 'uid-of-shop' }, kubeConfig: kubeConfigSecretRef };

describe('decideCluster', () => {
  it('connects it, and binds no users in it', () => {
    expect(decideCluster(clusterRecord({ spec }))).toEqual({ step: 'connect', connection });
  });

  it('makes nothing before the finalizer stands there', () => {
    expect(decideCluster(clusterRecord({ spec, metadata: { finalizers: [] } }))).toEqual({
      step: 'addFinalizer',
    });
  });

  it('is content with a direct endpoint', () => {
    const record = clusterRecord({ spec: { directEndpoint: { host: 'staging.example.com' } } });
    expect(decideCluster(record)).toMatchObject({
      step: 'settle',
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
  ])('says what is missing with %s, for good', (_what, incomplete) => {
    const step = decideCluster(clusterRecord({ spec: incomplete }));
    expect(step).toMatchObject({
      step: 'settle',
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
