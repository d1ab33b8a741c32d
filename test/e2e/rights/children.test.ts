import { describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { Issuer } from '../lifecycle/issuer.ts';
import { give, impersonate, introduce } from './people.ts';

const world = await operatorWorld();
const { admin, name } = world;
const issuer = new Issuer(admin);
const scope = { clusters: [{ cluster: '*' }] };

/** A key for a user of its own with the group ops, made by someone who may, and those two. */
async function keyWithGroup() {
  const [user, maker] = [name('holder'), name('maker')];
  const users = await give(world, maker, impersonate('users', user));
  const groups = await give(world, maker, impersonate('groups', 'ops'));
  const [holder, carol] = await Promise.all([introduce(world, user), introduce(world, maker)]);
  const key = await carol.create(ownedAccessKeys, { user, groups: ['ops'], scope, ttl: 3600 });
  await admin.untilReady(key);
  return { user, maker, holder, carol, key, users, groups };
}

describe('a child of a key with groups', () => {
  const children = [
    ['a key by hash', ownedAccessKeys, () => ({ key: `sha256:${credentialHash(name('key'))}` })],
    ['a token', directClusterEndpointTokens, () => ({})],
  ] as const;

  it.each(children)(
    '%s is refused to the user of the key, who is not in the group',
    async (_, resource, specOf) => {
      const { user, holder, key } = await keyWithGroup();
      const child = await holder.create(resource, { ...specOf(), accessKey: key.metadata.name });
      const refused = await admin.untilRefused(child, reasons.requesterNotPermitted);
      expect(refused.status).not.toHaveProperty('credentialHash');
      expect(conditionOf(refused)?.message).toContain(
        `User "${user}" needs the verb "impersonate" on groups/ops`,
      );
    },
  );

  it.each(children)('%s is refused to a maker who may impersonate no more', async (_, resource, specOf) => {
    const { user, maker, carol, key, users } = await keyWithGroup();
    await users.take();
    const child = await carol.create(resource, { ...specOf(), accessKey: key.metadata.name });
    const refused = await admin.untilRefused(child, reasons.requesterNotPermitted);
    expect(conditionOf(refused)?.message).toContain(
      `User "${maker}" needs the verb "impersonate" on users/${user}`,
    );
  });

  it('is issued to a maker who still may, and goes on when the right is taken', async () => {
    const { carol, key, users, groups } = await keyWithGroup();
    const child = await admin.untilReady(
      await carol.create(directClusterEndpointTokens, { accessKey: key.metadata.name }),
    );
    await Promise.all([users.take(), groups.take()]);
    const { status } = await carol.patch(child, directClusterEndpointTokens, {
      metadata: { annotations: { [annotations.rotate]: 'now' } },
    });
    expect(status).toBe(200);
    await admin.until(child, 'rotated', (object) => object.status.serial === 2);
    await admin.untilReady(child);
  });

  it('is issued to the user of the key as soon as they may give the group', async () => {
    const { user, holder, key } = await keyWithGroup();
    const child = await holder.create(directClusterEndpointTokens, { accessKey: key.metadata.name });
    await admin.untilRefused(child, reasons.requesterNotPermitted);
    await give(world, user, impersonate('groups', 'ops'));
    await admin.untilReady(child);
  });

  it('is issued to the user of the key who is in the group', async () => {
    const { user, key } = await keyWithGroup();
    const member = await introduce(world, user, ['ops']);
    await admin.untilReady(
      await member.create(directClusterEndpointTokens, { accessKey: key.metadata.name }),
    );
  });

  it('gets the groups that the key gets later when the one who made it may have them', async () => {
    const { user, maker, carol, key } = await keyWithGroup();
    const member = await introduce(world, user, ['ops']);
    await give(world, maker, impersonate('groups', 'admins'));
    const make = async (resource: Resource, above: Stored) =>
      await admin.untilReady(await member.create(resource, { accessKey: above.metadata.name }));
    const child = await make(ownedAccessKeys, key);
    const tokens = [
      await make(directClusterEndpointTokens, key),
      await make(directClusterEndpointTokens, child),
    ];
    const untilGroups = async (serial: number, groups: readonly string[]) => {
      for (const token of tokens) {
        const { status } = await admin.until(token, 'a successor', (found) => found.status.serial === serial);
        expect((await issuer.verify(status.token)).groups).toEqual(groups);
      }
      expect((await admin.untilReady(child)).status.confirmedGroups).toEqual(groups);
    };

    const wider = { spec: { groups: ['ops', 'admins'] } };
    await until(
      'the key is wider',
      async () => (await carol.patch(key, ownedAccessKeys, wider)).status === 200,
    );
    await untilGroups(2, ['ops']);
    await give(world, user, impersonate('groups', 'admins'));
    await untilGroups(3, ['ops', 'admins']);
  });
});
