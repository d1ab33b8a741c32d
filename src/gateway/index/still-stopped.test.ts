import { describe, expect, it } from 'vitest';
import { credentialObject } from '../../../test/builders/credential-object.ts';
import { reasons } from '../../api/reasons.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isStillStopped } from './credential-records.ts';

interface Case {
  readonly observed?: number;
  readonly reason?: string;
  readonly before?: Parameters<typeof credentialObject>[0];
}

const ready = (reason: string) => ({ conditions: [{ type: 'Ready', status: 'False', reason }] });

function isStopped({ observed, reason, before }: Case): boolean {
  const status = { ...(observed && { observedGeneration: observed }), ...(reason && ready(reason)) };
  const object = credentialObject({ metadata: { generation: 3 }, status }) as unknown as KubeObject;
  const previous = before && toLiveRecord(credentialObject(before), 'OwnedAccessKey');
  return isStillStopped(object, previous);
}

const disabled = { spec: { user: 'alice', disabled: true } };

describe('a key that its spec enables', () => {
  it.each<[string, Case]>([
    ['the operator said last that it is disabled', { observed: 2, reason: reasons.disabled }],
    ['it was disabled a moment ago, and the operator saw none of it', { observed: 1, before: disabled }],
    ['no operator has ever seen it', { before: disabled }],
  ])('stays disabled where %s', (_, given) => {
    expect(isStopped(given)).toBe(true);
  });

  it.each<[string, Case]>([
    ['the operator has seen that', { observed: 3, before: disabled }],
    ['the operator has seen that and not said so yet', { observed: 3, reason: reasons.disabled }],
    ['it was not disabled before', { observed: 2, before: { spec: { user: 'alice' } } }],
    [
      'another object of that name was disabled',
      { observed: 2, before: { ...disabled, metadata: { uid: 'other' } } },
    ],
    ['nothing is known of it', {}],
    ['something else was wrong with it', { observed: 2, reason: reasons.accessKeyNotLive }],
  ])('is not where %s', (_, given) => {
    expect(isStopped(given)).toBe(false);
  });
});
