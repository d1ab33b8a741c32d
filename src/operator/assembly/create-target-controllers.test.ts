import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { holdsAccess } from './create-target-controllers.ts';

const instance = 'uid-of-shop';
const credentialHash = 'a'.repeat(64);

function kubeConfig(status: Record<string, unknown>) {
  const kind = 'VirtualClusterInstanceKubeConfig';
  return recordOf(credentialObject({ kind, metadata: { namespace: 'default' }, status }));
}

describe('a deleted instance', () => {
  const own = { virtualClusterInstanceUID: instance };

  it.each([
    ['is live', { ...own, credentialHash }],
    ['may have a binding inside', { ...own, boundSerials: [1, 2] }],
    ['was never pinned and is live', { credentialHash }],
  ])('waits for a kubeconfig that %s', (_what, status) => {
    expect(holdsAccess(kubeConfig(status), instance)).toBe(true);
  });

  it.each([
    ['is revoked', own],
    ['has no binding left', { ...own, boundSerials: [] }],
    ['was for another instance of that name', { virtualClusterInstanceUID: 'before', credentialHash }],
    ['was never issued', {}],
  ])('does not wait for a kubeconfig that %s', (_what, status) => {
    expect(holdsAccess(kubeConfig(status), instance)).toBe(false);
  });
});
