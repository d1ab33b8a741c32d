import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../../src/api/resources.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import type { ReflectorOptions } from '../../../src/kube/cache/reflector-options.ts';
import { Store, type StoredRecord } from '../../../src/kube/cache/store.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { FakeClock } from '../../../src/kube/fake-clock.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import type { Logger } from '../../../src/logger.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import type { ObjectStorage } from '../../fakes/object-storage.ts';
import { waitFor } from '../../fakes/wait-for.ts';

let server: FakeApiServer;
let objects: ObjectStorage;
let clock: FakeClock;
let client: KubeClient;
let store: Store<StoredRecord>;
let logged: string[];
let abort: AbortController;
let reflector: Reflector<StoredRecord>;
let running: Promise<void>;

beforeEach(async () => {
  server = await FakeApiServer.start();
  objects = server.storage('configmaps');
  clock = new FakeClock();
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester', clock });
  store = new Store();
  logged = [];
  abort = new AbortController();
});

afterEach(async () => {
  abort.abort();
  await running;
  await client.close();
  await server.stop();
});

const keep = (keys: object, text: string) =>
  void logged.push(`${text}: ${(keys as { err?: Error }).err?.message ?? ''}`);
const log: Logger = { debug: keep, info: keep, warn: keep, error: keep };

const project = ({ metadata }: KubeObject): StoredRecord => ({
  key: keyOf(metadata),
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
});

function start(options: Partial<ReflectorOptions<StoredRecord>> = {}): void {
  reflector = new Reflector({
    ...{ client, clock, log, project, store, resource: configMaps, random: () => 0.5 },
    ...{ watchSeconds: [10, 20], proofTimeoutMs: 3_000, backOffMs: [50, 50] },
    ...options,
  });
  running = reflector.run(abort.signal);
}

const put = (name: string) => objects.put({ metadata: { name } });
const isProof = ({ isWatch, query }: Exchange) => !isWatch && !query.has('resourceVersion');
const isSecond = ({ isWatch, query }: Exchange) => !isWatch && query.has('resourceVersion');
const isResumed = ({ isWatch, query }: Exchange) => isWatch && query.has('resourceVersion');
const proofs = () => server.exchanges.filter(isProof);
const seconds = () => server.exchanges.filter(isSecond);
const resumed = () => server.exchanges.filter(isResumed);
const lists = () => server.watches.filter(({ query }) => query.has('sendInitialEvents'));
/** The next watch from a resourceVersion, which the server does not open. */
const nextWatch = async (): Promise<Exchange> =>
  await new Promise((resolve) => server.once(isResumed, resolve));
const untilResumed = (count: number) => waitFor(`watch ${count}`, () => resumed().length === count);
const startSynced = async (options: Partial<ReflectorOptions<StoredRecord>> = {}) => {
  start(options);
  await untilResumed(1);
  await waitFor('the watch is open', () => reflector.freshness() === 0);
};
/** The server ends the present watch, not so soon that it counts as a failure. */
const endWatch = () => {
  clock.advance(1_000);
  resumed().at(-1)!.response.end();
};

