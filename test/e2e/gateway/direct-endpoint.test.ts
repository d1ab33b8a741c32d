import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { bindRole } from '../../../lab/operator/rights.ts';
import { leastMs, until } from '../../../lab/operator/until.ts';
import { apiVersion } from '../../../src/api/names.ts';
import { credentialLocks } from '../../../src/api/resources.ts';
import { tokenIDHash } from '../../../src/credentials/token-id.ts';
import { directWorld } from './direct-world.ts';
import { liveStream, streamPath } from './live-stream.ts';

const direct = await directWorld();
const { world, cluster, agent } = direct;
const { gateway, admin } = world;

const statusOf = async (path: string, key: string): Promise<number> => {
  const { statusCode, body } = await gateway.send(path, { key });
  await body.dump();
  return statusCode;
};
const below = (path: string) => `/kubernetes/management${path}`;
const own = `/apis/${apiVersion}`;

describe('the stream of a cluster', () => {
  it('begins with its name, says what is good and what a space is, then that all was said, and beats', async () => {
    const { object, hash, token } = await direct.token(await direct.user(), {
      scope: { spaces: [{ project: direct.project, space: direct.space }] },
    });
    const elsewhere = await direct.token(await direct.user(), {
      scope: { clusters: [{ cluster: 'other' }] },
    });
    const stranger = await direct.token(world.name('stranger'));
    const stream = await liveStream(gateway, cluster, agent.key);
    await stream.find('SYNCED');
    expect(stream.lines[0]).toEqual({
      ...{ type: 'START', number: 1 },
      object: { cluster, uid: expect.any(String) },
    });
    expect(await stream.find('ADD', (line) => line.hash === hash)).toEqual({
      hash,
      uid: object.metadata.uid,
      name: object.metadata.name,
      user: object.status.subject,
      groups: [],
      scopes: [
        {
          owner: `DirectClusterEndpointToken "${object.metadata.name}"`,
          scope: { spaces: [{ project: direct.project, space: direct.space }] },
        },
      ],
      end: Date.parse(String(object.status.expirationTimestamp)),
      tokenID: tokenIDHash(decodeJwt(token).jti ?? ''),
    });
    expect(await stream.find('SPACE')).toMatchObject({ name: direct.space, namespace: 'default' });
    const added = stream.lines.flatMap((line) => (line.type === 'ADD' ? [line.object.hash] : []));
    expect(added).not.toContain(elsewhere.hash);
    expect(added).not.toContain(stranger.hash);
    const beat = await stream.find('BEAT');
    expect(Math.abs(beat.time - Date.now())).toBeLessThan(60_000);
    expect(stream.lines.map(({ number }) => number)).toEqual(stream.lines.map((_, index) => index + 1));
    stream.leave();
  });

  it('drops a token that is deleted, locked, without its key or without the right to the cluster, and gives it back', async () => {
    const stream = await liveStream(gateway, cluster, agent.key);
    const issue = async () => await direct.token(await direct.user());
    const [deleted, locked, orphan] = await Promise.all([issue(), issue(), issue()]);
    const loser = world.name('loser');
    const right = await bindRole(admin, loser, 'latchkey-use-cluster');
    const lost = await direct.token(loser);
    const isAbout = (hash: string) => (line: { hash: string }) => line.hash === hash;
    for (const { hash } of [deleted, locked, orphan, lost]) await stream.find('ADD', isAbout(hash));
    await admin.delete(deleted.object);
    await stream.find('DROP', isAbout(deleted.hash));
    const lock = await admin.createObject(credentialLocks, {
      ...{ apiVersion, kind: 'CredentialLock', metadata: { name: world.name('lock') } },
      spec: { credentialHash: locked.hash },
    });
    await stream.find('DROP', isAbout(locked.hash));
    const before = stream.lines.length;
    await admin.delete(lock);
    await stream.find('ADD', (line) => line.hash === locked.hash && isAfter(line, before));
    await admin.patch(orphan.parent, { spec: { disabled: true } });
    await stream.find('DROP', isAbout(orphan.hash));
    await admin.delete(right);
    await stream.find('DROP', isAbout(lost.hash));
    stream.leave();

    function isAfter(object: object, index: number): boolean {
      return stream.lines.findIndex((line) => line.object === object) >= index;
    }
  });

  it('says so within 50 ms of the answer to the delete, on a machine that is not busy', async () => {
    const stream = await liveStream(gateway, cluster, agent.key);
    const took = await leastMs(50, async () => {
      const { object, hash } = await direct.token(await direct.user());
      await stream.find('ADD', (line) => line.hash === hash);
      await admin.delete(object);
      const began = performance.now();
      const line = await stream.find('DROP', (dropped) => dropped.hash === hash);
      return stream.timeOf(line) - began;
    });
    expect(took).toBeLessThan(50);
    stream.leave();
  });

  it('ends at once when the key of the agent does', async () => {
    const { object, key } = await world.holder({
      ...{ user: String(agent.object.spec.user) },
      scope: { roles: [{ role: 'agent' }], clusters: [{ cluster }] },
    });
    await until('it is known', async () => (await statusOf(below(own), key)) !== 401);
    const stream = await liveStream(gateway, cluster, key);
    await stream.find('SYNCED');
    await admin.delete(object);
    expect(await stream.ended).toBe('cut');
  });
});

describe('the key of an agent', () => {
  it.each([
    ['its own object', below(`${own}/ownedaccesskeys`)],
    ['who it is', below(`${own}/selves`)],
    ['what there is', below('/api')],
    ['its targets', below(`${own}/spaceinstances`)],
    ['its cluster', `/kubernetes/cluster/${cluster}/api`],
    ['the stream of another cluster', streamPath('other')],
  ])('is refused for %s', async (_, path) => {
    expect(await statusOf(path, agent.key)).toBe(403);
  });

  it('is refused where its user lost the right to follow, and a key of an administrator has none', async () => {
    const scope = { roles: [{ role: 'agent' }], clusters: [{ cluster }] };
    const { key } = await world.holder({ user: world.name('nobody'), scope });
    const { key: wide } = await world.holder({ user: String(agent.object.spec.user) });
    for (const each of [key, wide]) {
      await until('it is known', async () => (await statusOf(streamPath(cluster), each)) !== 401);
      expect(await statusOf(streamPath(cluster), each)).toBe(403);
    }
  });
});
