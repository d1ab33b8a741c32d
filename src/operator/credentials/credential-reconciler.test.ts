import { expect, it } from 'vitest';
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
    descriptions: paced,
    endDelays: { recorded: () => undefined },
    now: () => created,
    inputOf: () => ({}),
    decide: () => commit,
  } as never);

  await expect(reconciler.reconcile('ci')).rejects.toThrow('status is invalid');

  expect(done).toEqual(['Secrets deleted', 'described']);
});
