import { describe, expect, it } from 'vitest';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { virtualClusterInstances } from '../../api/resources.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import { Store } from '../../kube/cache/store.ts';
import type { VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import { ObjectWriter } from './object-writer.ts';

const ours = 'management.platform.sh/virtualclusterinstance';

/** The watch has brought the object, and does not bring its end. */
function setUp(finalizers: string[]) {
  const record = instanceRecord({ metadata: { finalizers, deletionTimestamp: '2026-11-21T10:00:00Z' } });
  const store = new Store<VirtualClusterInstanceRecord>();
  store.upsert(record);
  const records = new MutationCache(store, new FakeClock());
  const writer = new ObjectWriter<VirtualClusterInstanceRecord>({
    // The answer to a write that ends an object has the version that the object had before.
    client: { mergePatch: async () => ({}) as never },
    toRecord: () => ({ ...record, finalizers: record.finalizers.filter((name) => name !== ours) }),
    ...{ resource: virtualClusterInstances, records, events: { publish: () => undefined } },
  });
  return { record, records, writer };
}

describe('an object that is let go', () => {
  it('is gone with its last finalizer, before the watch tells', async () => {
    const { record, records, writer } = setUp([ours]);
    await writer.removeFinalizer(record, ours);
    expect(records.get(record.key)).toBeUndefined();
  });

  it('stays while something else holds it', async () => {
    const { record, records, writer } = setUp([ours, 'example.com/other']);
    await writer.removeFinalizer(record, ours);
    expect(records.get(record.key)?.uid).toBe(record.uid);
  });
});
