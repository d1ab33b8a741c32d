import { describe, expect, it } from 'vitest';
import { clusterRecord, readyStatus, spaceRecord } from '../../../test/builders/target-record.ts';
import { annotations } from '../../api/names.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import { refused, targetStatusPatch } from './target-status.ts';
import { targetRules, unguarded } from './unguarded-targets.ts';

const clusterRef = { cluster: 'east', namespace: 'team' };
const spec = { clusterRef };
const made = spaceRecord({ spec });
const confirmed = spaceRecord({ spec, status: { confirmed: { clusterRef } } });
const noted = spaceRecord({ spec, status: targetStatusPatch(made, refused(unguarded), 0) ?? {} });

describe('a target of a time without policies', () => {
  it.each<[string, TargetRecord, boolean]>([
    ['as it was made', made, false],
    ['with a condition that says so', noted, true],
    ['that is confirmed as it stands', confirmed, true],
    ['that names nothing', spaceRecord(), true],
    ['that only says where its endpoint is', clusterRecord(), true],
    ['that is deleted', spaceRecord({ spec, metadata: { deletionTimestamp: '2026-11-21T11:00:00Z' } }), true],
  ])('%s is known to the next operator or gives nothing: %j', (_, record, expected) => {
    expect(targetRules.isNoted(record)).toBe(expected);
  });

  it.each<[string, TargetRecord, boolean]>([
    [
      'another reference',
      spaceRecord({ spec: { clusterRef: { ...clusterRef, namespace: 'kube-system' } } }),
      true,
    ],
    ['another requester', spaceRecord({ spec, metadata: { annotations: recordOf('eve') } }), true],
    ['another name for people', spaceRecord({ spec: { ...spec, displayName: 'x' } }), false],
    ['another status', confirmed, false],
  ])('counts %s', (_, current, expected) => {
    expect(targetRules.counts(made, current, true)).toBe(expected);
  });

  it.each<[string, TargetRecord, boolean]>([
    ['was never confirmed', made, true],
    ['is confirmed', confirmed, false],
    [
      'was connected by an earlier release',
      spaceRecord({ spec, status: readyStatus('True', 'Connected') }),
      false,
    ],
  ])('may have gained something where it %s', (_, record, expected) => {
    expect(targetRules.hasGained(record)).toBe(expected);
  });
});

function recordOf(user: string) {
  return { [annotations.requester]: user, [annotations.requesterGroups]: '[]' };
}