describe('a reflector that asks for proof', () => {
  it('sends a consistent list and one from the cache before each watch, over the same connection', async () => {
    put('a');
    await startSynced({ namespace: 'ns', labelSelector: 'a=b', fieldSelector: 'c=d' });
    endWatch();
    await untilResumed(2);
    expect(proofs().map(({ path, query }) => [path, Object.fromEntries(query)])).toEqual(
      Array(2).fill([
        '/api/v1/namespaces/ns/configmaps',
        { labelSelector: 'a=b', fieldSelector: 'c=d', limit: '1' },
      ]),
    );
    expect(seconds().map(({ query }) => Object.fromEntries(query))).toEqual(
      Array(2).fill({
        labelSelector: 'a=b',
        fieldSelector: 'c=d',
        limit: '1',
        resourceVersion: '101',
        resourceVersionMatch: 'NotOlderThan',
      }),
    );
    for (const lists of [proofs(), seconds()])
      expect(lists.map(({ socket }) => socket)).toEqual(resumed().map(({ socket }) => socket));
    expect(new Set(resumed().map(({ socket }) => socket)).size).toBe(2);
    expect(logged).toEqual([]);
  });

  it('sends both for the user that its client speaks for', async () => {
    await startSynced({ client: client.as({ user: 'alice', groups: [] }) });
    const users = [proofs(), resumed()].flat().map(({ headers }) => headers['impersonate-user']);
    expect(users).toEqual(['alice', 'alice']);
  });

  it('is as old as the beginning of the list, and no watch that does not open makes it younger', async () => {
    await startSynced();
    clock.advance(4_000);
    let list: Exchange | undefined;
    server.once(isProof, (exchange) => {
      list = exchange;
    });
    let watch: Exchange | undefined;
    server.once(isResumed, (exchange) => {
      watch = exchange;
    });
    endWatch();
    await waitFor('the list', () => list !== undefined);
    clock.advance(2_000);
    list!.answer(200, { kind: 'List', metadata: { resourceVersion: String(objects.revision) }, items: [] });
    await waitFor('the watch', () => watch !== undefined);
    clock.advance(1_000);
    expect(reflector.freshness()).toBe(8_000);
    watch!.open();
    await waitFor('the watch is open', () => reflector.freshness() === 3_000);
  });

  it('is as old as the beginning of its first list', async () => {
    let list: Exchange | undefined;
    server.once(
      ({ isWatch }) => isWatch,
      (exchange) => {
        list = exchange;
      },
    );
    let proof: Exchange | undefined;
    server.once(isProof, (exchange) => {
      proof = exchange;
    });
    start();
    await waitFor('the list', () => list !== undefined);
    clock.advance(4_000);
    expect(reflector.freshness()).toBe(Number.POSITIVE_INFINITY);
    list!.open();
    list!.bookmark('200', { 'k8s.io/initial-events-end': 'true' });
    await waitFor('the list before the watch', () => proof !== undefined);
    expect(reflector.freshness()).toBe(4_000);
  });

  it('watches after a list that took longer than any watch, and does not list again', async () => {
    let list: Exchange | undefined;
    server.once(
      ({ isWatch }) => isWatch,
      (exchange) => {
        list = exchange;
      },
    );
    start({ relistAfterMs: 28_000 });
    await waitFor('the list', () => list !== undefined);
    list!.open();
    clock.advance(50_000);
    list!.bookmark(String(objects.revision), { 'k8s.io/initial-events-end': 'true' });
    await untilResumed(1);
    await waitFor('the watch is open', () => reflector.freshness() === 0);
    expect(lists().length).toBe(1);
  });

  it('counts events as fresh, and bookmarks not', async () => {
    await startSynced();
    clock.advance(4_000);
    resumed()[0]!.bookmark('150');
    resumed()[0]!.event('ADDED', { metadata: { name: 'a', uid: '1', resourceVersion: '151' } });
    await waitFor('the event', () => reflector.freshness() === 0);
    clock.advance(4_000);
    resumed()[0]!.bookmark('160');
    server.script(isProof);
    endWatch();
    await waitFor('the next list', () => proofs().length === 2);
    expect(reflector.freshness()).toBe(5_000);
  });

  it('gets older while its server opens watches and answers no list', async () => {
    await startSynced();
    server.script(isProof);
    endWatch();
    for (let failures = 1; failures <= 5; failures++) {
      await waitFor('a list', () => proofs().length === failures + 1);
      clock.advance(3_000);
      await waitFor('its end', () => logged.length === failures);
      clock.advance(50);
    }
    expect(logged[0]).toContain('no answer to GET /api/v1/configmaps within 3000 ms');
    expect([resumed().length, reflector.freshness()]).toEqual([1, 16_250]);
  });

  it('gets older while its server lists from etcd and watches from a cache that is behind', async () => {
    await startSynced();
    const details = { causes: [{ reason: 'ResourceVersionTooLarge' }] };
    server.script((exchange) => {
      if (!isSecond(exchange)) return false;
      exchange.refuse(504, 'Timeout', { message: 'Too large resource version: 101, current: 100', details });
      return true;
    });
    endWatch();
    for (let failures = 1; failures <= 3; failures++) {
      await waitFor('a failure', () => logged.length === failures);
      clock.advance(50);
    }
    expect(logged[0]).toContain('what the server watches is older than what it lists');
    expect([resumed().length, reflector.freshness()]).toEqual([1, 1_150]);
    expect(lists().length).toBe(1);
  });

  it('gives both lists one time limit together', async () => {
    await startSynced();
    server.once(isSecond, () => undefined);
    endWatch();
    await waitFor('the second list', () => seconds().length === 2);
    clock.advance(3_000);
    await waitFor('the failure', () => logged.length === 1);
    expect(logged[0]).toContain('no answer to GET /api/v1/configmaps within 3000 ms');
  });

  it('goes on from the same place once its server answers again, and misses nothing', async () => {
    await startSynced();
    server.once(isProof, () => undefined);
    endWatch();
    await waitFor('the list', () => proofs().length === 2);
    put('b');
    clock.advance(3_000);
    await waitFor('its end', () => logged.length === 1);
    clock.advance(50);
    await waitFor('the object', () => store.size === 1);
    expect(resumed()[1]?.query.get('resourceVersion')).toBe('100');
    expect(lists().length).toBe(1);
  });

  it('lists everything again after an outage, and is not fresh before it has', async () => {
    put('a');
    await startSynced({ relistAfterMs: 28_000 });
    endWatch();
    await untilResumed(2);
    await waitFor('the watch is open', () => reflector.freshness() === 0);
    const outages = 9;
    for (let failures = 1; failures <= outages; failures++) server.once(isProof, () => undefined);
    endWatch();
    for (let failures = 1; failures <= outages; failures++) {
      await waitFor('a list', () => proofs().length === failures + 2);
      clock.advance(3_000);
      await waitFor('its end', () => logged.length === failures);
      if (failures === outages) break;
      clock.advance(50);
    }
    let list: Exchange | undefined;
    server.once(
      ({ isWatch }) => isWatch,
      (exchange) => {
        list = exchange;
      },
    );
    objects.remove('a');
    clock.advance(50);
    await waitFor('the list of everything', () => list !== undefined);
    expect([list!.query.get('sendInitialEvents'), reflector.freshness()]).toEqual(['true', 28_450]);
    list!.open();
    list!.bookmark(String(objects.revision), { 'k8s.io/initial-events-end': 'true' });
    await waitFor('the list is complete', () => reflector.freshness() === 0);
    expect(store.size).toBe(0);
  });

  it('lists everything again when the watch after an outage opens later than what it holds is believed', async () => {
    put('a');
    await startSynced({ relistAfterMs: 28_000 });
    await untilResumed(1);
    const last = nextWatch();
    clock.advance(14_000);
    endWatch();
    const late = await last;
    objects.remove('a');
    clock.advance(14_000);
    late.open();
    await waitFor('the failure', () => logged.length === 1);
    expect(logged[0]).toContain('it opened too late');
    expect([store.size, reflector.freshness()]).toEqual([1, 29_000]);
    clock.advance(50);
    await waitFor('the list is complete', () => reflector.freshness() === 0);
    expect(store.size).toBe(0);
  });

  it('goes on with the watch after an outage that is shorter', async () => {
    await startSynced({ relistAfterMs: 28_000 });
    const last = nextWatch();
    clock.advance(14_000);
    endWatch();
    const late = await last;
    clock.advance(12_000);
    late.open();
    await waitFor('the watch is open', () => reflector.freshness() === 12_000);
    expect(lists().length).toBe(1);
  });

  it('tries the watch behind a late list again, before it lists again', async () => {
    let list: Exchange | undefined;
    server.once(
      ({ isWatch }) => isWatch,
      (exchange) => {
        list = exchange;
      },
    );
    start({ relistAfterMs: 28_000 });
    await waitFor('the list', () => list !== undefined);
    list!.open();
    clock.advance(50_000);
    server.once(isProof, (exchange) => exchange.refuse(503, 'Unavailable'));
    list!.bookmark(String(objects.revision), { 'k8s.io/initial-events-end': 'true' });
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(50);
    await waitFor('the watch is open', () => reflector.freshness() === 0);
    expect(lists().length).toBe(1);
  });

  it('begins again with a list when the connection ends between list and watch', async () => {
    await startSynced();
    server.once(isProof, (exchange) => {
      const metadata = { resourceVersion: String(objects.revision) };
      exchange.answer(200, { kind: 'List', metadata, items: [] }, { connection: 'close' });
    });
    clock.advance(4_000);
    endWatch();
    await waitFor('the failure', () => logged.length === 1);
    expect(logged[0]).toContain('the connection ended between requests that belong together');
    expect([resumed().length, reflector.freshness()]).toEqual([1, 5_000]);
    clock.advance(50);
    await untilResumed(2);
    expect(proofs().length).toBe(3);
    expect(proofs()[2]?.socket).toBe(resumed()[1]?.socket);
  });

  it.each([401, 403, 429, 500, 503])('tries again after %i, from the same place', async (status) => {
    await startSynced();
    server.once(isProof, (exchange) => exchange.refuse(status, 'Refused'));
    endWatch();
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(50);
    await untilResumed(2);
    expect(resumed()[1]?.query.get('resourceVersion')).toBe('100');
  });

  it('lists everything again from a server that is behind, as after a restore of its etcd', async () => {
    put('a');
    await startSynced();
    server.once(isProof, (exchange) =>
      exchange.answer(200, { kind: 'List', metadata: { resourceVersion: '7' }, items: [] }),
    );
    endWatch();
    await waitFor('the failure', () => logged.length === 1);
    expect(logged[0]).toContain('the resourceVersion went back');
    clock.advance(50);
    await untilResumed(2);
    expect(lists().length).toBe(2);
  });

  it('gives a watch up that its server was to end long ago', async () => {
    await startSynced();
    clock.advance(19_999);
    expect(logged).toEqual([]);
    clock.advance(1);
    await waitFor('the failure', () => logged.length === 1);
    expect(logged[0]).toContain('no answer to WATCH /api/v1/configmaps within 20000 ms');
  });

  it('leaves no connection behind, however a watch ends', async () => {
    await startSynced();
    for (let watches = 2; watches <= 5; watches++) {
      endWatch();
      await untilResumed(watches);
    }
    await waitFor('one watch, one former list', () => server.openSockets <= 2);
    abort.abort();
    await running;
    await waitFor('no watch', () => server.openSockets <= 1);
  });

  it('ends when its client closes', async () => {
    await startSynced();
    await client.close();
    await waitFor('the failure', () => logged.length >= 1);
    await waitFor('no socket', () => server.openSockets === 0);
  });
});
