import { describe, expect, it } from 'vitest';
import { created } from '../../../test/builders/credential-object.ts';
import { lockObject, lockRecord } from '../../../test/builders/lock.ts';
import { formatInstant } from '../../api/instant.ts';
import { toLockRecord } from '../../credentials/locks/lock-record.ts';
import { describeLock, lockStatus, lockStatusPatch, lockTransitions } from './lock-status.ts';

const end = formatInstant(created + 60_000);

describe('the status of a lock', () => {
  it('says what it stops, how many, and since when', () => {
    const record = lockRecord({ user: 'ada', expirationTimestamp: end });
    const desired = lockStatus(record, 3, created);
    expect(lockStatusPatch(record, desired, created)).toMatchObject({
      ...{ stops: 'user ada', stoppedCredentials: 3, state: 'Ready', observedGeneration: 1 },
      inForceSince: formatInstant(created),
      conditions: [{ type: 'Ready', status: 'True', reason: 'InForce' }],
    });
    expect(lockTransitions(record, desired)).toMatchObject([{ type: 'Normal', reason: 'InForce' }]);
  });

  it('is not written again when nothing differs, and keeps since when', () => {
    const record = lockRecord({ user: 'ada' });
    const status = lockStatusPatch(record, lockStatus(record, 3, created), created);
    const written = toLockRecord({ ...lockObject({ user: 'ada' }), status });
    const later = lockStatus(written, 3, created + 5_000);
    expect(lockStatusPatch(written, later, created + 5_000)).toBeUndefined();
    expect(lockTransitions(written, later)).toEqual([]);
  });

  it('has no number before it was counted', () => {
    const record = lockRecord({ user: 'ada' });
    const patch = lockStatusPatch(record, lockStatus(record, undefined, created), created);
    expect(patch).not.toHaveProperty('stoppedCredentials');
  });

  it.each([
    ['past', end, created + 60_000, false],
    ['future', end, created, true],
  ])(
    'warns where a time in the %s stops everything, and says who gets back in',
    (_, issuedBefore, now, isNew) => {
      const record = lockRecord({ issuedBefore });
      const desired = lockStatus(record, 3, now);
      expect(desired.ready.message).toContain(
        'those of administrators too. A kubeconfig of the API server still works',
      );
      expect(desired.ready.message.includes('every new one as well')).toBe(isNew);
      expect(lockTransitions(record, desired)).toMatchObject([{ type: 'Warning', reason: 'InForce' }]);
    },
  );

  it('says that it has ended, and stops nothing', () => {
    const spec = { user: 'ada', expirationTimestamp: end };
    const record = lockRecord(spec);
    const status = lockStatusPatch(record, lockStatus(record, 3, created), created);
    const written = toLockRecord({ ...lockObject(spec), status });
    const desired = lockStatus(written, 3, created + 60_000);
    expect(lockStatusPatch(written, desired, created + 60_000)).toMatchObject({
      ...{ stoppedCredentials: 0, inForceSince: null, state: 'Expired' },
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Expired' },
        { type: 'Stalled', status: 'True', reason: 'Expired' },
      ],
    });
    expect(lockTransitions(written, desired)).toMatchObject([{ type: 'Warning', reason: 'Expired' }]);
  });
});

it.each<[object, string]>([
  [{ user: 'team:shop' }, 'user team:shop'],
  [{ group: 'dev', issuedBefore: end }, `group dev issued before ${end}`],
  [{ accessKey: { name: 'ci', uid: 'u1' } }, 'access key ci with the UID u1'],
  [{ exchange: { issuer: 'https://ci', subject: 'a' } }, 'exchanged tokens of https://ci with the subject a'],
  [{ credentialHash: `sha256:${'ab'.repeat(32)}` }, 'hash abababababababab'],
  [{ signingKeyID: 'k1' }, 'signing key k1'],
  [{ issuedBefore: end }, `everything issued before ${end}`],
])('%j is called: %s', (spec, words) => {
  expect(describeLock(lockRecord(spec))).toBe(words);
});
