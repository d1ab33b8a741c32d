import { beforeEach, describe, expect, it } from 'vitest';
import {
  created,
  credentialObject,
  liveRecord,
  recordOf,
  uidOf,
} from '../../../test/builders/credential-object.ts';
import { finalizers, labels } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { kubeErrorFromStatus } from '../../kube/kube-error.ts';
import type { TransitionEvent } from '../shared/events.ts';
import { planChildren } from './access-keys/children.ts';
import { type CleanUp, deadlineOf, Finalizer, releaseOf } from './finalizer.ts';
import type { SecretRecord } from './secret-record.ts';
import { SecretWriter } from './secret-writer.ts';

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

  it('says so of one that was never issued', async () => {
    expect(await released({ serial: 0 }, async () => ({ left: 'nothing' }))).toEqual([
      ['Deleted', 'The object was deleted. No credential was ever issued for it.'],
    ]);
  });

  it.each(['something', 'hopeless'] as const)(
    'says what may be left, and not that the credential has ended, where the clean-up left %s',
    async (left) => {
      expect(await released({ serial: 3 }, async () => ({ left }))).toEqual([
        ['Deleted', 'The object was deleted.'],
        ['FinalizerReleased', expect.stringContaining('may be left')],
      ]);
    },
  );
});

describe('a Finalizer with many Secrets', () => {
  const secretOf = (name: string): SecretRecord => ({
    ...{ key: `team/${name}`, namespace: 'team', name, uid: name, resourceVersion: '1' },
    ...{
      ownerUID: uidOf('gone'),
      serial: 1,
      purpose: 'credential',
      hashes: new Map(),
      state: '',
      deleting: false,
    },
  });
  const deleting = liveRecord({
    name: 'gone',
    metadata: {
      deletionTimestamp: new Date(created).toISOString(),
      finalizers: [finalizers.OwnedAccessKey],
    },
    spec: { user: 'alice', secretRef: { namespace: 'team', name: 'out' } },
  });

  let now: number;
  beforeEach(() => {
    now = created;
  });

  /** `known`: what the watch has brought so far. */
  function finalizerOf(known: () => readonly SecretRecord[], remove: (name: string) => Promise<void>) {
    const published: string[] = [];
    const client = { delete: (_: unknown, { name }: { name: string }) => remove(name).then(() => true) };
    const finalizer = new Finalizer({
      stores: { secretsOf: known },
      writer: { writeStatus: async (record) => record, removeFinalizer: async () => undefined },
      secrets: new SecretWriter(
        client as never,
        { delete: () => undefined, putTombstone: () => undefined } as never,
        () => undefined,
      ),
      events: {
        publish: ({ kind, key }, events) =>
          void published.push(...events.map(({ reason, note }) => `${kind} ${key} ${reason}: ${note}`)),
      },
      onReleased: () => undefined,
      now: () => now,
      workingSince: () => 0,
      limitMs: 60_000,
    });
    return { finalizer, published };
  }

  it('says of the one that its readers know that it is gone, as soon as it is, and of no other', async () => {
    const names = Array.from({ length: 25 }, (_, index) => `alike-${index}`)
      .with(22, 'out')
      .with(24, 'locked');
    let present = names.map(secretOf);
    const { finalizer, published } = finalizerOf(
      () => present,
      async (deleted) => {
        if (deleted === 'locked') throw new Error('secrets "locked" is forbidden');
        present = present.filter(({ name }) => name !== deleted);
      },
    );

    await finalizer.finalize(deleting);
    expect([present.length, published]).toEqual([5, []]);

    await expect(finalizer.finalize(deleting)).rejects.toThrow('locked');
    expect(published).toEqual([
      'Secret team/out Deleted: The credential was deleted, and this Secret with it.',
    ]);
  });

  describe('of an object that is deleted in the foreground', () => {
    const inForeground = liveRecord({
      name: 'gone',
      metadata: {
        deletionTimestamp: new Date(created).toISOString(),
        finalizers: [finalizers.OwnedAccessKey, 'foregroundDeletion'],
      },
      spec: { user: 'alice', secretRef: { namespace: 'team', name: 'out' } },
      status: { credentialHash: undefined },
    });
    const gone = 'Secret team/out Deleted: The credential was deleted, and this Secret with it.';

    it('leaves it to the garbage collector, and says that it is gone', async () => {
      let present = [secretOf('out')];
      const asked: string[] = [];
      const { finalizer, published } = finalizerOf(
        () => present,
        async (name) => void asked.push(name),
      );
      expect(await finalizer.finalize(inForeground)).toEqual({ requeueAfterMs: 1_000 });
      present = [];
      expect(await finalizer.finalize(inForeground)).toEqual({ requeueAfterMs: 1_000 });
      const collected = { ...inForeground, finalizers: [finalizers.OwnedAccessKey] };
      expect(await finalizer.finalize(collected)).toBeUndefined();
      expect([asked, published]).toEqual([[], expect.arrayContaining([gone])]);
    });

    it('deletes it after ten seconds in which the garbage collector did not, and says so once', async () => {
      let present = [secretOf('out')];
      const { finalizer, published } = finalizerOf(
        () => present,
        async () => {
          present = [];
        },
      );
      await finalizer.finalize(inForeground);
      now += 10_000;
      await finalizer.finalize(inForeground);
      expect([present, published.filter((event) => event === gone)]).toEqual([[], [gone]]);
    });
  });

  it('says nothing of one that was gone before', async () => {
    const { finalizer, published } = finalizerOf(
      () => [secretOf('out')],
      () => Promise.reject(kubeErrorFromStatus({ verb: 'DELETE', path: '/' }, 404, undefined)),
    );
    await finalizer.finalize(deleting);
    expect(published).toEqual([]);
  });
});
