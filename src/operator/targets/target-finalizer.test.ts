import { describe, expect, it, vi } from 'vitest';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import type { Connection, Disconnection } from './target-connector.ts';
import { TargetFinalizer } from './target-finalizer.ts';
import type { TargetWriter } from './target-writer.ts';

const limitMs = 60_000;
const connection = {} as Connection;

interface Setting {
  readonly agoMs?: number;
  readonly isAwaited?: boolean;
  /** Of its condition. */
  readonly reason?: string;
  /** Whether something may have been made in the target. */
  readonly wasEntered?: boolean;
}

/** A finalizer at work on an instance that was deleted `agoMs` before the operator came. */
function setUp({ agoMs = 0, isAwaited = false, reason = 'Connected', wasEntered = true }: Setting = {}) {
  const clock = new FakeClock();
  const start = clock.now();
  const deletionTimestamp = new Date(start - agoMs).toISOString().replace('.000Z', 'Z');
  const conditions = [{ type: 'Ready', status: reason === 'Connected' ? 'True' : 'False', reason }];
  const record = instanceRecord({ metadata: { deletionTimestamp }, status: { conditions } });
  const disconnect = vi.fn<() => Promise<Disconnection>>(async () => 'clean');
  const writer = {
    writeStatus: vi.fn(async (given: VirtualClusterInstanceRecord) => given),
    removeFinalizer: vi.fn(async () => undefined),
  };
  const [onReleased, publish, awaited] = [vi.fn(), vi.fn(), vi.fn(() => isAwaited)];
  const finalizer = new TargetFinalizer<VirtualClusterInstanceRecord>({
    finalizer: 'management.platform.sh/virtualclusterinstance',
    connector: { disconnect, wasEntered: async () => wasEntered },
    writer: writer as unknown as TargetWriter<VirtualClusterInstanceRecord>,
    events: { publish },
    isAwaited: awaited,
    onReleased,
    now: () => clock.now(),
    workingSince: () => start,
    limitMs,
  });
  const finalize = (given: Connection | undefined = connection) => finalizer.finalize(record, given);
  const isGone = () => writer.removeFinalizer.mock.calls.length > 0;
  const isReported = () => onReleased.mock.calls.length === 1 && publish.mock.calls.length === 1;
  const told = () =>
    publish.mock.calls.flatMap(([, events]) => events.map(({ reason }: { reason: string }) => reason));
  return { clock, finalizer, record, disconnect, writer, awaited, finalize, isGone, isReported, told };
}

