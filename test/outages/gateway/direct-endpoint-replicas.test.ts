import { afterAll, describe, expect, it } from 'vitest';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { installDirectEndpoint } from '../../../lab/gateway/direct-endpoint.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { accountKubeconfig } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { directWorld } from '../../e2e/gateway/direct-world.ts';
import { liveStream } from '../../e2e/gateway/live-stream.ts';
import { SwitchedAddress } from './switched-address.ts';

const staleAfterMs = 25_000;
const direct = await directWorld();
const { world, inside, cluster, agent } = direct;
const { admin, guard, plane } = world;

/** Between one of the gateways and the API server. */
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());
const authority = createAuthority('two-gateways');
const certificate = { ...createServer(authority, ['localhost']), ca: authority.certificate };
const env = { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8', LATCHKEY_STALE_AFTER: `${staleAfterMs / 1_000}s` };
const start = async (name: string, kubeconfig: string) => {
  const gateway = await RunningGateway.start(plane, guard, { name, env, kubeconfig, certificate });
  afterAll(async () => void (await gateway.end()));
  return gateway;
};
const current = await start('current', await accountKubeconfig(plane, 'latchkey-gateway'));
const lagging = await start('lagging', await accountKubeconfig(gate.access, 'latchkey-gateway'));

/** Of the platform, with two gateways behind it. */
const address = await SwitchedAddress.start(current.port);
afterAll(async () => await address.stop());
const installed = await installDirectEndpoint(inside.plane);
const endpoint = await installed.start(guard, {
  ...{ name: 'endpoint', cluster, key: agent.key },
  platform: { url: address.url, ca: certificate.ca },
});
afterAll(async () => void (await endpoint.end()));

const statusOf = async (token: string): Promise<number> => {
  const { statusCode, body } = await endpoint.send(`/kubernetes/cluster/${cluster}/version`, { key: token });
  await body.dump();
  return statusCode;
};
const outageSeconds = async (): Promise<number> => {
  const answer = await fetch(`http://127.0.0.1:${await endpoint.listeningPort('metrics')}/metrics`);
  const [, value] = /^latchkey_direct_endpoint_outage_seconds\{.*\} (.*)$/m.exec(await answer.text()) ?? [];
  return Number(value);
};
/** Of the stream that a gateway begins now. */
const knownTo = async (gateway: RunningGateway): Promise<readonly string[]> => {
  const stream = await liveStream(gateway, cluster, agent.key);
  await stream.find('SYNCED');
  stream.leave();
  return stream.lines.flatMap(({ type, object }) => (type === 'ADD' ? [object.hash] : []));
};
/** A token that the endpoint accepts and both gateways know. */
const worker = async () => {
  const token = await direct.token(await direct.user());
  await until('the endpoint knows it', async () => (await statusOf(token.token)) === 200);
  await until('the other gateway too', async () => (await knownTo(lagging)).includes(token.hash));
  return token;
};
/** All is well with both gateways, and the endpoint follows the current one. */
const recover = async () => {
  gate.thawWatches();
  address.lead(current.port);
  await until('the gateway is ready', async () => (await lagging.health('/readyz')).status === 200, {
    timeoutMs: 90_000,
  });
  await until('no outage', async () => (await outageSeconds()) === 0, { timeoutMs: 90_000 });
};

describe('a direct endpoint of a platform with two gateways', () => {
  it('neither brings back a token with the gateway that lags, nor drops a good one', async () => {
    const [good, revoked] = [await worker(), await worker()];
    gate.freezeWatches();
    await admin.delete(revoked.object);
    await until('it ends', async () => (await statusOf(revoked.token)) === 401);
    address.lead(lagging.port);
    address.cut();
    const known = await knownTo(lagging);
    expect([known.includes(good.hash), known.includes(revoked.hash)]).toEqual([true, true]);
    const answers = new Set<string>();
    const look = async () => answers.add(`${await statusOf(good.token)} ${await statusOf(revoked.token)}`);
    const goesOn = async (isOver: () => Promise<boolean>) => async () => {
      await look();
      return await isOver();
    };
    // The word of a gateway that lags is no proof, so for the endpoint the platform is away.
    await until('that is an outage', await goesOn(async () => (await outageSeconds()) > 6), {
      timeoutMs: 30_000,
    });
    expect([current, lagging].map(({ port }) => address.connectionsTo(port) > 0)).toEqual([false, true]);
    gate.thawWatches();
    await until('it is over', await goesOn(async () => (await outageSeconds()) === 0), {
      timeoutMs: 90_000,
    });
    await look();
    expect([...answers]).toEqual(['200 401']);
    await recover();
  });

  it('keeps a dead token no longer than the gateway that lags goes on without news', async () => {
    address.lead(lagging.port);
    address.cut();
    // The endpoint can know these from the other gateway alone.
    const [good, revoked] = [await worker(), await worker()];
    expect([current, lagging].map(({ port }) => address.connectionsTo(port) > 0)).toEqual([false, true]);
    const began = performance.now();
    gate.freezeWatches();
    address.lead(current.port);
    await admin.delete(revoked.object);
    const answers = new Set<number>();
    await until(
      'the endpoint refuses the token',
      async () => {
        answers.add(await statusOf(good.token));
        return (await statusOf(revoked.token)) === 401;
      },
      { timeoutMs: 120_000 },
    );
    const took = performance.now() - began;
    console.info(`a token that ended behind a gateway that lags was refused after ${took.toFixed(0)} ms`);
    // The gateway counts from its last news, asks once in a while, and the endpoint then begins another stream.
    expect(took).toBeLessThan(2 * staleAfterMs);
    expect([...answers]).toEqual([200]);
    await recover();
  });
});
