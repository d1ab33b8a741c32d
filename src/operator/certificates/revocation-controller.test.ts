import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { finalizers } from '../../api/names.ts';
import { FakeClock } from '../../kube/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { RevocationController } from './revocation-controller.ts';
import type { RevocationRecord } from './revocation-records.ts';

const kind = 'VirtualClusterInstanceKubeConfig';
const owner = recordOf(
  credentialObject({ kind, metadata: { namespace: 'default', finalizers: [finalizers[kind]] } }),
);

function setUp() {
  const clock = new FakeClock();
  const revoked: (readonly number[])[] = [];
  let record: RevocationRecord = {
    key: 'latchkey-system/record',
    name: 'record',
    uid: 'r',
    resourceVersion: '1',
    ownerUID: owner.uid,
    instance: { namespace: 'default', name: 'shop', uid: 'i' },
    secret: { namespace: 'default', name: 'vc-shop', key: 'config' },
    caFingerprint: 'f',
    serials: [1],
    notAfter: clock.now() + 86_400_000,
  };
  const controller = new RevocationController({
    store: { get: () => record },
    findOwner: () => owner,
    records: { complete: async () => undefined },
    revoker: {
      tryRevoke: async (_, { serials }) => {
        revoked.push(serials);
        return undefined;
      },
    },
    clients: { forget: () => undefined },
    clock,
    random: () => 0,
    log: silentLogger,
  });
  const write = (serials: readonly number[]) => {
    record = { ...record, serials, resourceVersion: `${Number(record.resourceVersion) + 1}` };
  };
  return { clock, revoked, write, reconcile: () => controller.reconcile(record.key) };
}

describe('a record that is ahead of its status', () => {
  it('is acted on when the status has not followed in half a minute', async () => {
    const { clock, revoked, reconcile } = setUp();
    expect(await reconcile()).toEqual({ requeueAfterMs: 30_000 });
    clock.advance(30_000);
    await reconcile();
    expect(revoked).toEqual([[1]]);
  });

  it('has the whole half minute again with each try to issue, which has a serial of its own', async () => {
    const { clock, revoked, write, reconcile } = setUp();
    await reconcile();
    clock.advance(29_990);
    write([5]);
    expect(await reconcile()).toEqual({ requeueAfterMs: 30_000 });
    clock.advance(29_999);
    expect(await reconcile()).toEqual({ requeueAfterMs: 1 });
    expect(revoked).toEqual([]);
  });
});
