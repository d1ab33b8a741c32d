import { Agent, type buildConnector, type Dispatcher, request } from 'undici';
import { afterAll, describe, expect, it } from 'vitest';
import { giveRight } from '../../../lab/operator/rights.ts';
import { accountKubeconfig } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { UnauthorizedAnswer } from '../../../src/gateway/proxy/unauthorized-answer.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { gatewayWorld } from './gateway-world.ts';

const world = await gatewayWorld();
const { gateway, admin } = world;
const alice = world.name('alice');
const team = world.name('team');
const version = '/kubernetes/management/version';
const configMaps = '/kubernetes/management/api/v1/namespaces/default/configmaps';

await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });

/** Waits until the gateway has seen the key, and gives its answer to a request. */
async function get(path: string, key: string) {
  return await until('the gateway knows the key', async () => {
    const { statusCode, headers, body } = await gateway.send(path, { key });
    const text = await body.text();
    return statusCode === 401 ? undefined : { status: statusCode, headers, body: JSON.parse(text) };
  });
}

describe('a request with a key', () => {
  it('goes through as the user of the key', async () => {
    const { key, object } = await world.holder({ team, scope: { rules: [{ verbs: ['get'] }] } });
    expect(await get(version, key)).toMatchObject({ status: 200, body: { major: '1' } });
    const review = await gateway.send(
      '/kubernetes/management/apis/authentication.k8s.io/v1/selfsubjectreviews',
      {
        method: 'POST',
        key,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
      },
    );
    expect(review.statusCode).toBe(201);
    expect(await review.body.json()).toMatchObject({
      status: {
        userInfo: {
          username: `team:${team}`,
          groups: [`team:${team}`, 'system:authenticated'],
          extra: {
            'management.platform.sh/access-key': [`${object.metadata.name}/${object.metadata.uid}`],
            'management.platform.sh/access-key-limited': ['true'],
          },
        },
      },
    });
  });

  it('is stopped by the rights of the user, with the answer of the API server', async () => {
    const { key } = await world.holder({ user: alice });
    const answer = await get('/kubernetes/management/api/v1/namespaces/default/secrets', key);
    expect(answer).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(answer.body.message).toContain(`User "${alice}" cannot list resource "secrets"`);
  });

  it('is stopped by the scope of the key before the API server sees it', async () => {
    const scope = { rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['configmaps'] }] }] };
    const { key, object } = await world.holder({ user: alice, scope });
    expect(await get(`${configMaps}/kube-root-ca.crt`, key)).toMatchObject({ status: 200 });
    const denied = await get(configMaps, key);
    expect(denied).toMatchObject({ status: 403, body: { kind: 'Status', reason: 'Forbidden' } });
    expect(denied.body.message).toContain(`cannot list "configmaps" in the namespace "default"`);
    expect(denied.body.message).toContain(`OwnedAccessKey "${object.metadata.name}"`);
  });

  it('is refused when the key is not known and without one, and finds no status of somebody else’s key', async () => {
    const { key } = await world.holder({ user: alice });
    await get(configMaps, key);
    const answers = [
      await gateway.send(configMaps),
      await gateway.send(configMaps, { key: `${key.slice(0, -1)}_` }),
      await gateway.send(configMaps, { key: 'a'.repeat(40) }),
    ];
    for (const { statusCode, headers, body } of answers) {
      expect([statusCode, headers['www-authenticate']]).toEqual([401, 'Bearer']);
      expect(await body.json()).toMatchObject({ kind: 'Status', code: 401, reason: 'Unauthorized' });
    }
    const keys = '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys/a/status';
    expect(await get(keys, key)).toMatchObject({ status: 404, body: { code: 404 } });
  });
});

describe('the 401 of the API server itself', async () => {
  const { server, tls } = await kubeConfigSource({
    file: await accountKubeconfig(world.plane, 'latchkey-gateway'),
  }).load();
  const dispatcher = new Agent({ connect: { ca: tls.ca } as buildConnector.BuildOptions });
  afterAll(async () => await dispatcher.close());

  it.each<[Dispatcher.HttpMethod, string]>([
    ['GET', 'application/json'],
    ['GET', 'application/yaml'],
    ['GET', 'application/vnd.kubernetes.protobuf'],
    ['GET', 'application/cbor'],
    ['GET', 'text/html'],
    ['GET', '*/*'],
    ['POST', '*/*'],
    ['HEAD', '*/*'],
  ])('is told from one of a workload behind it: %s, asked for %s', async (method, accept) => {
    const answer = await request(`${server.origin}/api/v1/namespaces/default/services/shop/proxy/`, {
      ...{ method, dispatcher },
      headers: { accept, authorization: 'Bearer ended' },
    });
    expect(answer.statusCode).toBe(401);
    const rawHeaders = ['Content-Type', String(answer.headers['content-type'])];
    const unauthorized = new UnauthorizedAnswer({ method, rawHeaders });
    unauthorized.add(Buffer.from(await answer.body.arrayBuffer()));
    expect([rawHeaders, unauthorized.isOfAPIServer]).toEqual([rawHeaders, true]);
  });
});

describe('the last use of a key', () => {
  it('is recorded in its status soon after, and not for a request that the scope refused', async () => {
    const used = await world.holder({ user: alice });
    const denied = await world.holder({ user: alice, scope: {} });
    const before = Math.floor(Date.now() / 1_000) * 1_000;
    expect(await get(configMaps, denied.key)).toMatchObject({ status: 403 });
    expect(await get(configMaps, used.key)).toMatchObject({ status: 200 });
    const { status } = await admin.until(used.object, 'used', (object) => 'lastActivity' in object.status);
    expect(Date.parse(status.lastActivity)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(status.lastActivity)).toBeLessThanOrEqual(Date.now());
    expect((await admin.get(denied.object)).status).not.toHaveProperty('lastActivity');
  });
});
