import { describe, expect, it } from 'vitest';
import {
  confirmed,
  credentialObject,
  liveRecord,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { byCredentialKind } from '../../api/credential-kinds.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import { CredentialStores } from '../credentials/credential-stores.ts';
import { enqueueDependents } from './enqueue-dependents.ts';

const kind = 'DirectClusterEndpointToken';
const parent = liveRecord({ name: 'parent' });
const child = liveRecord({ name: 'child', spec: { accessKey: 'parent' } }, [parent]);
const grandchild = liveRecord({ kind, name: 'grandchild', spec: { accessKey: 'child' } }, [child, parent]);

async function setUp() {
  const clock = new FakeClock();
  const stores = new CredentialStores(clock);
  const queues = byCredentialKind(() => new WorkQueue({ clock, random: () => 0 }));
  enqueueDependents(stores, queues);
  stores.keys.upsert(parent);
  stores.keys.upsert(child);
  stores.ofKind.DirectClusterEndpointToken.store.upsert(grandchild);
  const drain = async (queue: WorkQueue) => {
    const keys: string[] = [];
    while (queue.length > 0) {
      const key = (await queue.get()) as string;
      keys.push(key);
      queue.done(key);
    }
    return keys.sort();
  };
  const woken = async () => {
    const woken: string[] = [];
    for (const queue of Object.values(queues)) woken.push(...(await drain(queue)));
    return woken;
  };
  await woken();
  return { stores, woken };
}

describe('a change of an access key', () => {
  it('enqueues all its descendants, because their chains cover every level', async () => {
    const { stores, woken } = await setUp();
    stores.keys.upsert({ ...parent, disabled: true, resourceVersion: '8' });
    expect(await woken()).toEqual(['child', 'parent', 'grandchild']);
  });

  it('enqueues its kubeconfigs too', async () => {
    const { stores, woken } = await setUp();
    const below = {
      kind: 'VirtualClusterInstanceKubeConfig',
      name: 'vc',
      spec: { accessKey: 'child' },
    } as const;
    stores.kubeConfigs.upsert(recordOf(credentialObject({ ...below, metadata: { namespace: 'p-a' } })));
    await woken();
    stores.keys.upsert({ ...parent, disabled: true, resourceVersion: '8' });
    expect(await woken()).toContain('p-a/vc');
  });

  it('does not enqueue them for a mere activity', async () => {
    const { stores, woken } = await setUp();
    const used = { ...parent, resourceVersion: '8', status: { ...parent.status, lastActivity: 1 } };
    stores.keys.upsert(used);
    expect(await woken()).toEqual(['parent']);
  });

  it('enqueues those that waited until a change of it was reconciled', async () => {
    const { stores, woken } = await setUp();
    const generation = parent.generation + 1;
    stores.keys.upsert({ ...parent, generation, resourceVersion: '8' });
    await woken();
    stores.keys.upsert({ ...parent, generation, observedGeneration: generation, resourceVersion: '9' });
    expect(await woken()).toEqual(['child', 'parent', 'grandchild']);
  });

  it('enqueues them when it is gone', async () => {
    const { stores, woken } = await setUp();
    stores.keys.remove('parent');
    expect(await woken()).toEqual(['child', 'parent', 'grandchild']);
  });

  it('goes no deeper than a chain may be long, however many keys hang below', async () => {
    const { stores, woken } = await setUp();
    let above = 'parent';
    for (let level = 0; level < 3_000; level++) {
      const name = `deep-${level}`;
      stores.keys.upsert(recordOf(credentialObject({ name, spec: { accessKey: above } })));
      above = name;
    }
    await woken();
    stores.keys.upsert({ ...parent, disabled: true, resourceVersion: '8' });
    const names = await woken();
    expect(names).toContain('grandchild');
    expect(names.length).toBeLessThan(20);
  });

  it('ends at a loop', async () => {
    const { stores, woken } = await setUp();
    stores.keys.upsert(recordOf(credentialObject({ name: 'one', spec: { accessKey: 'two' } })));
    stores.keys.upsert(recordOf(credentialObject({ name: 'two', spec: { accessKey: 'one' } })));
    expect(await woken()).toEqual(['one', 'two']);
  });
});

describe('what was there at the start', () => {
  it('goes behind what changed meanwhile, with all that depends on it', async () => {
    const clock = new FakeClock();
    const stores = new CredentialStores(clock);
    const queues = byCredentialKind(() => new WorkQueue({ clock, random: () => 0 }));
    enqueueDependents(stores, queues);
    const keyNamed = (name: string) => recordOf(credentialObject({ name }));
    for (const record of [child, parent, keyNamed('other')]) stores.keys.upsert(record, 'list');
    stores.secrets.upsert({ ...ownSecret, ownerUID: child.uid }, 'list');
    stores.keys.upsert(keyNamed('new'));
    stores.keys.upsert({ ...keyNamed('other'), resourceVersion: '8' });
    const queue = queues.OwnedAccessKey;
    const order: (string | undefined)[] = [];
    while (queue.length > 0) order.push(await queue.get());
    expect(order).toEqual(['new', 'other', 'child', 'parent']);
  });
});

describe('a change of something below', () => {
  it('enqueues a parent that waits to be deleted', async () => {
    const { stores, woken } = await setUp();
    stores.keys.upsert({ ...parent, deleted: 1, resourceVersion: '8' });
    await woken();
    stores.ofKind.DirectClusterEndpointToken.store.upsert({
      ...recordOf(
        confirmed(credentialObject({ kind, name: 'other', spec: { accessKey: 'parent' } }), [parent]),
      ),
    });
    expect(await woken()).toEqual(['parent', 'other']);
  });

  it('enqueues the owner of a Secret that changed or went', async () => {
    const { stores, woken } = await setUp();
    const secret = ownSecret;
    stores.secrets.upsert(secret);
    expect(await woken()).toEqual(['grandchild']);
    stores.secrets.remove('default/out');
    expect(await woken()).toEqual(['grandchild']);
  });

  it('does not enqueue the owner for a Secret that the operator wrote itself, which would undo its back-off', async () => {
    const { stores, woken } = await setUp();
    const secret = { ...ownSecret, resourceVersion: '9' };
    stores.writtenSecrets.put(secret);
    stores.secrets.upsert(secret);
    expect(await woken()).toEqual([]);
    stores.secrets.upsert({ ...secret, resourceVersion: '10' });
    expect(await woken()).toEqual(['grandchild']);
  });
});

const ownSecret = {
  key: 'default/out',
  uid: 's',
  resourceVersion: '3',
  namespace: 'default',
  name: 'out',
  ownerUID: grandchild.uid,
  serial: 1,
  purpose: 'credential',
  hashes: new Map<string, string>(),
  state: '',
  deleting: false,
};
