import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { secondsAfter, secretAt } from '../../../lab/operator/api.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { PlayedCluster } from '../../e2e/kubeconfigs/played-cluster.ts';
import { targetSettings } from '../../e2e/targets/target-world.ts';

const canary = 'CANARY7f3a';
// A certificate loses its binding in a fraction of it, unless the cluster prevents that.
const world = await operatorWorld({ env: { ...targetSettings, LATCHKEY_FINALIZER_LIMIT: '10s' } });
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

/** They wait side by side, for the namespace controller and for the limit of the finalizer. */
describe.concurrent('the administrator of a virtual cluster', () => {
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
});

async function issued() {
  const project = await honest.project(world);
  const object = await project.issued();
  expect(honest.bindingsOf(object)).toHaveLength(1);
  const secret = secretAt(project.namespace, `vc-${project.instance.metadata.name}`);
  return { project, object, secret };
}

describe.concurrent('a certificate loses its binding inside', () => {
  it('although somebody deleted the Secret before its object', async () => {
    const { object, secret } = await issued();
    await admin.delete(secret);
    await admin.delete(object);
    await admin.untilGone(object);
    expect(honest.bindingsOf(object)).toEqual([]);
  });

  it('although Secret and instance went before its object', async () => {
    const { project, object, secret } = await issued();
    await admin.delete(secret);
    await admin.delete(project.instance);
    await admin.untilGone(project.instance);
    await admin.delete(object);
    await admin.untilGone(object);
    expect(honest.bindingsOf(object)).toEqual([]);
  });

  it('although its namespace was deleted with everything in it', async () => {
    const { project, object } = await issued();
    await world.plane.kubectl(['delete', 'namespace', project.namespace, '--wait=true']);
    await admin.untilGone(object);
    expect(honest.bindingsOf(object)).toEqual([]);
  }, 60_000);

  it('although somebody wrote another cluster, or nonsense, into the Secret', async () => {
    const decoy = await PlayedCluster.start();
    for (const text of [decoy.kubeConfig, 'nonsense']) {
      const { object, secret } = await issued();
      await admin.patch(secret, { data: { config: Buffer.from(text).toString('base64') } });
      await admin.delete(object);
      await admin.untilGone(object);
      await until('nothing is bound', async () => honest.bindingsOf(object).length === 0);
    }
    await decoy.server.stop();
  }, 60_000);
});

describe('the administrator of a virtual cluster that answers no more', () => {
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
