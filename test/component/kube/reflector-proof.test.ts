import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReflectorOptions } from '../../../src/kube/cache/reflector-options.ts';
import type { StoredRecord } from '../../../src/kube/cache/store.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { backOffMs, isResumed, ReflectorStage } from './reflector-stage.ts';

let stage: ReflectorStage;
beforeEach(async () => {
  stage = await ReflectorStage.open({
    ...{ watchSeconds: [10, 20], proofTimeoutMs: 3_000, random: () => 0.5 },
  });
});
afterEach(async () => await stage.close());

const isAnyWatch = ({ isWatch }: Exchange) => isWatch;
const isProof = ({ isWatch, query }: Exchange) => !isWatch && !query.has('resourceVersion');
const proofs = () => stage.requests(isProof);
const lists = () => stage.server.watches.filter(({ query }) => query.has('sendInitialEvents'));
/** The next one, which the server leaves without an answer. */
const next = async (matches: (exchange: Exchange) => boolean): Promise<Exchange> =>
  await new Promise((resolve) => stage.server.once(matches, resolve));
const untilProved = (count: number) => waitFor(`proof ${count}`, () => proofs().length === count);
const untilFresh = () => waitFor('the watch is open', () => stage.reflector.freshness() === 0);
const startSynced = async (options: Partial<ReflectorOptions<StoredRecord>> = {}) => {
  stage.start(options);
  await stage.untilResumed(1);
  await untilFresh();
};
/** Other kinds are written, too: what the server says before each watch is further than any object of this kind. */
const beAt = (version: string) => {
  stage.server.script((exchange) => {
    if (exchange.query.get('limit') !== '1') return false;
    exchange.answer(200, { kind: 'List', metadata: { resourceVersion: version }, items: [] });
    return true;
  });
};
/** From now on the server opens each watch and never sends anything. */
const holdWatches = () => {
  stage.server.script((exchange) => {
    if (!exchange.isWatch) return false;
    exchange.open();
    return true;
  });
};
/** The server ends the present watch, not so soon that it counts as a failure. */
const endWatch = () => {
  stage.clock.advance(1_000);
  stage.present.response.end();
};
/** The first object of a list has come. */
const beginList = async (list: Exchange) => {
  list.open();
  list.event('ADDED', { metadata: { name: 'a', uid: '1', resourceVersion: '1' } });
  await waitFor('the first object', () => stage.store.size === 1);
};
/** The first list is open for longer than any watch, and not complete. */
const startLate = async (): Promise<Exchange> => {
  const list = next(isAnyWatch);
  stage.start();
  await beginList(await list);
  stage.clock.advance(50_000);
  return await list;
};
const complete = (list: Exchange, version = String(stage.objects.revision)) =>
  list.bookmark(version, { 'k8s.io/initial-events-end': 'true' });

