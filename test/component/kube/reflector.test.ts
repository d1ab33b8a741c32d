import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../../src/api/resources.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import type { ReflectorOptions } from '../../../src/kube/cache/reflector-options.ts';
import { Store, type StoredRecord } from '../../../src/kube/cache/store.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { SilenceReports } from '../../../src/kube/client/silence-reports.ts';
import { type Clock, systemClock } from '../../../src/kube/clock.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import type { Logger } from '../../../src/logger.ts';
import { statusOf } from '../../fakes/exchange.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import type { ObjectStorage } from '../../fakes/object-storage.ts';
import { waitFor } from '../../fakes/wait-for.ts';

interface Slim extends StoredRecord {
  readonly value: string;
}

let server: FakeApiServer;
let objects: ObjectStorage;
let client: KubeClient;
let store: Store<Slim>;
let changes: string[];
let logged: string[];
let abort: AbortController;
let reflector: Reflector<Slim>;
let running: Promise<void>;

beforeEach(async () => {
  server = await FakeApiServer.start();
  objects = server.storage('configmaps');
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester' });
  store = new Store<Slim>();
  changes = [];
  logged = [];
  store.subscribe(({ type, key, current }) =>
    changes.push(`${type} ${key}${current ? ` ${current.value}` : ''}`),
  );
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

const slim = (object: KubeObject): Slim => ({
  key: keyOf(object.metadata),
  uid: object.metadata.uid,
  resourceVersion: object.metadata.resourceVersion,
  value: (object as { data?: { value?: string } }).data?.value ?? '',
});

function start(options: Partial<ReflectorOptions<Slim>> = {}): Reflector<Slim> {
  reflector = new Reflector<Slim>({
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

const put = (name: string, value = '1', metadata: object = {}) =>
  objects.put({ metadata: { name, ...metadata }, data: { value } } as never);
const startSynced = async (options: Partial<ReflectorOptions<Slim>> = {}) => {
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

describe('listing', () => {
  it('fills the store from a streaming list, then watches from where it ended', async () => {
    put('a');
    put('b');
    await startSynced();
    expect(changes).toEqual(['added a 1', 'added b 1']);
    expect(reflector.hasSynced()).toBe(true);
    const [list, watch] = server.watches;
    expect(Object.fromEntries(list!.query)).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      timeoutSeconds: '300',
    });
    expect(Object.fromEntries(watch!.query)).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '102',
      timeoutSeconds: '450',
    });
  });

  it('is not synced before the list is complete', async () => {
    server.once(
      ({ isWatch }) => isWatch,
      (exchange) => {
        exchange.open();
        exchange.event('ADDED', { metadata: { name: 'a', uid: '1', resourceVersion: '1' } });
      },
    );
    start();
    await waitFor('the first object', () => store.size === 1);
    expect([reflector.hasSynced(), reflector.freshness()]).toEqual([false, Number.POSITIVE_INFINITY]);
  });

  it('lists pages of 500 from a server that refuses streaming lists', async () => {
    server.streamingLists = 'refused';
    for (let n = 0; n < 1_001; n++) put(`cm-${n}`);
    await startSynced();
    expect(store.size).toBe(1_001);
    const pages = server.exchanges.filter(({ isWatch }) => !isWatch);
    expect(pages.map(({ query }) => [query.get('limit'), query.get('continue')])).toEqual([
      ['500', null],
      ['500', '500'],
      ['500', '1000'],
    ]);
    expect(resumed()[0]?.query.get('resourceVersion')).toBe(String(objects.revision));
  });

  it('lists pages from a server that overlooks the parameter and stays silent', async () => {
    const clock = new FakeClock();
    server.streamingLists = 'overlooked';
    start({ client: createClientWith(clock), clock });
    await waitFor('the list that never comes', () => server.watches.length === 1);
    put('a');
    await waitFor('an event, which proves nothing', () => store.size === 1);
    clock.advance(60_000);
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(50);
    await reflector.synced(abort.signal);
    expect(store.size).toBe(1);
  });

  it('asks for a stream again when a server that stops ended it early', async () => {
    put('a');
    server.once(
      ({ isWatch }) => isWatch,
      (exchange) => {
        exchange.open();
        exchange.response.end();
      },
    );
    await startSynced();
    expect([lists().length, lists().every(({ isWatch }) => isWatch)]).toEqual([2, true]);
    expect(logged[0]).toContain('the list ended before it was complete');
  });

  it('lists pages where two streams in a row were cut before they were complete', async () => {
    for (let n = 0; n < 4; n++) put(`cm-${n}`);
    for (let cuts = 0; cuts < 2; cuts++) {
      server.once(
        ({ isWatch }) => isWatch,
        (exchange) => {
          exchange.open();
          exchange.event('ADDED', objects.list()[0]);
          exchange.reset();
        },
      );
    }
    await startSynced();
    expect(lists().map(({ isWatch }) => isWatch)).toEqual([true, true, false]);
    expect(store.size).toBe(4);
  });

  it('lists pages from a server that takes a request for a list for a plain watch', async () => {
    const clock = new FakeClock();
    server.streamingLists = 'overlooked';
    put('a');
    start({ client: createClientWith(clock), clock });
    await waitFor('the watch', () => server.watches.length === 1);
    for (let passed = 0; passed < 300; passed += 30) {
      put('a', String(passed));
      await waitFor('the event', () => store.get('a')?.value === String(passed));
      clock.advance(30_000);
    }
    server.watches[0]!.response.end();
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(50);
    await reflector.synced(abort.signal);
    expect(lists().map(({ isWatch }) => isWatch)).toEqual([true, false]);
  });

  it('starts the pages again when their continue token is too old', async () => {
    server.streamingLists = 'refused';
    for (let n = 0; n < 4; n++) put(`cm-${n}`);
    server.once(
      ({ query }) => query.get('continue') === '2',
      (exchange) => exchange.refuse(410, 'Expired'),
    );
    await startSynced({ pageSize: 2 });
    expect(store.size).toBe(4);
    expect(changes.length).toBe(4);
  });

  it('selects as it was told', async () => {
    await startSynced({ namespace: 'ns', labelSelector: 'a=b', fieldSelector: 'c=d' });
    for (const { path, query } of server.watches) {
      expect([path, query.get('labelSelector'), query.get('fieldSelector')]).toEqual([
        '/api/v1/namespaces/ns/configmaps',
        'a=b',
        'c=d',
      ]);
    }
  });

  it('keeps each record and no object', async () => {
    put('a', '7');
    await startSynced();
    expect(store.get('a')).toEqual({ key: 'a', uid: expect.any(String), resourceVersion: '101', value: '7' });
  });
});

describe('watching', () => {
  it('follows objects that are added, changed and deleted', async () => {
    await startSynced();
    put('a');
    put('a', '2');
    objects.remove('a');
    await waitFor('the deletion', () => changes.length === 3);
    expect(changes).toEqual(['added a 1', 'updated a 2', 'deleted a']);
  });

  it('tells a re-created object from a changed one', async () => {
    put('a', '1', { uid: 'first' });
    await startSynced();
    changes.length = 0;
    resumed()[0]!.event('MODIFIED', { metadata: { name: 'a', uid: 'second', resourceVersion: '200' } });
    await waitFor('both changes', () => changes.length === 2);
    expect(changes).toEqual(['deleted a', 'added a ']);
  });

  it('goes on from the last event when the server ends the watch', async () => {
    await startSynced();
    put('a');
    await waitFor('the event', () => store.size === 1);
    resumed()[0]!.response.end();
    await waitFor('the next watch', () => resumed().length === 2);
    expect(resumed()[1]?.query.get('resourceVersion')).toBe('101');
    put('b');
    await waitFor('its event', () => store.size === 2);
    expect([changes.length, lists().length, logged]).toEqual([2, 1, []]);
  });

  it('goes on from the last bookmark', async () => {
    await startSynced();
    resumed()[0]!.bookmark('150');
    resumed()[0]!.response.end();
    await waitFor('the next watch', () => resumed().length === 2);
    expect(resumed()[1]?.query.get('resourceVersion')).toBe('150');
  });

  it('goes on after a reset in the middle of a line, and misses nothing', async () => {
    await startSynced();
    server.once(isResumed, (exchange) => {
      exchange.open();
      exchange.response.write('{"type":"ADDED","object":{"metadata":{"name":"torn', () => exchange.reset());
    });
    resumed()[0]!.reset();
    put('a');
    await waitFor('the object', () => store.size === 1);
    expect(store.get('a')?.value).toBe('1');
    expect(lists().length).toBe(1);
  });

  it('reads events that arrive byte by byte', async () => {
    await startSynced();
    const line = `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'ä€🔑', uid: '1', resourceVersion: '900' } } })}\n`;
    for (const byte of Buffer.from(line)) {
      resumed()[0]!.response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor('the object', () => store.get('ä€🔑') !== undefined);
  });

  it('leaves out what the projection leaves out, also what it no longer takes', async () => {
    const toRecord = (object: KubeObject) => (slim(object).value === 'out' ? undefined : slim(object));
    put('never', 'out');
    put('a');
    await startSynced({ toRecord });
    put('a', 'out');
    await waitFor('the change', () => changes.length === 2);
    expect(changes).toEqual(['added a 1', 'deleted a']);
  });

  it('counts an object that cannot be read as absent, and says which', async () => {
    const toRecord = (object: KubeObject) => {
      if (slim(object).value === 'bad') throw new Error('unreadable');
      return slim(object);
    };
    put('a');
    await startSynced({ toRecord });
    put('a', 'bad');
    await waitFor('the change', () => changes.length === 2);
    expect(changes[1]).toBe('deleted a');
    expect(logged).toEqual(['object cannot be read and counts as absent: unreadable']);
    put('a', 'good');
    await waitFor('the object', () => store.get('a')?.value === 'good');
  });

  it('survives a listener that throws', async () => {
    await startSynced();
    store.subscribe(() => {
      throw new Error('listener');
    });
    put('a');
    put('b');
    await waitFor('both', () => store.size === 2);
    expect(logged).toEqual([
      'store listener failed: a store listener failed',
      'store listener failed: a store listener failed',
    ]);
  });
});

describe('what only a list repairs', () => {
  it('lists again after 410 as a status, and notices what was deleted meanwhile', async () => {
    put('stays');
    put('goes');
    await startSynced();
    changes.length = 0;
    await server.stop();
    objects.remove('goes');
    put('new');
    objects.compact();
    await server.listen();
    await waitFor('the second list', () => store.get('new') !== undefined && store.size === 2);
    expect(changes.toSorted()).toEqual(['added new 1', 'deleted goes']);
  });

  it('tells what was there at the start from what changed, in a watch or between watches', async () => {
    const origins: string[] = [];
    const positions: (string | undefined)[] = [];
    store.subscribe(({ key, origin }) => {
      origins.push(`${key} ${origin}`);
      positions.push(store.position);
    });
    put('old');
    await startSynced();
    put('watched');
    await waitFor('its event', () => store.size === 2);
    await server.stop();
    put('missed');
    objects.compact();
    await server.listen();
    await waitFor('the second list', () => store.size === 3);
    expect(origins).toEqual(['old list', 'watched watch', 'missed relist']);
    // Each time the one before: of the list, and of the watch.
    expect(positions).toEqual([undefined, '101', '102']);
  });

  it.each([
    ['410', statusOf(410, 'Expired', 'too old resource version')],
    ['500', statusOf(500, 'InternalError', 'etcd event received with PrevKv=nil')],
    ['no status at all', { unexpected: true }],
  ])('lists again after an ERROR event with %s', async (_what, status) => {
    put('a');
    await startSynced();
    resumed()[0]!.event('ERROR', status);
    await waitFor('the second list', () => lists().length === 2);
    await waitFor('the watch after it', () => resumed().length === 2);
    put('b');
    await waitFor('its event', () => store.size === 2);
    expect(changes).toEqual(['added a 1', 'added b 1']);
  });

  it('lists again after a line that is longer than any object', async () => {
    await startSynced({ maxLineBytes: 10_000 });
    resumed()[0]!.response.write('x'.repeat(20_000));
    await waitFor('the second list', () => lists().length === 2);
    expect(logged[0]).toContain('a line of more than 10000 bytes');
  });

  it('lists again after a line that is no event, without quoting it', async () => {
    await startSynced();
    resumed()[0]!.response.write('lk_secret\n');
    await waitFor('the second list', () => lists().length === 2);
    expect(logged).toEqual([
      'watch failed; it will be tried again: unusable answer to WATCH /api/v1/configmaps: a line that is no event',
    ]);
  });

  it('lists again when the server is behind, as after a restore of its etcd', async () => {
    await startSynced();
    server.once(isResumed, (exchange) =>
      exchange.refuse(504, 'Timeout', { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }),
    );
    resumed()[0]!.response.end();
    await waitFor('the second list', () => lists().length === 2);
  });

  it('lists again when resourceVersions go back in the middle of a watch', async () => {
    put('a');
    await startSynced();
    resumed()[0]!.event('MODIFIED', { metadata: { name: 'a', uid: 'restored', resourceVersion: '50' } });
    await waitFor('the second list', () => lists().length === 2);
    await waitFor('the watch after it', () => resumed().length === 2);
    expect(changes).toEqual(['added a 1']);
    expect(logged[0]).toContain('the resourceVersion went back');
  });

  it('begins an interrupted list again and deletes nothing before it is complete', async () => {
    put('a');
    await startSynced();
    changes.length = 0;
    server.once(
      ({ query }) => query.has('sendInitialEvents'),
      (exchange) => {
        exchange.open();
        exchange.reset();
      },
    );
    resumed()[0]!.event('ERROR', statusOf(410, 'Expired'));
    await waitFor('the third list', () => lists().length === 3);
    await waitFor('the watch after it', () => resumed().length === 2);
    expect(changes).toEqual([]);
  });
});

describe('failures that a pause repairs', () => {
  it('comes back when the server does, and lists no second time', async () => {
    put('a');
    await startSynced();
    await server.stop();
    await waitFor('some failures', () => logged.length >= 3);
    put('b');
    await server.listen();
    await waitFor('the object', () => store.size === 2);
    expect(lists().length).toBe(1);
    expect(logged.some((line) => line.includes('ECONNREFUSED'))).toBe(true);
  });

  it('comes back when the server was not there at the start', async () => {
    await server.stop();
    start();
    await waitFor('a failure', () => logged.length >= 1);
    put('a');
    await server.listen();
    await reflector.synced(abort.signal);
    expect(store.size).toBe(1);
  });

  it.each([401, 403, 429, 500, 503])('tries again after %i, from the same place', async (status) => {
    await startSynced();
    server.once(isResumed, (exchange) => exchange.refuse(status, 'Refused'));
    resumed()[0]!.response.end();
    await waitFor('the third watch', () => resumed().length === 3);
    expect(resumed()[2]?.query.get('resourceVersion')).toBe(resumed()[1]?.query.get('resourceVersion'));
    expect(lists().length).toBe(1);
  });

  it('reads no more of a refusal than a Status can have', async () => {
    await startSynced();
    server.once(isResumed, (exchange) => {
      exchange.response.writeHead(503);
      exchange.response.end('x'.repeat(200_000));
    });
    resumed()[0]!.response.end();
    await waitFor('the third watch', () => resumed().length === 3);
    expect(logged.some((line) => line.includes('503 ServiceUnavailable'))).toBe(true);
  });

  it('waits as long as the server asks for', async () => {
    const clock = new FakeClock();
    start({ client: createClientWith(clock), clock });
    await waitFor('the watch', () => resumed().length === 1);
    server.once(isResumed, (exchange) => exchange.refuse(429, 'TooManyRequests', { retryAfter: 7 }));
    clock.advance(5_000);
    resumed()[0]!.response.end();
    await waitFor('the refusal', () => logged.length === 1);
    await clock.advanceAsync(6_900, 100);
    expect(resumed().length).toBe(2);
    clock.advance(200);
    await waitFor('the next try', () => resumed().length === 3);
  });

  it('waits longer after each failure, and little again after a good while', async () => {
    const clock = new FakeClock();
    const delays: number[] = [];
    const keep = (keys: object) => void delays.push((keys as { delayMs: number }).delayMs);
    start({
      client: createClientWith(clock),
      clock,
      log: { debug: keep, info: keep, warn: keep, error: keep },
      random: () => 1,
      backOffMs: [100, 400],
    });
    await waitFor('the watch', () => resumed().length === 1);
    await server.stop();
    for (let failures = 1; failures <= 4; failures++) {
      await waitFor('a failure', () => delays.length === failures);
      clock.advance(400);
    }
    await waitFor('a failure', () => delays.length === 5);
    await server.listen();
    clock.advance(400);
    await waitFor('the watch', () => server.openSockets === 1);
    put('a');
    await waitFor('the object', () => store.size === 1);
    clock.advance(801);
    await server.stop();
    await waitFor('a failure', () => delays.length === 6);
    expect(delays).toEqual([100, 200, 400, 400, 400, 100]);
  });

  it('says since when each try has failed and why, until one succeeds', async () => {
    const clock = new FakeClock();
    start({ client: createClientWith(clock), clock, backOffMs: [100, 400] });
    await waitFor('the watch', () => resumed().length === 1);
    await server.stop();
    await waitFor('a failure', () => logged.length === 1);
    clock.advance(2_000);
    await waitFor('another failure', () => logged.length === 2);
    expect(reflector.outage(2_000)).toBeUndefined();
    expect(reflector.outage(1_999)).toBe('for 2 s (ERR_KUBE_UNREACHABLE)');
    await server.listen();
    clock.advance(400);
    await waitFor('a watch', () => reflector.outage(0) === undefined);
  });

  it('tries at once when it hears that the server is back, but not before the time that the server asked for', async () => {
    const clock = new FakeClock();
    start({ client: createClientWith(clock), clock, backOffMs: [20_000, 30_000] });
    await waitFor('the watch', () => resumed().length === 1);
    resumed()[0]!.reset();
    await waitFor('the failure', () => logged.length === 1);
    reflector.retryNow();
    await waitFor('the second watch', () => resumed().length === 2);
    server.once(isResumed, (exchange) => exchange.refuse(429, 'TooManyRequests', { retryAfter: 7 }));
    resumed()[1]!.reset();
    await waitFor('the next failure', () => logged.length === 2);
    reflector.retryNow();
    await waitFor('the refusal', () => logged.length === 3);
    reflector.retryNow();
    await clock.advanceAsync(6_900, 100);
    reflector.retryNow();
    expect(resumed().length).toBe(3);
    await clock.advanceAsync(100);
    reflector.retryNow();
    await waitFor('the next try', () => resumed().length === 4);
  });

  it('takes a watch that ends at once for a failure, not for an invitation to loop', async () => {
    server.script((exchange) => {
      if (!isResumed(exchange)) return false;
      exchange.open();
      exchange.response.end();
      return true;
    });
    await start().synced(abort.signal);
    await waitFor('the failure', () => logged.length >= 1);
    expect(logged[0]).toContain('it ended at once, without an event');
  });
});

describe('silence', () => {
  it('outlasts six quiet minutes and then gets the next event', async () => {
    const clock = new FakeClock();
    start({ client: createClientWith(clock), clock, idleMs: 240_000 });
    await waitFor('the watch', () => resumed().length === 1);
    put('first');
    await waitFor('an event', () => store.size === 1);
    for (let passed = 0; passed < 360_000; passed += 1_000) clock.advance(1_000);
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(1_000);
    await waitFor('the second watch', () => resumed().length === 2);
    put('a');
    await waitFor('the object', () => store.size === 2);
    expect(logged[0]).toContain('no answer to WATCH /api/v1/configmaps within 240000 ms');
    expect(lists().length).toBe(1);
  });

  it('goes on at once when a request to the same server gets no answer, and lists no second time', async () => {
    const clock = new FakeClock();
    const reports = new SilenceReports(clock);
    start({ client: createClientWith(clock, reports), clock });
    await waitFor('the watch', () => resumed().length === 1);
    put('a');
    await waitFor('the event', () => store.size === 1);
    clock.advance(5_000);
    reports.report(1_000);
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(50);
    await waitFor('the second watch', () => resumed().length === 2);
    expect(logged[0]).toContain('it was silent while a request to the same server got no answer');
    expect(lists().length).toBe(1);
  });

  it('counts as the end of the connection a little after two minutes, when a bookmark is overdue', async () => {
    const clock = new FakeClock();
    start({ client: createClientWith(clock), clock });
    await waitFor('the watch', () => resumed().length === 1);
    put('a');
    await waitFor('an event', () => store.size === 1);
    clock.advance(129_999);
    resumed()[0]!.bookmark('200');
    await waitFor('the bookmark', () => reflector.freshness() === 0);
    clock.advance(130_000);
    await waitFor('the failure', () => logged.length === 1);
    clock.advance(50);
    await waitFor('the second watch', () => resumed().length === 2);
  });

  it('keeps a watch open on which only bookmarks come', async () => {
    const clock = new FakeClock();
    start({ client: createClientWith(clock), clock, idleMs: 240_000 });
    await waitFor('the watch', () => resumed().length === 1);
    put('a');
    await waitFor('an event', () => store.size === 1);
    for (let minutes = 0; minutes < 20; minutes++) {
      clock.advance(60_000);
      resumed()[0]!.bookmark(String(200 + minutes));
      await waitFor('the bookmark', () => reflector.freshness() === 0);
    }
    expect([resumed().length, lists().length, logged]).toEqual([1, 1, []]);
    expect(reflector.outage(0)).toBeUndefined();
  });

  it('measures freshness from the last event, bookmark or resumed watch', async () => {
    const clock = new FakeClock();
    start({ client: createClientWith(clock), clock });
    await waitFor('the watch', () => resumed().length === 1 && reflector.freshness() === 0);
    clock.advance(10_000);
    expect(reflector.freshness()).toBe(10_000);
    put('a');
    await waitFor('the event', () => store.size === 1);
    expect(reflector.freshness()).toBe(0);
    clock.advance(3_000);
    resumed()[0]!.response.end();
    await waitFor('the resumed watch', () => reflector.freshness() === 0);
    await server.stop();
    clock.advance(30_000);
    expect(reflector.freshness()).toBe(30_000);
  });

  it('asks the server to end watches at random times within the limits', async () => {
    await startSynced({ watchSeconds: [10, 20], random: () => 0.3 });
    expect(resumed()[0]?.query.get('timeoutSeconds')).toBe('13');
  });
});

describe('stopping', () => {
  it('ends at once and leaves no socket', async () => {
    await startSynced();
    abort.abort();
    await running;
    await client.close();
    await waitFor('no socket', () => server.openSockets === 0);
    expect(logged).toEqual([]);
  });

  it('ends while it waits after a failure', async () => {
    await server.stop();
    start({ backOffMs: [60_000, 60_000] });
    await waitFor('a failure', () => logged.length === 1);
    abort.abort();
    await running;
    expect(reflector.hasSynced()).toBe(false);
  });

  it('lets go of who waits for the first sync', async () => {
    await server.stop();
    const waiting = start().synced(abort.signal);
    abort.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    await expect(reflector.synced(abort.signal)).rejects.toThrow('stop');
  });
});

describe('large lists', () => {
  it('lets others run after each 10 ms of work', async () => {
    for (let n = 0; n < 5_000; n++) put(`cm-${n}`);
    let worked = 0;
    const clock = { ...systemClock, monotonic: () => worked };
    const toRecord = (object: KubeObject) => {
      worked += 1;
      return slim(object);
    };
    let turns = 0;
    const turn = () => {
      if (store.size > 0) turns++;
      if (!reflector.hasSynced()) setImmediate(turn);
    };
    start({ toRecord, clock });
    turn();
    await reflector.synced(abort.signal);
    expect(store.size).toBe(5_000);
    expect(turns).toBeGreaterThanOrEqual(499);
  });
});

function createClientWith(clock: Clock, reports = new SilenceReports(clock)): KubeClient {
  void client.close();
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester', clock, reports });
  return client;
}
