import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { secondsAfter } from '../../../lab/operator/api.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { targetSettings } from '../targets/target-world.ts';
import { PlayedCluster } from './played-cluster.ts';

const canary = 'CANARY7f3a';
const world = await operatorWorld({ env: { ...targetSettings, LATCHKEY_FINALIZER_LIMIT: '15s' } });
const { admin } = world;
let hostile: PlayedCluster;
let honest: PlayedCluster;

beforeAll(async () => {
  hostile = await PlayedCluster.start();
  honest = await PlayedCluster.start();
});

afterAll(async () => {
  await hostile.server.stop();
  await honest.server.stop();
});

describe('the administrator of a virtual cluster', () => {
  it('cannot keep a deleted kubeconfig, and gets no text of its own into our log', async () => {
    const object = await (await hostile.project(world)).issued();
    const subjects = [{ kind: 'User', name: `management.platform.sh:kubeconfig:${object.metadata.uid}:1` }];
    const items = [{ metadata: { name: `a/${canary} call this number` }, subjects }];
    hostile.interfere = (exchange) => {
      if (exchange.method !== 'GET' || !exchange.path.endsWith('/clusterrolebindings')) return false;
      exchange.answer(200, { kind: 'List', metadata: {}, items });
      return true;
    };
    await admin.delete(object);
    await admin.untilGone(object, { timeoutMs: 75_000 });
    expect(await world.operator.log()).not.toContain(canary);
  }, 120_000);

  it('cannot hold up the kubeconfigs of others', async () => {
    hostile.interfere = () => false;
    const other = await honest.project(world);
    const mine = await other.issued();
    const project = await hostile.project(world);
    // It takes requests and approvals, signs nothing, and leaves every question about it unanswered.
    hostile.interfere = ({ method, path }) =>
      method === 'GET' && /(certificatesigningrequests|bindings)(\/latchkey-[^/]*-\d+)?$/.test(path);
    const asked = hostile.server.exchanges.length;
    for (let count = 0; count < 60; count++) await project.create();
    await until('it keeps us waiting', async () => hostile.server.exchanges.length > asked + 20);
    await admin.delete(mine);
    const unbound = async () => honest.bindingsOf(mine).length === 0;
    expect(await timeUntil('the other certificate is revoked', unbound)).toBeLessThan(4_000);
    const created = Date.now();
    const ready = await admin.untilReady(await other.create({ clientCert: false }));
    expect(secondsAfter(created, ready)).toBeLessThan(4);
  }, 120_000);
});
