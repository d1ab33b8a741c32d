import { describe, expect, it, vi } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import type { VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import type { ObjectEvents } from '../shared/events.ts';
import type { TargetConnector } from '../targets/target-connector.ts';
import type { TargetWriter } from '../targets/target-writer.ts';
import { InstanceController } from '../targets/virtual-cluster-instances/controller.ts';
import { isAwaitedBy } from './create-target-controllers.ts';

const deletionTimestamp = '2026-11-21T11:00:00Z';
const deleted = instanceRecord({ metadata: { deletionTimestamp } });

/** Reconciles a deleted instance for which there is a kubeconfig with this status. Resolves with whether it was let go. */
async function isLetGo(status: Record<string, unknown>): Promise<boolean> {
  const kind = 'VirtualClusterInstanceKubeConfig';
  const kubeConfig = recordOf(credentialObject({ kind, metadata: { namespace: 'default' }, status }));
  const removeFinalizer = vi.fn(async () => undefined);
  const writer = { writeStatus: async (record: VirtualClusterInstanceRecord) => record, removeFinalizer };
  const controller = new InstanceController({
    targets: { instance: () => deleted },
    isAwaited: isAwaitedBy({ kubeConfigsOf: (key) => (key === 'default/shop' ? [kubeConfig] : []) }),
    writer: writer as unknown as TargetWriter<VirtualClusterInstanceRecord>,
    connector: { disconnect: async () => 'clean', forget: () => undefined } as unknown as TargetConnector,
    events: {} as ObjectEvents,
    onReleased: () => undefined,
    now: () => Date.parse(deletionTimestamp),
    random: () => 0,
    recheckMs: 60_000,
    limitMs: 60_000,
  });
  await controller.reconcile('default/shop');
  return removeFinalizer.mock.calls.length === 1;
}

describe('a deleted instance', () => {
  const own = { virtualClusterInstanceUID: deleted.uid };
  const credentialHash = 'a'.repeat(64);

  it.each([
    ['is live', { ...own, credentialHash }],
    ['may have a binding inside', { ...own, boundSerials: [1, 2] }],
    ['was never pinned and is live', { credentialHash }],
  ])('waits for a kubeconfig that %s', async (_what, status) => {
    expect(await isLetGo(status)).toBe(false);
  });

  it.each([
    ['is revoked', own],
    ['has no binding left', { ...own, boundSerials: [] }],
    ['was for another instance of that name', { virtualClusterInstanceUID: 'before', credentialHash }],
    ['was never issued', {}],
  ])('does not wait for a kubeconfig that %s', async (_what, status) => {
    expect(await isLetGo(status)).toBe(true);
  });
});
