import { describe, expect, it, vi } from 'vitest';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type { TargetRecord, VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import { decideInstance } from './decide-target.ts';
import { RecheckSchedule } from './recheck-schedule.ts';
import type { CheckedReference } from './reference-check.ts';
import type { Connection, TargetConnector } from './target-connector.ts';
import type { TargetFinalizer } from './target-finalizer.ts';
import { TargetReconciler } from './target-reconciler.ts';
import { refused } from './target-status.ts';
import type { TargetWriter } from './target-writer.ts';

type Rec = VirtualClusterInstanceRecord;
const key = 'default/shop';
const notPermitted: TargetProblem = { reason: 'RequesterNotPermitted', message: 'no' };
const down: TargetProblem = { reason: 'TargetUnreachable', message: 'down' };

function setUp(first: Rec = instanceRecord()) {
  const state: { record: Rec | undefined } = { record: first };
  const connector = {
    connect: vi.fn<(to: Connection) => Promise<TargetProblem | undefined>>(async () => undefined),
    wasEntered: vi.fn(async () => false),
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
  const check = vi.fn<(record: TargetRecord) => Promise<CheckedReference>>(async ({ reference }) => ({
    reference,
  }));
  const reconciler = new TargetReconciler<Rec>({
    find: () => state.record,
    decide: decideInstance,
    finalizerName: 'management.platform.sh/virtualclusterinstance',
    writer: writer as unknown as TargetWriter<Rec>,
    connector: connector as unknown as TargetConnector,
    finalizer: { finalize } as unknown as TargetFinalizer<Rec>,
    schedule: new RecheckSchedule({ recheckMs: 60_000, random: () => 1 }),
    references: { check },
    uidsOf: async () => ({}),
  });
  return { state, check, connector, writer, finalize, reconcile: () => reconciler.reconcile(key) };
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

  it('keeps in status what it has used', async () => {
    const { reconcile, writer } = setUp();
    await reconcile();
    const { reference: confirmed } = instanceRecord();
    expect(writer.writeStatus).toHaveBeenCalledWith(
      expect.anything(),
      expect.objectContaining({ confirmed }),
    );
  });

  it('does not dial what no one with a right to it has named, and asks again when it is time', async () => {
    const { reconcile, check, connector, writer } = setUp();
    check.mockResolvedValue({ problem: notPermitted, waitMs: 2_000 });
    expect(await reconcile()).toEqual({ requeueAfterMs: 2_000 });
    expect(connector.connect).not.toHaveBeenCalled();
    expect(writer.writeStatus).toHaveBeenCalledWith(expect.anything(), refused(notPermitted));
  });

  it('waits for a change where no answer can help', async () => {
    const { reconcile, check, connector } = setUp();
    check.mockResolvedValue({ problem: { reason: 'RequesterUnknown', message: 'no one' } });
    expect(await reconcile()).toBeUndefined();
    expect(connector.connect).not.toHaveBeenCalled();
  });

  it('goes on with the confirmed reference where the new one is refused', async () => {
    const status = { confirmed: { secretRef: { namespace: 'default', name: 'first', key: 'config' } } };
    const spec = { kubeConfigSecretRef: { name: 'second' } };
    const { reconcile, check, connector, writer } = setUp(instanceRecord({ spec, status }));
    check.mockResolvedValue({ problem: notPermitted, waitMs: 2_000 });
    await reconcile();
    expect(connector.connect.mock.calls.map(([{ kubeConfig }]) => kubeConfig.name)).toEqual(['first']);
    expect(writer.writeStatus).toHaveBeenCalledWith(expect.anything(), refused(notPermitted));
  });

  it('connects with the new reference once it is permitted', async () => {
    const status = { confirmed: { secretRef: { namespace: 'default', name: 'first', key: 'config' } } };
    const spec = { kubeConfigSecretRef: { name: 'second' } };
    const { reconcile, connector } = setUp(instanceRecord({ spec, status }));
    await reconcile();
    expect(connector.connect.mock.calls.map(([{ kubeConfig }]) => kubeConfig.name)).toEqual(['second']);
  });

  it.each([
    ['without a confirmed reference', {}, true],
    ['with one', { confirmed: { secretRef: { namespace: 'default', name: 'a', key: 'config' } } }, false],
  ])('looks for the work of an earlier release %s: %j', async (_, status, expected) => {
    const { reconcile, check, connector } = setUp(instanceRecord({ status }));
    connector.wasEntered.mockResolvedValue(true);
    await reconcile();
    expect(check).toHaveBeenCalledWith(expect.anything(), {}, expected);
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
