import { describe, expect, it } from 'vitest';
import { created, credentialObject, liveRecord, recordOf } from '../../../test/builders/credential-object.ts';
import { finalizers, labels } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { TransitionEvent } from '../shared/events.ts';
import { planChildren } from './access-keys/children.ts';
import { type CleanUp, deadlineOf, Finalizer, releaseOf } from './finalizer.ts';

const parent = liveRecord({
  name: 'parent',
  metadata: { deletionTimestamp: new Date(created).toISOString() },
});
const childOf = (status: Record<string, unknown>, marks: Record<string, string> = {}) =>
  recordOf(
    credentialObject({
      name: 'child',
      spec: { accessKey: 'parent' },
      metadata: { labels: marks },
      status: { accessKeyUID: parent.uid, ...status },
    }),
  );
const look = ({
  children = [] as readonly CredentialRecord[],
  secrets = [] as readonly string[],
  now = created,
  since = 0,
} = {}) => {
  const { toDelete: deleteChildren, waiting } = planChildren(parent, children);
  const left = waiting.length === 0 ? 'nothing' : 'something';
  const deadline = deadlineOf(parent, { now, since, limitMs: 60_000 });
  return { deleteChildren, release: releaseOf({ secrets: secrets.length, left, now, deadline }) };
};

describe('the finalization of a credential', () => {
  it('is done when nothing depends on the credential', () => {
    expect(look().release).toBe('done');
  });

  it('waits for children until they have lost their credential', () => {
    expect(look({ children: [childOf({ credentialHash: 'a'.repeat(64) })] }).release).toBeUndefined();
    expect(look({ children: [childOf({})] }).release).toBe('done');
  });

  it('does not wait for a child that never depended on this very object', () => {
    expect(
      look({ children: [childOf({ accessKeyUID: 'another parent', credentialHash: 'a'.repeat(64) })] })
        .release,
    ).toBe('done');
  });

  it('deletes ephemeral children and waits until they are gone', () => {
    const child = childOf({}, { [labels.ephemeral]: 'true' });
    expect(look({ children: [child] })).toMatchObject({ deleteChildren: [child] });
    expect(look({ children: [child] }).release).toBeUndefined();
  });

  it('waits for its Secrets', () => {
    expect(look({ secrets: ['one'] }).release).toBeUndefined();
  });

  it('gives up at the limit, counted from the deletion', () => {
    expect(look({ secrets: ['one'], now: created + 59_999 }).release).toBeUndefined();
    expect(look({ secrets: ['one'], now: created + 60_000 }).release).toBe('left');
  });

  it('does not count the time without an operator', () => {
    const since = created + 3_600_000;
    expect(look({ secrets: ['one'], since, now: since + 59_999 }).release).toBeUndefined();
    expect(look({ secrets: ['one'], since, now: since + 60_000 }).release).toBe('left');
  });
});

describe('a Finalizer whose Secrets cannot be deleted', () => {
  const held = liveRecord({
    name: 'held',
    metadata: { deletionTimestamp: new Date(created).toISOString(), finalizers: [finalizers.OwnedAccessKey] },
  });
  const refusal = new Error('secrets "out" is forbidden');
  const finalizerAt = (now: number, cleanUp: CleanUp) => {
    const removed: string[] = [];
    const finalizer = new Finalizer(
      {
        stores: { secretsOf: () => [] },
        writer: {
          writeStatus: async (record) => record,
          removeFinalizer: async ({ uid }) => void removed.push(uid),
        },
        secrets: { deleteAll: () => Promise.reject(refusal) },
        events: { publish: () => undefined },
        onReleased: () => undefined,
        now: () => now,
        workingSince: () => 0,
        limitMs: 0,
      },
      cleanUp,
    );
    return { finalizer, removed };
  };

  it('revokes what lies elsewhere nevertheless, and lets the object go at the limit only', async () => {
    const cleaned: string[] = [];
    const { finalizer, removed } = finalizerAt(created - 1, async ({ uid }) => {
      cleaned.push(uid);
      return { left: 'nothing' };
    });
    await expect(finalizer.finalize(held)).rejects.toBe(refusal);
    expect([cleaned, removed]).toEqual([[held.uid], []]);
    const atLimit = finalizerAt(created, async () => ({ left: 'nothing' }));
    await atLimit.finalizer.finalize(held);
    expect(atLimit.removed).toEqual([held.uid]);
  });
});

describe('a Finalizer that lets an object go', () => {
  const deletionTimestamp = new Date(created).toISOString();
  const released = async (status: Record<string, unknown>, cleanUp: CleanUp) => {
    const metadata = { deletionTimestamp, finalizers: [finalizers.OwnedAccessKey] };
    const published: TransitionEvent[] = [];
    const finalizer = new Finalizer(
      {
        stores: { secretsOf: () => [] },
        writer: { writeStatus: async (record) => record, removeFinalizer: async () => undefined },
        secrets: { deleteAll: async () => undefined },
        events: { publish: (_, events) => void published.push(...events) },
        onReleased: () => undefined,
        now: () => created,
        workingSince: () => 0,
        limitMs: 0,
      },
      cleanUp,
    );
    await finalizer.finalize(liveRecord({ name: 'gone', metadata, status }));
    return published.map(({ reason, note }) => [reason, note]);
  };

  it('says which credential has ended', async () => {
    expect(await released({ serial: 3 }, async () => ({ left: 'nothing' }))).toEqual([
      ['Deleted', 'The object was deleted. The credential with serial 3 has ended.'],
    ]);
  });

  it('says so about its Secret too', async () => {
    const secret = {
      key: 'team/out',
      namespace: 'team',
      name: 'out',
      uid: 's',
      resourceVersion: '1',
      deleting: false,
    };
    const published: string[] = [];
    const metadata = { deletionTimestamp, finalizers: [finalizers.OwnedAccessKey] };
    const finalizer = new Finalizer({
      stores: { secretsOf: () => [secret] as never },
      writer: { writeStatus: async (record) => record, removeFinalizer: async () => undefined },
      secrets: { deleteAll: async () => undefined },
      events: {
        publish: ({ kind, key }, events) =>
          void published.push(...events.map((event) => `${kind} ${key} ${event.reason}`)),
      },
      onReleased: () => undefined,
      now: () => created,
      workingSince: () => 0,
      limitMs: 1,
    });
    await finalizer.finalize(liveRecord({ name: 'gone', metadata }));
    expect(published).toEqual(['Secret team/out Deleted']);
  });

  it('says besides what may be left', async () => {
    expect(await released({ serial: 0 }, async () => ({ left: 'something' }))).toEqual([
      ['Deleted', 'The object was deleted. No credential was ever issued for it.'],
      ['FinalizerReleased', expect.stringContaining('may be left')],
    ]);
  });
});
