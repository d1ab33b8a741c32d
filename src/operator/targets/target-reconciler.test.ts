import { describe, expect, it, vi } from 'vitest';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type { VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import { RecheckSchedule } from './recheck-schedule.ts';
import type { TargetConnector } from './target-connector.ts';
import type { TargetFinalizer } from './target-finalizer.ts';
import { decideInstance } from './target-policy.ts';
import { TargetReconciler } from './target-reconciler.ts';
import type { TargetWriter } from './target-writer.ts';

type Rec = VirtualClusterInstanceRecord;
const key = 'default/shop';
const down: TargetProblem = { reason: 'TargetUnreachable', message: 'down' };

function setUp(first: Rec = instanceRecord()) {
  const state: { record: Rec | undefined } = { record: first };
  const connector = {
    connect: vi.fn<() => Promise<TargetProblem | undefined>>(async () => undefined),
    forget: vi.fn(),
  };
  const writer = {
    addFinalizer: vi.fn(async (record: Rec) => {
      state.record = instanceRecord({ metadata: { uid: record.uid, resourceVersion: '8' } });
      return state.record;
    }),
    writeStatus: vi.fn(async (record: Rec) => record),
  };
  const finalize = vi.fn(async () => undefined);
  const reconciler = new TargetReconciler<Rec>({
    find: () => state.record,
    decide: decideInstance,
    finalizerName: 'management.platform.sh/virtualclusterinstance',
    writer: writer as unknown as TargetWriter<Rec>,
    connector: connector as unknown as TargetConnector,
    finalizer: { finalize } as unknown as TargetFinalizer<Rec>,
    schedule: new RecheckSchedule({ recheckMs: 60_000, random: () => 1 }),
  });
  return { state, connector, writer, finalize, reconcile: () => reconciler.reconcile(key) };
}

describe('TargetReconciler', () => {
  it('reports that a target is ready, and checks again at the regular time', async () => {
    const { reconcile, writer } = setUp();
    expect(await reconcile()).toEqual({ requeueAfterMs: 60_000 });
    expect(writer.writeStatus).toHaveBeenCalledWith(
      expect.anything(),
      expect.objectContaining({ phase: 'Ready' }),
    );
  });

  it('reports what is wrong, and checks again soon, then less often', async () => {
    const { reconcile, writer, connector } = setUp();
    connector.connect.mockResolvedValue(down);
    const delays = [await reconcile(), await reconcile(), await reconcile()];
    expect(delays.map((result) => result?.requeueAfterMs)).toEqual([1_000, 2_000, 4_000]);
    expect(writer.writeStatus).toHaveBeenLastCalledWith(
      expect.anything(),
      expect.objectContaining({ ready: expect.objectContaining({ reason: 'TargetUnreachable' }) }),
    );
  });

  it('has its finalizer on the object before it makes anything', async () => {
    const { reconcile, writer, connector } = setUp(instanceRecord({ metadata: { finalizers: [] } }));
    await reconcile();
    const [added = 0] = writer.addFinalizer.mock.invocationCallOrder;
    const [connected = 0] = connector.connect.mock.invocationCallOrder;
    expect(added).toBeGreaterThan(0);
    expect(added).toBeLessThan(connected);
  });

  it.each([
    ['was changed', instanceRecord({ metadata: { generation: 2 } })],
    ['was deleted', instanceRecord({ metadata: { deletionTimestamp: '2026-11-21T11:00:00Z' } })],
    ['is another one', instanceRecord({ metadata: { uid: 'other' } })],
    ['is gone', undefined],
  ])('reports nothing of an object that %s during the check', async (_what, next) => {
    const { reconcile, state, connector, writer } = setUp();
    connector.connect.mockImplementation(async () => {
      state.record = next;
      return undefined;
    });
    expect(await reconcile()).toEqual({ requeueAfterMs: 0 });
    expect(writer.writeStatus).not.toHaveBeenCalled();
  });

  it('writes on what it has written itself meanwhile', async () => {
    const { reconcile, state, connector, writer } = setUp();
    const newer = instanceRecord({ metadata: { resourceVersion: '9' } });
    connector.connect.mockImplementation(async () => {
      state.record = newer;
      return undefined;
    });
    await reconcile();
    expect(writer.writeStatus).toHaveBeenCalledWith(newer, expect.anything());
  });

  it('closes the connections to a target that is gone, and to one that has another in its place', async () => {
    const { reconcile, state, connector } = setUp();
    await reconcile();
    state.record = instanceRecord({ metadata: { uid: 'second' } });
    await reconcile();
    expect(connector.forget.mock.calls).toEqual([['uid-of-shop']]);
    state.record = undefined;
    expect(await reconcile()).toBeUndefined();
    await reconcile();
    expect(connector.forget.mock.calls).toEqual([['uid-of-shop'], ['second']]);
  });

  it('cleans up behind a deleted one, and connects it no more', async () => {
    const metadata = { deletionTimestamp: '2026-11-21T11:00:00Z' };
    const { reconcile, connector, finalize } = setUp(instanceRecord({ metadata }));
    await reconcile();
    expect(finalize).toHaveBeenCalledTimes(1);
    expect(connector.connect).not.toHaveBeenCalled();
  });
});
