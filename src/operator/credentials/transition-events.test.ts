import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import type { Reason } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { DesiredStatus } from './desired-status.ts';
import { transitionEvents } from './transition-events.ts';

const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: '2026-11-21T10:00:00Z',
});
const record = (status: Record<string, unknown>) => recordOf(credentialObject({ status }));
const { fingerprints } = record({});
const confirmed = { serial: 1, credentialHash: 'a'.repeat(64), fingerprint: fingerprints[0] };
const issued: DesiredStatus = {
  confirmation: { ...confirmed, fingerprint: fingerprints[0] ?? '' },
  ready: { status: 'True', reason: 'Issued', message: 'works' },
};
const refused = (reason: 'Expired' | 'Disabled'): DesiredStatus => ({
  ...issued,
  ready: { status: 'False', reason, message: 'no more' },
});
const scopeMatchesNothing = { reason: 'ScopeMatchesNothing', message: 'no project a' } as const;
const expiringSoon = { reason: 'ExpiringSoon', message: 'soon' } as const;

describe('transitionEvents', () => {
  it.each([
    [
      'the first credential',
      { serial: 0, conditions: [condition('Ready', 'Unknown', 'Pending')] },
      issued,
      ['Issued'],
    ],
    ['nothing new', { ...confirmed, conditions: [condition('Ready', 'True', 'Issued')] }, issued, []],
    [
      'the end',
      { ...confirmed, conditions: [condition('Ready', 'True', 'Issued')] },
      refused('Expired'),
      ['Expired'],
    ],
    [
      'the same refusal again',
      { ...confirmed, conditions: [condition('Ready', 'False', 'Expired')] },
      refused('Expired'),
      [],
    ],
    [
      'another refusal',
      { ...confirmed, conditions: [condition('Ready', 'False', 'Disabled')] },
      refused('Expired'),
      ['Expired'],
    ],
    [
      'a scope that matches nothing',
      { ...confirmed, conditions: [condition('Ready', 'True', 'Issued')] },
      { ...issued, scopeMatchesNothing },
      ['ScopeMatchesNothing'],
    ],
    [
      'a scope that still matches nothing',
      {
        ...confirmed,
        conditions: [
          condition('Ready', 'True', 'Issued'),
          condition('ScopeMatchesNothing', 'True', 'ScopeMatchesNothing'),
        ],
      },
      { ...issued, scopeMatchesNothing },
      [],
    ],
    [
      'a scope that matches again',
      {
        ...confirmed,
        conditions: [
          condition('Ready', 'True', 'Issued'),
          condition('ScopeMatchesNothing', 'True', 'ScopeMatchesNothing'),
        ],
      },
      issued,
      [],
    ],
    [
      'life again',
      { ...confirmed, conditions: [condition('Ready', 'False', 'Expired')] },
      issued,
      ['Enabled'],
    ],
    [
      'another spec',
      { ...confirmed, fingerprint: 'v1:old', conditions: [condition('Ready', 'True', 'Issued')] },
      issued,
      ['Confirmed'],
    ],
    [
      'a warning',
      { ...confirmed, conditions: [condition('Ready', 'True', 'Issued')] },
      { ...issued, expiringSoon },
      ['ExpiringSoon'],
    ],
    [
      'the warning that stands already',
      {
        ...confirmed,
        conditions: [condition('Ready', 'True', 'Issued'), condition('ExpiringSoon', 'True', 'ExpiringSoon')],
      },
      { ...issued, expiringSoon },
      [],
    ],
  ])('for %s', (_, status, desired, reasons) => {
    expect(transitionEvents(record(status), desired).map(({ reason }) => reason)).toEqual(reasons);
  });

  describe('of a successor', () => {
    const successor = { ...issued, confirmation: { ...issued.confirmation, serial: 2 } };
    const noteFor = (reason: Reason, before: CredentialRecord) =>
      transitionEvents(before, successor, reason)[0];
    const token = (status: object) =>
      recordOf(
        credentialObject({
          kind: 'DirectClusterEndpointToken',
          status: { ...confirmed, fingerprint: tokenFingerprint, token: 'there', ...status },
        }),
      );
    const [tokenFingerprint] = recordOf(
      credentialObject({ kind: 'DirectClusterEndpointToken' }),
    ).fingerprints;

    it.each<[Reason, CredentialRecord, string]>([
      ['Rotated', token({}), 'the annotation management.platform.sh/rotate has changed'],
      ['Renewed', token({}), 'the one before was due for renewal'],
      ['ChainChanged', token({}), 'a key above has changed'],
      ['GroupsAdded', token({}), 'it may have groups that the one before had not'],
      ['SigningKeyRevoked', token({}), 'the key that signed the one before is not published any more'],
      ['TargetChanged', token({}), 'the address, the authority or the role of its target has changed'],
      ['Confirmed', token({ fingerprint: 'v1:old' }), 'spec has changed'],
      ['Confirmed', token({}), 'its life has changed'],
      ['Issued', token({ token: undefined }), 'the one before was taken out of status'],
      ['Issued', token({}), 'the one before is of an earlier release'],
      ['Issued', token({ credentialHash: undefined }), 'there was none any more'],
      ['Issued', record({ ...confirmed, credentialHash: 'b'.repeat(64) }), 'spec.key holds another key'],
    ])('says why it is there: %s', (reason, before, why) => {
      expect(noteFor(reason, before)).toEqual({
        type: 'Normal',
        reason,
        action: 'Issue',
        note: `The credential with serial 2 was issued, because ${why}.`,
      });
    });

    it('says no cause of the first', () => {
      expect(noteFor('Issued', record({}))?.note).toBe('The credential with serial 2 was issued.');
    });
  });

  it('never holds the hash of a credential', () => {
    expect(JSON.stringify(transitionEvents(record({}), issued))).not.toContain('aaaa');
  });
});
