import { describe, expect, it } from 'vitest';
import { type ConditionType, conditionTypes } from '../../api/conditions.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import { stateOf } from './state.ts';

const { reconciling, stalled, expiringSoon, scopeMatchesNothing } = conditionTypes;
const about = (reason: Reason) => ({ reason, message: 'long' });
const state = (status: 'True' | 'False', reason: Reason, ...others: [ConditionType, Reason][]) =>
  stateOf({ ready: { status, ...about(reason) }, others: others.map(([type, why]) => [type, about(why)]) });

describe('stateOf', () => {
  it.each([
    ['Ready', state('True', reasons.issued)],
    ['Ready', state('True', reasons.connected)],
    ['Ready (ExpiringSoon)', state('True', reasons.issued, [expiringSoon, reasons.expiringSoon])],
    [
      'Ready (ScopeMatchesNothing)',
      state('True', reasons.issued, [scopeMatchesNothing, reasons.scopeMatchesNothing]),
    ],
    ['Disabled', state('False', reasons.disabled, [stalled, reasons.disabled])],
    ['Expired', state('False', reasons.expired, [stalled, reasons.expired])],
    ['Deleting', state('False', reasons.deleting, [reconciling, reasons.deleting])],
    [
      'Waiting (AccessKeyNotFound)',
      state('False', reasons.accessKeyNotFound, [reconciling, reasons.accessKeyNotFound]),
    ],
    ['Locked', state('False', reasons.locked)],
    ['Locked', state('False', reasons.locked, [reconciling, reasons.locked])],
    ['Waiting (AccessKeyNotLive)', state('False', reasons.accessKeyNotLive)],
    ['Refused (DuplicateKey)', state('False', reasons.duplicateKey, [stalled, reasons.duplicateKey])],
    [
      'Refused (RequesterNotPermitted)',
      state('False', reasons.requesterNotPermitted, [reconciling, reasons.requesterNotPermitted]),
    ],
  ])('says %s', (expected, said) => {
    expect(said).toBe(expected);
  });

  it('is within the length of its field, whatever the reason', () => {
    for (const reason of Object.values(reasons)) {
      expect(state('True', reasons.issued, [expiringSoon, reason]).length).toBeLessThanOrEqual(64);
      expect(state('False', reason, [stalled, reason]).length).toBeLessThanOrEqual(64);
    }
  });

  it('leaves out conditions that are not true', () => {
    const ready = { status: 'True', ...about(reasons.issued) } as const;
    expect(stateOf({ ready, others: [[expiringSoon, undefined]] })).toBe('Ready');
  });
});
