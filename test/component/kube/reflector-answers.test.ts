import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../../src/api/resources.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import type { ReflectorOptions } from '../../../src/kube/cache/reflector-options.ts';
import { Store, type StoredRecord } from '../../../src/kube/cache/store.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { type Clock, systemClock } from '../../../src/kube/clock.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import type { Logger } from '../../../src/logger.ts';
import { statusOf } from '../../fakes/exchange.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import type { ObjectStorage } from '../../fakes/object-storage.ts';
import { waitFor } from '../../fakes/wait-for.ts';

let server: FakeApiServer;
let objects: ObjectStorage;
let client: KubeClient;
let store: Store<StoredRecord>;
let logged: string[];
let abort: AbortController;
let reflector: Reflector<StoredRecord>;
let running: Promise<void>;

beforeEach(async () => {
  server = await FakeApiServer.start();
  objects = server.storage('configmaps');
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester' });
  store = new Store<StoredRecord>();
  logged = [];
  abort = new AbortController();
  running = Promise.resolve();
});

afterEach(async () => {
  abort.abort();
  await running;
  await client.close();
  await server.stop();
});

const log = (): Logger => {
  const keep = (keys: object, text: string) =>
    void logged.push(`${text}: ${(keys as { err?: Error }).err?.message ?? ''}`);
  return { debug: keep, info: keep, warn: keep, error: keep };
};

const slim = (object: KubeObject): StoredRecord => ({
  key: keyOf(object.metadata),
  uid: object.metadata.uid,
  resourceVersion: object.metadata.resourceVersion,
});

function start(options: Partial<ReflectorOptions<StoredRecord>> = {}): Reflector<StoredRecord> {
  reflector = new Reflector<StoredRecord>({
    ...{
      client,
      resource: configMaps,
      toRecord: slim,
      store,
      clock: systemClock,
      random: () => 0.5,
      log: log(),
    },
    backOffMs: [5, 50],
    ...options,
  });
  running = reflector.run(abort.signal);
  return reflector;
}

const put = (name: string) => objects.put({ metadata: { name } });
const startSynced = async (options: Partial<ReflectorOptions<StoredRecord>> = {}) => {
  await start(options).synced(abort.signal);
  await waitFor('a watch from there', () => resumed().length === 1);
};
/** The watches that went on from a known resourceVersion. */
const resumed = () => server.watches.filter(({ query }) => query.has('resourceVersion'));
const lists = () =>
  server.exchanges.filter(
    ({ isWatch, query }) => !isWatch || (query.has('sendInitialEvents') && !query.has('labelSelector')),
  );
const isResumed = (exchange: { isWatch: boolean; query: URLSearchParams }) =>
  exchange.isWatch && exchange.query.has('resourceVersion');

describe('a kind that the server does not know', () => {
  const refuseAll = (status: number, isOver: () => boolean = () => false) =>
    server.script((exchange) => {
      if (isOver()) return false;
      exchange.answer(status, '404 page not found\n', { 'content-type': 'text/plain' });
      return true;
    });

  it('is told from one without objects until it is known and listed', async () => {
    let isDefined = false;
    refuseAll(404, () => isDefined);
    put('a');
    await start().answered(abort.signal);
    expect([store.isUnserved, reflector.hasSynced()]).toEqual([true, false]);
    server.once(
      () => isDefined,
      (exchange) => {
        exchange.open();
        exchange.event('ADDED', { metadata: { name: 'a', uid: '1', resourceVersion: '1' } });
      },
    );
    isDefined = true;
    await waitFor('the beginning of a list', () => store.size === 1);
    expect(store.isUnserved).toBe(true);
    server.exchanges.at(-1)!.reset();
    await reflector.synced(abort.signal);
    expect([store.isUnserved, store.size]).toEqual([false, 1]);
  });

  it.each([401, 403, 500, 503])('is not one whose list is answered with %i', async (status) => {
    let hasAnswered = false;
    refuseAll(status);
    const answered = start().answered(abort.signal);
    answered.then(
      () => {
        hasAnswered = true;
      },
      () => undefined,
    );
    await waitFor('some failures', () => logged.length >= 3);
    expect([hasAnswered, store.isUnserved]).toEqual([false, false]);
  });

  it('is not one that was listed before: what went was told by the watch', async () => {
    put('a');
    await startSynced();
    refuseAll(404);
    resumed()[0]!.reset();
    await waitFor('some failures', () => logged.length >= 3);
    expect([store.isUnserved, store.size]).toEqual([false, 1]);
  });
});

describe('a request that is lost', () => {
  it('for a watch, is sent again after 30 s, from the same place', async () => {
    const clock = new FakeClock();
    start({ client: createClientWith(clock), clock });
    await waitFor('the watch', () => resumed().length === 1);
    server.once(isResumed, () => undefined);
    put('a');
    await waitFor('an event', () => store.size === 1);
    resumed()[0]!.reset();
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(50);
    await waitFor('the request that is lost', () => resumed().length === 2);
    clock.advance(29_999);
    await clock.settle();
    expect(logged.length).toBe(1);
    clock.advance(1);
    await waitFor('the next failure', () => logged.length === 2);
    expect(logged[1]).toContain('no answer to WATCH /api/v1/configmaps within 30000 ms');
    clock.advance(50);
    await waitFor('the next watch', () => resumed().length === 3);
    expect([lists().length, resumed()[2]?.query.get('resourceVersion')]).toEqual([1, '101']);
    put('b');
    await waitFor('the object', () => store.size === 2);
  });

  it('for a list as a stream, has lists come page by page for ten minutes only', async () => {
    const clock = new FakeClock();
    server.once(
      ({ isWatch }) => isWatch,
      () => undefined,
    );
    start({ client: createClientWith(clock), clock });
    const untilWatched = async (count: number) => {
      await waitFor(`watch ${count}`, () => resumed().length === count);
      resumed().at(-1)!.bookmark(`${count}00`);
      await waitFor('the bookmark', () => reflector.position() === `${count}00`);
    };
    const relist = async (count: number) => {
      resumed().at(-1)!.event('ERROR', statusOf(410, 'Expired'));
      await waitFor('the failure', () => logged.length === count);
      clock.advance(50);
      await untilWatched(count);
    };
    await waitFor('the request that is lost', () => lists().length === 1);
    clock.advance(30_000);
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(50);
    await untilWatched(1);
    await relist(2);
    expect(lists().map(({ isWatch }) => isWatch)).toEqual([true, false, false]);
    for (let minutes = 0; minutes < 10; minutes++) {
      clock.advance(60_000);
      resumed()
        .at(-1)!
        .bookmark(String(1_000 + minutes));
      await waitFor('the bookmark', () => reflector.position() === String(1_000 + minutes));
    }
    await relist(3);
    expect(lists().map(({ isWatch }) => isWatch)).toEqual([true, false, false, true]);
  });
});

function createClientWith(clock: Clock): KubeClient {
  void client.close();
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester', clock });
  return client;
}
