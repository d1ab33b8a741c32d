import { describe, expect, it } from 'vitest';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { finalizers } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { introduce } from './people.ts';

const world = await operatorWorld();
const { admin } = world;

describe('a key that takes the name of another before the operator has seen the child of that', () => {
  it('is no parent of a child that someone else made', async () => {
    const [victimName, strangerName] = [world.name('victim'), world.name('stranger')];
    const [victim, stranger] = [await introduce(world, victimName), await introduce(world, strangerName)];
    const name = world.name('parent');
    await world.killOperator();
    const first = await victim.create(ownedAccessKeys, { user: victimName, ttl: 600 }, { name });
    const ofVictim = await victim.create(directClusterEndpointTokens, { accessKey: name });
    const ofStranger = await stranger.create(directClusterEndpointTokens, { accessKey: name });
    // No operator takes the finalizer off.
    await admin.delete(first);
    await admin.patch(first, { metadata: { finalizers: null } });
    expect(first.metadata.finalizers).toContain(finalizers.OwnedAccessKey);
    await admin.untilGone(first);
    const second = await stranger.create(ownedAccessKeys, { user: strangerName, ttl: 600 }, { name });
    await world.startOperator();
    await admin.untilReady(second);
    const refused = await admin.untilRefused(ofVictim, reasons.accessKeyNotAllowed);
    expect(refused.status).not.toHaveProperty('credentialHash');
    expect((await admin.untilReady(ofStranger)).status.subject).toBe(strangerName);
  });
});
