import { apiVersion } from '../../src/api/names.ts';
import { type LockRecord, toLockRecord } from '../../src/credentials/locks/lock-record.ts';
import { Locks } from '../../src/platform/locks.ts';

/** A lock as the API server stores it. */
export const lockObject = (spec: object, name = 'incident', metadata: object = {}): object => ({
  apiVersion,
  kind: 'CredentialLock',
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: '1', generation: 1, ...metadata },
  spec,
});

export const lockRecord = (spec: object, name?: string, metadata?: object): LockRecord =>
  toLockRecord(lockObject(spec, name, metadata));

/** Locks as a watch brings them. */
export function locksOf(...specs: readonly object[]): Locks {
  const locks = new Locks();
  for (const [index, spec] of specs.entries()) locks.store.upsert(lockRecord(spec, `lock-${index}`));
  return locks;
}
