import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { decodeJwt } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { leastMs, until } from '../../../lab/operator/until.ts';
import { apiVersion, directEndpoint, group } from '../../../src/api/names.ts';
import { credentialLocks, secrets } from '../../../src/api/resources.ts';
import { tokenIDHash } from '../../../src/credentials/token-id.ts';
import { directWorld } from '../../e2e/gateway/direct-world.ts';
import { liveStream, streamPath } from '../../e2e/gateway/live-stream.ts';
import { servedDirectly } from '../../e2e/gateway/served-directly.ts';
import { sessionRights } from '../../e2e/gateway/session-world.ts';

const direct = await directWorld();
const { world, inside, cluster, project, space, agent } = direct;
const { admin, gateway, guard } = world;
const served = await servedDirectly(direct);
const endpoint = await served.start();
const own = `/kubernetes/cluster/${cluster}`;
const pods = '/api/v1/namespaces/default/pods';
const inSpace = `/kubernetes/project/${project}/space/${space}`;

const answerTo = async (path: string, key: string, at: RunningGateway = endpoint) => {
  const { statusCode: status, body } = await at.send(path, { key });
  return { status, text: await body.text() };
};
const statusOf = async (path: string, key: string, at: RunningGateway = endpoint): Promise<number> =>
  (await answerTo(path, key, at)).status;
const untilStatus = async (status: number, path: string, key: string, at: RunningGateway = endpoint) =>
  await until(`it answers ${status}`, async () => (await statusOf(path, key, at)) === status);

/** A token of a user who may enter the cluster and work with pods in it. */
async function worker(spec: object = {}, at: RunningGateway = endpoint) {
  const user = await direct.user();
  await giveRight(inside.admin, user, sessionRights);
  const token = await direct.token(user, spec);
  await until(
    'the endpoint knows the token',
    async () => (await statusOf(`${own}/version`, token.token, at)) !== 401,
  );
  return { user, ...token };
}
/** For tests that take nothing away from it. */
const common = await worker();

const below = (path: string) => `/kubernetes/management${path}`;
const apiPath = `/apis/${apiVersion}`;

describe('the stream of a cluster', () => {
  it('begins with its name, says what is good and what a space is, then that all was said, and beats', async () => {
    const { object, hash, token } = await direct.token(await direct.user(), {
      scope: { spaces: [{ project, space }] },
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
          scope: { spaces: [{ project, space }] },
        },
      ],
      end: Date.parse(String(object.status.expirationTimestamp)),
      tokenID: tokenIDHash(decodeJwt(token).jti ?? ''),
    });
    expect(await stream.find('SPACE')).toMatchObject({ name: space, namespace: 'default' });
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
    await until('it is known', async () => (await statusOf(below(apiPath), key, gateway)) !== 401);
    const stream = await liveStream(gateway, cluster, key);
    await stream.find('SYNCED');
    await admin.delete(object);
    expect(await stream.ended).toBe('cut');
  });
});

describe('the key of an agent', () => {
  it.each([
    ['its own object', below(`${apiPath}/ownedaccesskeys`)],
    ['who it is', below(`${apiPath}/selves`)],
    ['what there is', below('/api')],
    ['its targets', below(`${apiPath}/spaceinstances`)],
    ['its cluster', `/kubernetes/cluster/${cluster}/api`],
    ['the stream of another cluster', streamPath('other')],
  ])('is refused for %s', async (_, path) => {
    expect(await statusOf(path, agent.key, gateway)).toBe(403);
  });

  it('is refused where its user lost the right to follow, and a key of an administrator has none', async () => {
    const scope = { roles: [{ role: 'agent' }], clusters: [{ cluster }] };
    const { key } = await world.holder({ user: world.name('nobody'), scope });
    const { key: wide } = await world.holder({ user: String(agent.object.spec.user) });
    for (const each of [key, wide]) {
      await until('it is known', async () => (await statusOf(streamPath(cluster), each, gateway)) !== 401);
      expect(await statusOf(streamPath(cluster), each, gateway)).toBe(403);
    }
  });
});