describe('TargetFinalizer', () => {
  it('reports that the object goes, cleans up, and releases it', async () => {
    const { finalize, writer, disconnect, isGone, isReported, told } = setUp();
    expect(await finalize()).toBeUndefined();
    expect(told()).toEqual(['Deleted']);
    expect(writer.writeStatus).toHaveBeenCalledWith(
      expect.anything(),
      expect.objectContaining({ phase: 'Terminating' }),
    );
    expect(disconnect).toHaveBeenCalledTimes(1);
    expect([isGone(), isReported()]).toEqual([true, false]);
  });

  it('waits for what is still to be revoked, and no longer', async () => {
    const { finalize, awaited, isGone, isReported } = setUp({ isAwaited: true });
    expect(await finalize()).toEqual({ requeueAfterMs: 1_000 });
    expect(isGone()).toBe(false);
    awaited.mockReturnValue(false);
    expect(await finalize()).toBeUndefined();
    expect([isGone(), isReported()]).toEqual([true, false]);
  });

  it('holds it until another one has taken over what it works with', async () => {
    const { finalize, disconnect, isGone, isReported } = setUp();
    disconnect.mockResolvedValueOnce('kept');
    expect(await finalize()).toEqual({ requeueAfterMs: 1_000 });
    expect(isGone()).toBe(false);
    expect(await finalize()).toBeUndefined();
    expect([isGone(), isReported()]).toEqual([true, false]);
  });

  it.each([
    ['its target cannot be cleaned', false, 'failed'],
    ['something is never revoked', true, 'clean'],
    ['nothing is ever taken over', false, 'kept'],
  ] as const)('releases it at the limit when %s, and reports that', async (_what, isAwaited, outcome) => {
    const { finalize, disconnect, clock, isGone, isReported, told } = setUp({ isAwaited });
    disconnect.mockResolvedValue(outcome);
    await finalize();
    clock.advance(limitMs - 1_000);
    expect(await finalize()).toEqual({ requeueAfterMs: 1_000 });
    clock.advance(1_000);
    expect(await finalize()).toBeUndefined();
    expect([isGone(), isReported()]).toEqual([true, true]);
    expect(told()).toEqual(['Deleted', 'FinalizerReleased']);
  });

  it('does not count the time without an operator', async () => {
    const { finalize, disconnect, clock, isGone } = setUp({ agoMs: 10 * limitMs });
    disconnect.mockResolvedValue('failed');
    await finalize();
    clock.advance(limitMs - 1);
    await finalize();
    expect(isGone()).toBe(false);
    clock.advance(1);
    await finalize();
    expect(isGone()).toBe(true);
  });

  it('releases it at once when there is no kubeconfig any more, as soon as nothing waits', async () => {
    const { finalize, disconnect, awaited, isGone, isReported } = setUp({ isAwaited: true });
    disconnect.mockResolvedValue('gone');
    expect(await finalize()).toEqual({ requeueAfterMs: 1_000 });
    expect(isGone()).toBe(false);
    awaited.mockReturnValue(false);
    expect(await finalize()).toBeUndefined();
    expect([isGone(), isReported()]).toEqual([true, false]);
  });

  it('dials nothing where nothing was made', async () => {
    const { finalizer, record, disconnect, isGone } = setUp({ isAwaited: true });
    expect(await finalizer.finalize(record, undefined)).toBeUndefined();
    expect(disconnect).not.toHaveBeenCalled();
    expect(isGone()).toBe(true);
  });

  it('fails with what the platform refuses, until the limit', async () => {
    const { finalize, disconnect, clock, isGone, isReported } = setUp();
    disconnect.mockRejectedValue(new Error('the API server is away'));
    await expect(finalize()).rejects.toThrow('away');
    expect(isGone()).toBe(false);
    clock.advance(limitMs);
    expect(await finalize()).toBeUndefined();
    expect([isGone(), isReported()]).toEqual([true, true]);
  });

  describe.each([
    'Pending',
    'KubeConfigNotFound',
    'KubeConfigRefused',
    'AddressRefused',
    'TargetUnreachable',
    'TargetNotTrusted',
    'TargetUnauthorized',
    'TargetForbidden',
    'TargetAnswer',
    'TargetInUse',
  ])('of a target that was never entered (%s)', (reason) => {
    it('releases it at once, dials nothing and raises no alarm', async () => {
      const { finalize, disconnect, isGone, isReported } = setUp({ reason, wasEntered: false });
      expect(await finalize()).toBeUndefined();
      expect(disconnect).not.toHaveBeenCalled();
      expect([isGone(), isReported()]).toEqual([true, false]);
    });

    it.each([
      ['was entered before', { wasEntered: true }],
      ['has certificates that are not revoked', { wasEntered: false, isAwaited: true }],
    ])('waits when it %s', async (_, setting) => {
      const { finalize, disconnect, isGone } = setUp({ reason, ...setting });
      disconnect.mockResolvedValue('failed');
      expect(await finalize()).toEqual({ requeueAfterMs: 1_000 });
      expect(isGone()).toBe(false);
    });
  });

  it.each(['Connected', 'SecretFailed', 'Deleting'])(
    'waits for a target that may hold something although its Secret is missing (%s)',
    async (reason) => {
      const { finalize, disconnect, isGone } = setUp({ reason, wasEntered: false });
      disconnect.mockResolvedValue('failed');
      expect(await finalize()).toEqual({ requeueAfterMs: 1_000 });
      expect(isGone()).toBe(false);
    },
  );
});
