import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Stored, secretAt } from '../../../lab/operator/api.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { apiVersion } from '../../../src/api/names.ts';
import type { OwnerReference } from '../../../src/api/object-meta.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { createAsSelfService, ownerReferenceTo } from './self-service.ts';

const world = await operatorWorld();
const { admin } = world;
const verifier = new Verifier(admin);

/** The garbage collector looks for new kinds every 30 s only, and this control plane may have got ours just now. */
const collected = { timeoutMs: 120_000 };

describe.concurrent('owner references that a person set', () => {
  it('let an object go when the last of its owners has gone, and not before', async () => {
    const [first, second] = [await admin.createKey(), await admin.createKey()];
    const spec = { accessKey: second.metadata.name };
    const token = await owned(directClusterEndpointTokens, [first, second], spec);
    const { status } = await admin.untilReady(token);

    await admin.delete(first);
    const owners = ({ metadata }: Stored) => metadata.ownerReferences?.map(({ name }) => name);
    const onlySecond = (object: Stored) => owners(object)?.join() === second.metadata.name;
    await admin.until(token, 'the owner that is left', onlySecond, collected);
    expect(await verifier.presented(status.token)).toBe('live');

    await admin.delete(second);
    expect(await verifier.presented(status.token)).not.toBe('live');
    await admin.untilGone(token, collected);
  });

  it('let dependents go before their owner when it is deleted in the foreground', async () => {
    const owner = await admin.untilReady(await admin.createKey());
    const accessKey = owner.metadata.name;
    const blocks = { blockOwnerDeletion: true };
    const place = { namespace: 'default', name: world.name('secret') };
    const key = await owned(ownedAccessKeys, [owner], { accessKey, secretRef: place }, blocks);
    const token = await owned(directClusterEndpointTokens, [owner], { accessKey }, blocks);
    await Promise.all([admin.untilReady(key), admin.untilReady(token)]);

    await admin.delete(owner, { propagationPolicy: 'Foreground' });

    for (const object of [owner, key, token]) expect(await verifier.of(object)).not.toBe('live');
    await admin.untilGone(owner, collected);
    expect(await admin.find(key)).toBeUndefined();
    expect(await admin.find(token)).toBeUndefined();
    await admin.untilGone(secretAt(place.namespace, place.name), collected);
  });

  it('are taken away from dependents that are orphaned, which have lost their access key all the same', async () => {
    const owner = await admin.untilReady(await admin.createKey());
    const accessKey = owner.metadata.name;
    const key = await owned(ownedAccessKeys, [owner], { accessKey });
    const token = await owned(directClusterEndpointTokens, [owner], { accessKey });
    const bearers = [(await admin.untilReady(key)).spec.key, (await admin.untilReady(token)).status.token];
    await untilCollectorKnowsAllOf(owner);

    await admin.delete(owner, { propagationPolicy: 'Orphan' });

    for (const bearer of bearers) expect(await verifier.presented(bearer)).not.toBe('live');
    await admin.untilGone(owner, collected);
    for (const orphan of [key, token]) {
      const { metadata } = await admin.untilRefused(orphan, reasons.accessKeyGone);
      expect(metadata).not.toHaveProperty('deletionTimestamp');
      expect(metadata).not.toHaveProperty('ownerReferences');
    }
    for (const bearer of bearers) expect(await verifier.presented(bearer)).toBe('Unknown');
  });

  it('keep a child of a deleted access key by a second owner, which gives it nothing', async () => {
    const [parent, second] = await Promise.all(
      [await admin.createKey(), await admin.createKey()].map((key) => admin.untilReady(key)),
    );
    if (parent === undefined || second === undefined) throw new TypeError('no keys');
    const blocks = { blockOwnerDeletion: true };
    const spec = { accessKey: parent.metadata.name };
    const children = [
      await owned(ownedAccessKeys, [parent, second], spec, blocks),
      await owned(directClusterEndpointTokens, [parent, second], spec, blocks),
    ];
    const ready = await Promise.all(children.map((child) => admin.untilReady(child)));
    const bearers = ready.map(({ spec: { key }, status: { token } }) => key ?? token);
    await untilCollectorKnowsAllOf(parent);

    await admin.delete(parent, { propagationPolicy: 'Foreground' });

    for (const bearer of bearers) expect(await verifier.presented(bearer)).not.toBe('live');
    await admin.untilGone(parent, collected);
    await admin.untilReady(await admin.createKey({ user: 'alice' }, { name: parent.metadata.name }));
    for (const child of children) {
      const { metadata } = await admin.untilRefused(child, reasons.accessKeyGone);
      expect(metadata).not.toHaveProperty('deletionTimestamp');
      expect(metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([second.metadata.uid]);
    }
    for (const bearer of bearers) expect(await verifier.presented(bearer)).toBe('Unknown');
  });

  it('do not hold up an owner whose dependent somebody keeps, when they block nothing', async () => {
    const owner = await admin.untilReady(await admin.createKey());
    const metadata = {
      name: world.name('kept'),
      finalizers: ['example.com/kept'],
      ownerReferences: [ownerReferenceTo(owner)],
    };
    const child = await admin.createKey({ accessKey: owner.metadata.name }, metadata);
    const { spec } = await admin.untilReady(child);

    await admin.delete(owner, { propagationPolicy: 'Foreground' });

    expect(await verifier.presented(spec.key)).not.toBe('live');
    await admin.untilGone(owner, collected);
    await admin.until(child, 'deletion', (kept) => kept.metadata.deletionTimestamp !== undefined, collected);
    expect((await admin.get(child)).metadata.finalizers).toContain('example.com/kept');
    expect(await verifier.presented(spec.key)).not.toBe('live');
  });

  it('let an object go at once that names one owner by the UID of another', async () => {
    const [mine, other] = [await admin.createKey(), await admin.createKey()];
    const { name } = mine.metadata;
    const disguised = { ...other, metadata: { ...other.metadata, name } };
    const key = await owned(ownedAccessKeys, [disguised], { user: 'alice' }, { blockOwnerDeletion: true });
    await admin.untilGone(key, collected);
    await admin.delete(other, { propagationPolicy: 'Foreground' });
    await admin.untilGone(other, collected);
    expect((await admin.get(mine)).metadata).not.toHaveProperty('deletionTimestamp');
  });

  it('let an object go whose owner is of another kind', async () => {
    const owner = await admin.untilReady(await admin.createToken());
    const key = await owned(ownedAccessKeys, [owner], { user: 'alice' });
    const { spec } = await admin.untilReady(key);
    await admin.delete(owner);
    await admin.untilGone(key, collected);
    expect(await verifier.presented(spec.key)).toBe('Unknown');
  });
});

describe.concurrent('what was made through the gateway', () => {
  it('goes with the access key that it belongs to, Secrets included', async () => {
    const root = await admin.untilReady(await admin.createKey());
    const accessKey = root.metadata.name;
    const ownerReferences = [ownerReferenceTo(root)];
    const places = ['key', 'token'].map((kind) => ({ namespace: 'default', name: world.name(kind) }));
    const made = [
      await createAsSelfService(
        world,
        'OwnedAccessKey',
        { accessKey, secretRef: places[0] },
        { ownerReferences },
      ),
      await createAsSelfService(
        world,
        'DirectClusterEndpointToken',
        { accessKey, secretRef: places[1] },
        { ownerReferences },
      ),
      await createAsSelfService(world, 'DirectClusterEndpointToken', { accessKey }),
    ];
    await Promise.all(made.map((object) => admin.untilReady(object)));

    await admin.delete(root);

    for (const object of made) expect(await verifier.of(object)).not.toBe('live');
    for (const object of made) await admin.untilGone(object, collected);
    for (const { namespace, name } of places) await admin.untilGone(secretAt(namespace, name), collected);
    await admin.untilGone(root, collected);
  });
});

/**
 * The garbage collector watches each kind by itself, and lets an owner go without those dependents that it has not heard of. An object
 * whose owner does not exist goes as soon as the collector hears of it, which is after all older ones of that kind.
 */
async function untilCollectorKnowsAllOf({ metadata, ...owner }: Stored): Promise<void> {
  const absent = { ...owner, metadata: { ...metadata, uid: randomUUID() } };
  for (const resource of [ownedAccessKeys, directClusterEndpointTokens]) {
    const last = await owned(resource, [absent], { accessKey: metadata.name });
    await admin.untilGone(last, collected);
  }
}

async function owned(
  resource: Resource,
  owners: readonly Stored[],
  spec: object,
  extra: Partial<OwnerReference> = {},
): Promise<Stored> {
  const ownerReferences = owners.map((owner) => ({ ...ownerReferenceTo(owner), ...extra }));
  const metadata = { name: world.name('owned'), ownerReferences };
  return await admin.createObject(resource, { apiVersion, kind: resource.kind, metadata, spec });
}
