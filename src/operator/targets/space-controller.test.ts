import { describe, expect, it } from 'vitest';
import { clusterRecord, readyStatus, spaceRecord } from '../../../test/builders/target-record.ts';
import { spaceStatus } from './space-controller.ts';

const space = spaceRecord({ spec: { clusterRef: { cluster: 'staging', namespace: 'shop' } } });
const halfNamed = spaceRecord({ spec: { clusterRef: { cluster: 'staging' } } });
const cluster = (status: string, metadata = {}) =>
  clusterRecord({ name: 'staging', status: readyStatus(status, 'Any'), metadata });
const dying = cluster('True', { deletionTimestamp: '2026-11-21T11:00:00Z' });

describe('spaceStatus', () => {
  it('is ready when its cluster is', () => {
    expect(spaceStatus(space, cluster('True'))).toMatchObject({
      phase: 'Ready',
      ready: { status: 'True', reason: 'Connected' },
    });
  });

  it.each([
    ['is not ready', 'ClusterNotReady', cluster('False')],
    ['has not been checked', 'ClusterNotReady', cluster('Unknown')],
    ['is being deleted', 'ClusterNotReady', dying],
    ['is not there', 'ClusterNotFound', undefined],
  ])('waits while its cluster %s', (_what, reason, found) => {
    expect(spaceStatus(space, found)).toMatchObject({
      phase: 'Pending',
      ready: { status: 'False', reason, message: expect.stringContaining('The Cluster "staging"') },
      reconciling: { reason },
    });
  });

  it.each([
    ['no reference', spaceRecord()],
    ['half a reference', halfNamed],
  ])('has failed with %s', (_what, record) => {
    expect(spaceStatus(record, cluster('True'))).toMatchObject({
      phase: 'Failed',
      ready: { status: 'False', reason: 'ClusterNotFound' },
      stalled: { message: expect.stringContaining('spec.clusterRef') },
    });
  });
});
