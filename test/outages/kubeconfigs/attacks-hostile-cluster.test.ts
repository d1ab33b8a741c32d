import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { secondsAfter, secretAt } from '../../../lab/operator/api.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { labels, systemNamespace } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { PlayedCluster } from '../../e2e/kubeconfigs/played-cluster.ts';

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

describe('a virtual cluster whose administrator decides about time', () => {
  it('is not connected while its tokens end in a moment, and is when they last', async () => {
    const brief = await PlayedCluster.start();
    brief.tokenLifeMs = 1_500;
    const { instance } = await brief.project(world, { isReady: false });
    const { status } = await admin.untilRefused(instance, reasons.targetAnswer);
    expect(JSON.stringify(status)).toContain('ends within five minutes');
    brief.tokenLifeMs = 3_600_000;
    await admin.untilReady(instance);
    await admin.delete(instance);
    await admin.untilGone(instance);
    await brief.server.stop();
  });

  it('signs a certificate to the end of time, and it loses its binding all the same', async () => {
    const endless = await PlayedCluster.start();
    endless.certificateEnd = new Date('9999-12-31T23:59:59Z');
    const project = await endless.project(world);
    const object = await project.issued();
    const { items } = await admin.client.list(configMaps, { namespace: systemNamespace });
    const record = items.find(({ metadata }) => metadata.labels?.[labels.ownerUID] === object.metadata.uid);
    expect(record).toMatchObject({ data: { notAfter: '9999-12-31T23:59:59Z' } });
    expect(endless.bindingsOf(object)).toHaveLength(1);
    await admin.delete(object);
    await admin.untilGone(object);
    await until('nothing is bound', async () => endless.bindingsOf(object).length === 0);
    const series = `latchkey_revocations_pending{reason="${reasons.revocationUnreadable}"}`;
    expect(await metricOf(world.operator, series)).toBe(0);
    await endless.server.stop();
  });
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
    expect(await timeUntil('the other certificate is revoked', unbound)).toBeLessThan(10_000);
    const created = Date.now();
    const ready = await admin.untilReady(await other.create({ clientCert: false }));
    expect(secondsAfter(created, ready)).toBeLessThan(10);
  }, 120_000);
});
