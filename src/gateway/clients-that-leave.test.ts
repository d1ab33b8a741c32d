import { connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type GatewayStage, gatewayStage, verdictFor } from '../../test/builders/gateway-stage.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { silentLogger } from '../logger.ts';
import { Quota } from './endpoints/shared/quota.ts';
import { type MadeObject, Removals } from './endpoints/shared/removals.ts';
import { CredentialRecords } from './index/credential-records.ts';

const kind = 'VirtualClusterInstanceKubeConfig';
const path =
  '/kubernetes/management/apis/management.platform.sh/v1/namespaces/p-red/virtualclusterinstances/shop/kubeconfig';
const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key-of-alice\r\n`;
const post = `${head}Connection: close\r\nContent-Length: 0\r\n\r\n`;

let stage: GatewayStage;
afterEach(async () => await stage.close());

class CountedRemovals extends Removals {
  left = 0;

  override removeWhenItComes(made: MadeObject): Promise<void> {
    this.left += 1;
    return super.removeWhenItComes(made);
  }
}

/** An API server that never answers, and users who may have two kubeconfigs. */
async function start() {
  const records = new CredentialRecords();
  const clock = new FakeClock();
  const deleted: string[] = [];
  const api = { delete: async (_: unknown, { name }: { name: string }) => void deleted.push(name) };
  const removals = new CountedRemovals({
    resource: { group: '', version: 'v1', plural: '', kind, namespaced: true },
    client: { as: () => api as unknown as KubeClient },
    arrivals: records.arrivals[kind],
    ...{ clock, random: () => 0.5, log: silentLogger },
  });
  const quota = new Quota({ records, now: () => clock.now(), limits: { [kind]: 2 } });
  const instances = { get: () => ({ uid: 'of-shop', deleted: undefined, conditions: [] }) };
  const targetRecords = { instances } as never;
  stage = await gatewayStage(() => undefined, { services: { removals, quota, targetRecords } });
  stage.know('key-of-alice', verdictFor());
  /** Leaves when the request is on its way to the API server, and waits until the gateway has seen that. */
  const postAndLeave = async (): Promise<void> => {
    const [sent, left] = [stage.seen.length, removals.left];
    const socket = connect(stage.port, '127.0.0.1', () => void socket.write(post));
    await waitFor('the request', () => stage.seen.length > sent);
    socket.destroy();
    await waitFor('the client has left', () => removals.left > left);
  };
  return { clock, deleted, postAndLeave };
}

it('clients that leave at once make no more kubeconfigs than those that stay, until theirs are removed', async () => {
  const { clock, deleted, postAndLeave } = await start();
  await postAndLeave();
  await postAndLeave();
  expect(await stage.send(post)).toMatch(/^HTTP\/1\.1 429 [\s\S]*"reason":"TooManyRequests"/);
  await clock.advanceAsync(60_000, 1_000);
  expect(deleted).toHaveLength(2);
  await postAndLeave();
});