describe('a reflector that asks for proof', () => {
  it('asks how far things are before each watch, over the same connection', async () => {
    stage.put('a');
    await startSynced({ namespace: 'ns', labelSelector: 'a=b', fieldSelector: 'c=d' });
    endWatch();
    await stage.untilResumed(2);
    expect(proofs().map(({ path, query }) => [path, Object.fromEntries(query)])).toEqual(
      Array(2).fill([
        '/api/v1/namespaces/ns/configmaps',
        { labelSelector: 'a=b', fieldSelector: 'c=d', limit: '1' },
      ]),
    );
    expect(proofs().map(({ socket }) => socket)).toEqual(stage.resumed().map(({ socket }) => socket));
    expect(new Set(stage.resumed().map(({ socket }) => socket)).size).toBe(2);
    expect(stage.logged).toEqual([]);
  });

  it('sends both for the user that its client speaks for', async () => {
    await startSynced({ client: stage.client.as({ user: 'alice', groups: [] }) });
    const users = [proofs(), stage.resumed()].flat().map(({ headers }) => headers['impersonate-user']);
    expect(users).toEqual(['alice', 'alice']);
  });

  it('is as old as the beginning of the list, and no watch that brings less makes it younger', async () => {
    await startSynced();
    stage.clock.advance(4_000);
    const [coming, watch] = [next(isProof), next(isResumed)];
    endWatch();
    const list = await coming;
    stage.clock.advance(2_000);
    list.answer(200, { kind: 'List', metadata: { resourceVersion: '150' }, items: [] });
    (await watch).open();
    (await watch).bookmark('149');
    await waitFor('the bookmark', () => stage.reflector.position() === '149');
    stage.clock.advance(1_000);
    expect(stage.reflector.freshness()).toBe(8_000);
    (await watch).event('ADDED', { metadata: { name: 'a', uid: '1', resourceVersion: '150' } });
    await waitFor('the watch has brought all', () => stage.reflector.freshness() === 3_000);
    stage.clock.advance(1_000);
    (await watch).event('MODIFIED', { metadata: { name: 'a', uid: '1', resourceVersion: '151' } });
    await waitFor('the next event', () => stage.reflector.position() === '151');
    expect(stage.reflector.freshness()).toBe(4_000);
  });

  it('takes a bookmark that is as new as the list for a proof', async () => {
    await startSynced();
    beAt('150');
    endWatch();
    await stage.untilResumed(2);
    stage.clock.advance(4_000);
    expect(stage.reflector.freshness()).toBe(5_000);
    stage.present.bookmark('150');
    await waitFor('the watch has brought all', () => stage.reflector.freshness() === 4_000);
    expect(stage.logged).toEqual([]);
  });

  it('is as old as the beginning of its first list', async () => {
    const [coming, proof] = [next(isAnyWatch), next(isProof)];
    stage.start();
    const list = await coming;
    stage.clock.advance(4_000);
    expect(stage.reflector.freshness()).toBe(Number.POSITIVE_INFINITY);
    list.open();
    complete(list, '200');
    await proof;
    expect(stage.reflector.freshness()).toBe(4_000);
  });

  it('watches after a list that took longer than any watch, and does not list again', async () => {
    complete(await startLate());
    await stage.untilResumed(1);
    await untilFresh();
    expect(lists().length).toBe(1);
  });

  it('gets older while its server opens watches and answers no list', async () => {
    await startSynced();
    stage.server.script(isProof);
    endWatch();
    for (let failures = 1; failures <= 5; failures++) {
      await untilProved(failures + 1);
      stage.clock.advance(3_000);
      await stage.untilFailed(failures);
    }
    expect(stage.logged[0]).toContain('no answer to GET /api/v1/configmaps within 3000 ms');
    expect([stage.resumed().length, stage.reflector.freshness()]).toEqual([1, 16_250]);
  });

  it('gets older while its lists pass and its watches bring nothing, lists nothing again, and comes back by itself', async () => {
    await startSynced();
    beAt('150');
    holdWatches();
    endWatch();
    for (let failures = 1; failures <= 5; failures++) {
      await stage.untilResumed(failures + 1);
      await stage.untilOpen();
      stage.clock.advance(4_000);
      stage.present.response.end();
      await stage.untilFailed(failures);
    }
    expect(stage.logged[0]).toContain('it ended and brought nothing of what there was');
    expect([stage.reflector.freshness(), lists().length]).toEqual([21_250, 1]);
    await stage.untilResumed(7);
    await stage.untilOpen();
    stage.present.bookmark('150');
    await waitFor('the watch has brought all', () => stage.reflector.freshness() === 0);
  });

  it('gets older while its server lists from etcd and watches from a cache that is behind', async () => {
    await startSynced();
    beAt('150');
    endWatch();
    await stage.untilResumed(2);
    stage.present.bookmark('120');
    await waitFor('the bookmark', () => stage.reflector.position() === '120');
    endWatch();
    await stage.untilResumed(3);
    stage.present.bookmark('120');
    endWatch();
    await stage.untilFailed(1);
    expect(stage.logged[0]).toContain('it ended and brought nothing of what there was');
    expect([stage.reflector.freshness(), lists().length]).toEqual([3_050, 1]);
  });

  it('takes a list of pages for a proof only once a watch has brought as much', async () => {
    stage.server.streamingLists = 'refused';
    beAt('150');
    stage.start();
    await stage.untilFailed(1);
    await stage.untilResumed(1);
    expect([stage.reflector.hasSynced(), stage.reflector.freshness()]).toEqual([
      true,
      Number.POSITIVE_INFINITY,
    ]);
    // Soon, for nothing is believed before.
    expect(stage.present.query.get('timeoutSeconds')).toBe('4');
    stage.present.bookmark('150');
    await untilFresh();
  });

  it('goes on from the same place once its server answers again, and misses nothing', async () => {
    await startSynced();
    stage.server.once(isProof, () => undefined);
    endWatch();
    await untilProved(2);
    stage.put('b');
    stage.clock.advance(3_000);
    await stage.untilFailed(1);
    await waitFor('the object', () => stage.store.size === 1);
    expect(stage.resumed()[1]?.query.get('resourceVersion')).toBe('100');
    expect(lists().length).toBe(1);
  });

  it('goes on from the same place after a long outage too, and is not fresh before all of it has come', async () => {
    stage.put('a');
    await startSynced();
    const outages = 9;
    for (let failures = 1; failures <= outages; failures++) stage.server.once(isProof, () => undefined);
    endWatch();
    for (let failures = 1; failures <= outages; failures++) {
      await untilProved(failures + 1);
      stage.clock.advance(3_000);
      await stage.untilLogged(failures);
      if (failures < outages) stage.clock.advance(backOffMs);
    }
    const uid = stage.objects.get('a')?.metadata.uid;
    stage.objects.remove('a');
    const coming = next(isResumed);
    stage.clock.advance(backOffMs);
    const late = await coming;
    expect([late.query.get('resourceVersion'), late.query.get('timeoutSeconds')]).toEqual(['101', '4']);
    late.open();
    await stage.untilOpen();
    expect([stage.store.size, stage.reflector.freshness()]).toEqual([1, 28_450]);
    late.event('DELETED', { metadata: { name: 'a', uid, resourceVersion: '102' } });
    await untilFresh();
    expect([stage.store.size, lists().length]).toEqual([0, 1]);
  });

  it('tries the watch behind a late list again, before it lists again', async () => {
    const list = await startLate();
    stage.server.once(isProof, (exchange) => exchange.refuse(503, 'Unavailable'));
    complete(list);
    await stage.untilFailed(1);
    await untilFresh();
    expect(lists().length).toBe(1);
  });

  it('begins again with a list when the connection ends between list and watch', async () => {
    await startSynced();
    stage.server.once(isProof, (exchange) => {
      const metadata = { resourceVersion: String(stage.objects.revision) };
      exchange.answer(200, { kind: 'List', metadata, items: [] }, { connection: 'close' });
    });
    stage.clock.advance(4_000);
    endWatch();
    await stage.untilLogged(1);
    expect(stage.logged[0]).toContain('the connection ended between requests that belong together');
    expect([stage.resumed().length, stage.reflector.freshness()]).toEqual([1, 5_000]);
    stage.clock.advance(backOffMs);
    await stage.untilResumed(2);
    expect(proofs().length).toBe(3);
    expect(proofs()[2]?.socket).toBe(stage.resumed()[1]?.socket);
  });

  it.each([401, 403, 429, 500, 503])('tries again after %i, from the same place', async (status) => {
    await startSynced();
    stage.server.once(isProof, (exchange) => exchange.refuse(status, 'Refused'));
    endWatch();
    await stage.untilFailed(1);
    await stage.untilResumed(2);
    expect(stage.resumed()[1]?.query.get('resourceVersion')).toBe('100');
  });

  it('lists everything again from a server that is behind, as after a restore of its etcd', async () => {
    stage.put('a');
    await startSynced();
    stage.server.once(isProof, (exchange) =>
      exchange.answer(200, { kind: 'List', metadata: { resourceVersion: '7' }, items: [] }),
    );
    endWatch();
    await stage.untilLogged(1);
    expect(stage.logged[0]).toContain('the resourceVersion went back');
    stage.clock.advance(backOffMs);
    await stage.untilResumed(2);
    expect(lists().length).toBe(2);
  });

  it('gives a watch up that its server was to end long ago', async () => {
    await startSynced();
    stage.clock.advance(19_999);
    expect(stage.logged).toEqual([]);
    stage.clock.advance(1);
    await stage.untilLogged(1);
    expect(stage.logged[0]).toContain('no answer to WATCH /api/v1/configmaps within 20000 ms');
  });

  it('leaves no connection behind, however a watch ends', async () => {
    await startSynced();
    for (let watches = 2; watches <= 5; watches++) {
      endWatch();
      await stage.untilResumed(watches);
    }
    await waitFor('one watch, one former list', () => stage.server.openSockets <= 2);
    await stage.end();
    await waitFor('no watch', () => stage.server.openSockets <= 1);
  });

  it('ends when its client closes', async () => {
    await startSynced();
    await stage.client.close();
    await waitFor('the failure', () => stage.logged.length >= 1);
    await waitFor('no socket', () => stage.server.openSockets === 0);
  });
});