describe('a direct endpoint', () => {
  it('carries requests out as the user of a token, whose rights in the cluster count', async () => {
    const { token } = common;
    expect(await statusOf(own + pods, token)).toBe(200);
    expect((await answerTo(`${own}/api/v1/secrets`, token)).text).toMatch(/cannot list resource .*secrets/);
  });

  it('knows its cluster without the name as well', async () => {
    const { token } = common;
    expect(await statusOf(`/kubernetes/cluster${pods}`, token)).toBe(200);
    expect(await statusOf('/kubernetes/cluster/version', token)).toBe(200);
  });

  it('judges the scope of the token and of the keys above it', async () => {
    const rules = [{ verbs: ['get'], resources: [{ apiGroup: '', resources: ['pods'] }], cluster }];
    const { token } = await worker({ scope: { rules } });
    expect(await answerTo(own + pods, token)).toMatchObject({
      status: 403,
      text: expect.stringContaining('scope'),
    });
    expect(await statusOf(`${own}${pods}/none`, token)).toBe(404);
  });

  it.each([
    ['the platform', '/kubernetes/management/version'],
    ['another cluster', '/kubernetes/cluster/other/version'],
    ['a virtual cluster', '/kubernetes/project/red/virtualcluster/a/version'],
  ])('serves nothing of %s', async (_, path) => {
    expect(await answerTo(path, common.token)).toMatchObject({
      status: 404,
      text: expect.stringContaining(`this direct endpoint serves the cluster ${cluster}`),
    });
  });

  it('accepts no key, neither that of its agent nor one above a token', async () => {
    for (const key of [agent.key, (await world.holder({ user: await direct.user() })).key])
      expect(await answerTo(`${own}/version`, key)).toMatchObject({
        status: 401,
        text: expect.stringContaining('does not accept the credential'),
      });
  });

  it('takes no token of a user who may not use the cluster', async () => {
    const { token } = await direct.token(world.name('stranger'));
    const { token: later } = await worker();
    expect(await statusOf(`${own}/version`, later)).toBe(200);
    expect(await statusOf(`${own}/version`, token)).toBe(401);
  });

  it('lets users into a space who may use that space too, and into its namespace alone', async () => {
    const { token, user } = await worker();
    expect(await answerTo(inSpace + pods, token)).toMatchObject({
      status: 403,
      text: expect.stringContaining(`needs the verb`),
    });
    await giveRight(admin, user, {
      ...{ apiGroups: [group], resources: ['spaceinstances'], verbs: ['use'], resourceNames: [space] },
    });
    await untilStatus(200, inSpace + pods, token);
    expect(await statusOf(`${inSpace}/api/v1/namespaces/kube-system/pods`, token)).toBe(403);
    expect(await statusOf(`/kubernetes/project/${project}/space/other${pods}`, token)).toBe(403);
  });

  it('asks as its agent, who learns of no other token and no other space', async () => {
    const { user, hash } = await worker();
    const stranger = await direct.token(world.name('stranger'));
    const namespace = `p-${project}`;
    const ask = async (query: Record<string, string>) => {
      const search = new URLSearchParams({ hash, namespace, space, ...query });
      const path = `/kubernetes/management/apis/${apiVersion}/clusters/${cluster}/livecredentials?${search}`;
      return (await answerTo(path, agent.key, gateway)).text;
    };
    expect(await ask({})).toBe('{"allowed":false}');
    for (const name of [user, String(stranger.object.status.subject)])
      await giveRight(admin, name, {
        ...{ apiGroups: [group], resources: ['spaceinstances'], verbs: ['use'] },
      });
    await until('the right counts', async () => (await ask({})) === '{"allowed":true}');
    for (const query of [{ hash: stranger.hash }, { space: 'other' }, { namespace: 'default' }])
      expect(await ask(query)).toBe('{"allowed":false}');
    // A no would count for the other tokens of the same user.
    for (const hash of ['', '0'.repeat(64)])
      expect(await ask({ hash })).toContain('hash is of no token that is good in this cluster now');
  });

  it('follows the stream with the key that the steps of its page make', async () => {
    const page = readFileSync('docs/reference/direct-endpoint.md', 'utf8');
    const [, block = ''] = /^ *```console\n(.*?)^ *```/ms.exec(page) ?? [];
    // Without the indentation of the list and the prompt.
    const script = block.replaceAll(/^ {3}(?:\$ )?/gm, '').replaceAll('edge', cluster);
    const { plane } = world;
    const { stdout } = await promisify(execFile)('sh', ['-ec', `${script}\ncat key`], {
      cwd: guard.folder,
      env: {
        KUBECONFIG: plane.adminKubeconfig,
        PATH: `${path.dirname(plane.binaries.kubectl)}:/usr/bin:/bin`,
      },
      timeout: 60_000,
    });
    const key = stdout.trim().split('\n').at(-1) ?? '';
    const followed = await served.start({ key });
    expect(await statusOf(own + pods, common.token, followed)).toBe(200);
    expect(await statusOf('/kubernetes/management/version', key, gateway)).toBe(403);
  });

  it('ends a token within a second of its deletion, and cuts the watch that is open with it', async () => {
    const took = await leastMs(1_000, async () => {
      const { object, token } = await worker();
      const { body } = await endpoint.send(`${own}${pods}?watch=true`, { key: token });
      const cut = body.text().catch(() => 'cut');
      await admin.delete(object);
      const began = performance.now();
      expect(await cut).toBe('cut');
      const ms = performance.now() - began;
      expect(await statusOf(`${own}/version`, token)).toBe(401);
      return ms;
    });
    expect(took).toBeLessThan(1_000);
  });

  it('opens a shell, and ends it with the token', async () => {
    const kubelet = await startKubelet(guard, inside.plane);
    const pod = await makePod(inside.admin, kubelet);
    const { object, token } = await worker();
    const kubectl = new Kubectl(world, await endpoint.kubeconfig(token, `cluster/${cluster}`));
    const command = ['sh', '-c', 'while echo running; do sleep 0.05; done'];
    const shell = await kubectl.begin(['exec', pod, '--', ...command]);
    await shell.until('output', (lines) => lines.includes('running'));
    await admin.delete(object);
    await until('the end of the command', async () => (await kubelet.ended()).length > 0);
  });
});

