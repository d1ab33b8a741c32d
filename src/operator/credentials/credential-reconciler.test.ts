import { describe, expect, it } from 'vitest';
import { created, liveRecord } from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { conditionTypes } from '../../api/conditions.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { CredentialReconciler } from './credential-reconciler.ts';
import { PacedWrites } from './paced-writes.ts';

const ready = { status: 'True', reason: 'Issued', message: 'works' } as const;
const condition = { type: conditionTypes.ready, ...ready, observedGeneration: 1 };
const conditions = [{ ...condition, lastTransitionTime: '2026-11-21T10:00:00Z' }];
const record = liveRecord({ name: 'ci', status: { observedGeneration: 1, conditions } });
const commit = {
  step: 'commit',
  desired: { confirmation: { ...record.status, subject: 'alice' }, ready },
  staleSecrets: [{ name: 'stale' }],
};

it('what only people read is written last, so a failure of it leaves no Secret behind', async () => {
  const done: string[] = [];
  const clock = new FakeClock();
  const paced = new PacedWrites(clock, 1);
  const reconciler = new CredentialReconciler({
    kind: 'OwnedAccessKey',
    stores: { ofKind: { OwnedAccessKey: { written: { get: () => record } } } },
    writer: {
      refreshIfUncertain: async (known: CredentialRecord) => known,
      writeStatus: async () => {
        done.push('described');
        throw new Error('status is invalid');
      },
    },
    unguarded: { judged: async () => undefined },
    secrets: { deleteAll: async () => void done.push('Secrets deleted') },
    expiryBudget: paced,
    lockBudget: paced,
    descriptions: paced,
    endDelays: { recorded: () => undefined },
    now: () => created,
    inputOf: () => ({}),
    decide: () => commit,
  } as never);

  await expect(reconciler.reconcile('ci')).rejects.toThrow('status is invalid');

  expect(done).toEqual(['Secrets deleted', 'described']);
});

describe('what a lock stops', () => {
  const message = 'The CredentialLock "incident" stops it: it works again when the lock is gone.';
  const locked = { status: 'False', reason: 'Locked', message } as const;

  /** 10,000 keys that a lock of a group stops, as one reconcile after the other finds them. */
  function start(keys: number, desired: object = { confirmation: record.status, ready: locked }) {
    const clock = new FakeClock();
    const written: string[] = [];
    const of = (key: string) => ({ ...record, key, uid: key });
    const reconciler = new CredentialReconciler({
      kind: 'OwnedAccessKey',
      stores: { ofKind: { OwnedAccessKey: { written: { get: of } } } },
      writer: {
        refreshIfUncertain: async (known: CredentialRecord) => known,
        writeStatus: async ({ key }: CredentialRecord) => void written.push(key),
      },
      unguarded: { judged: async () => undefined },
      secrets: { deleteAll: async () => undefined },
      expiryBudget: new PacedWrites(clock, 1),
      lockBudget: new PacedWrites(clock, 50),
      descriptions: new PacedWrites(clock, 1),
      endDelays: { recorded: () => undefined },
      now: () => created + clock.monotonic(),
      inputOf: () => ({}),
      decide: () => ({ step: 'commit', desired, staleSecrets: [] }),
    } as never);
    const all = async () => {
      const waits: number[] = [];
      for (let key = 0; key < keys; key += 1)
        waits.push((await reconciler.reconcile(`key-${key}`))?.requeueAfterMs ?? 0);
      return waits;
    };
    return { clock, written, all };
  }

  it('says so in fifty writes a second: 10,000 credentials of a group take 200 seconds, and none is asked sooner', async () => {
    const { clock, written, all } = start(10_000);
    const waits = await all();
    expect(written).toHaveLength(50);
    expect(waits.slice(0, 52)).toEqual([...Array(50).fill(0), 20, 40]);
    expect(Math.max(...waits)).toBe(199_000);
    clock.advance(199_000);
    await all();
    expect(new Set(written).size).toBe(10_000);
  });

  it('does not wait where the write confirms something, too', async () => {
    const confirmation = { ...record.status, fingerprint: 'another' };
    const { written, all } = start(200, { confirmation, ready: locked });
    await all();
    expect(written).toHaveLength(200);
  });
});
