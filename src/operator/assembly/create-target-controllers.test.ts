import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import { isAwaitedBy } from './create-target-controllers.ts';

const deleted = instanceRecord({ metadata: { deletionTimestamp: '2026-11-21T11:00:00Z' } });

/** Whether a deleted instance waits for its one kubeconfig, which has this status. */
function isAwaited(status: Record<string, unknown>): boolean {
  const kind = 'VirtualClusterInstanceKubeConfig';
  const kubeConfig = recordOf(credentialObject({ kind, metadata: { namespace: 'default' }, status }));
  return isAwaitedBy({ kubeConfigsOf: (key) => (key === 'default/shop' ? [kubeConfig] : []) })(deleted);
}

describe('a deleted instance', () => {
  const own = { virtualClusterInstanceUID: deleted.uid };
  const credentialHash = 'a'.repeat(64);

  it.each([
    ['is live', { ...own, credentialHash }],
    ['may have a binding inside', { ...own, boundSerials: [1, 2] }],
    ['was never pinned and is live', { credentialHash }],
  ])('waits for a kubeconfig that %s', (_what, status) => {
    expect(isAwaited(status)).toBe(true);
  });

  it.each([
    ['is revoked', own],
    ['has no binding left', { ...own, boundSerials: [] }],
    ['was for another instance of that name', { virtualClusterInstanceUID: 'before', credentialHash }],
    ['was never issued', {}],
  ])('does not wait for a kubeconfig that %s', (_what, status) => {
    expect(isAwaited(status)).toBe(false);
  });
});