describe('while the platform is away', () => {
  /** The platform answers nothing at all, as behind a network that lost it. */
  const stop = () => process.kill(gateway.process.pid, 'SIGSTOP');
  const resume = () => process.kill(gateway.process.pid, 'SIGCONT');
  afterEach(resume);

  it('goes on, also after a restart, until its limit; no revocation reaches it before the platform answers again', async () => {
    const { object, token, user } = await worker();
    await giveRight(admin, user, {
      ...{ apiGroups: [group], resources: ['spaceinstances'], verbs: ['use'], resourceNames: [space] },
    });
    await untilStatus(200, inSpace + pods, token);
    const allowed = performance.now();
    const limited = await served.start({ env: { LATCHKEY_ENDPOINT_OUTAGE: '10s' } });
    await untilStatus(200, `${own}/version`, token, limited);
    const keptBefore = await kept();
    // A process writes once it has all, and then not before a minute is over.
    const writer = await served.start();
    await until('the set is kept', async () => (await kept()) !== keptBefore);
    await writer.end();
    await until('the yes has to be asked for again', async () => performance.now() - allowed > 5_000);
    stop();
    // No one has noticed the outage yet.
    expect(await statusOf(inSpace + pods, token)).toBe(200);
    await admin.delete(object);
    const restarted = await served.start();
    for (const at of [endpoint, restarted]) {
      expect(await statusOf(own + pods, token, at)).toBe(200);
      expect((await at.health('/readyz')).status).toBe(200);
    }
    expect(await statusOf(inSpace + pods, token)).toBe(200);
    await until('the limit is over', async () => (await statusOf(`${own}/version`, token, limited)) === 503);
    expect((await limited.health('/readyz')).status).not.toBe(200);
    expect(await restarted.log()).toContain('the set of an earlier process counts');
    resume();
    for (const at of [endpoint, restarted, limited]) await untilStatus(401, `${own}/version`, token, at);
  });

  it('the end of its agent is such an outage for an endpoint', async () => {
    const { object, key } = await world.holder({
      ...{ user: String(agent.object.spec.user) },
      scope: { roles: [{ role: 'agent' }], clusters: [{ cluster }] },
    });
    const { token } = common;
    const limited = await served.start({ key, env: { LATCHKEY_ENDPOINT_OUTAGE: '8s' } });
    await untilStatus(200, `${own}/version`, token, limited);
    await admin.delete(object);
    expect(await statusOf(`${own}/version`, token, limited)).toBe(200);
    await until('the limit is over', async () => (await statusOf(`${own}/version`, token, limited)) === 503);
    expect(await limited.log()).toContain('the platform refuses the agent');
    expect(await statusOf(`${own}/version`, token)).toBe(200);
  });

  async function kept(): Promise<string> {
    const { namespace, keptSet: name } = directEndpoint;
    const secret = await inside.admin.client.get(secrets, { namespace, name });
    return secret.metadata.resourceVersion;
  }
});
