import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../../src/api/resources.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import type { ReflectorOptions } from '../../../src/kube/cache/reflector-options.ts';
import { Store, type StoredRecord } from '../../../src/kube/cache/store.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { FakeClock } from '../../../src/kube/fake-clock.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import type { Logger } from '../../../src/logger.ts';
import { type Exchange, statusOf } from '../../fakes/exchange.ts';
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
let areSilent: boolean;

/** A watch without a byte for this long has failed; so has the question that follows, when it stays without an answer. */
const [idleMs, answerMs] = [130_000, 15_000];
const backOffMs = 50;

beforeEach(async () => {
  server = await FakeApiServer.start();
  objects = server.storage('configmaps');
  clock = new FakeClock();
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester', clock });
  store = new Store();
  logged = [];
  abort = new AbortController();
  areSilent = false;
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

const put = (name: string) => objects.put({ metadata: { name } });
const isQuestion = ({ query }: Exchange) => query.get('labelSelector')?.endsWith('nothing,!nothing') === true;
const isResumed = ({ isWatch, query }: Exchange) => isWatch && query.has('resourceVersion');
const questions = () => server.exchanges.filter(isQuestion);
const resumed = () => server.exchanges.filter(isResumed);
const pages = () => server.exchanges.filter(({ isWatch }) => !isWatch);
const streams = () =>
  server.watches.filter((exchange) => !isQuestion(exchange) && exchange.query.has('sendInitialEvents'));
const untilFailed = async (count: number) => {
  await waitFor(`failure ${count}`, () => logged.length === count);
  clock.advance(backOffMs);
};
const untilResumed = (count: number) => waitFor(`watch ${count}`, () => resumed().length === count);
const untilAsked = (count: number) => waitFor(`question ${count}`, () => questions().length === count);

const startSynced = async (options: Partial<ReflectorOptions<StoredRecord>> = {}) => {
  reflector = new Reflector({
    ...{ client, clock, log, project, store, resource: configMaps, random: () => 1 },
    ...{ backOffMs: [backOffMs, backOffMs] },
    ...options,
  });
  running = reflector.run(abort.signal);
  await untilResumed(1);
  put('gone');
  await waitFor('the watch brings an object', () => store.size === 1);
  objects.remove('gone');
  await waitFor('the watch brings its end', () => store.size === 0);
};

/** From now on the server opens each watch and never sends anything. */
const silence = () => {
  areSilent = true;
  server.script((exchange) => {
    if (!areSilent || !exchange.isWatch) return false;
    exchange.open();
    return true;
  });
};
/** What is asked for is open, so that its limit runs. */
const settle = async () => await clock.advanceAsync(1, 1);

/** The present watch fails for silence, and so does the question. */
const untilListed = async () => {
  clock.advance(idleMs);
  await untilFailed(1);
  await untilAsked(1);
  await settle();
  clock.advance(answerMs);
  await untilFailed(2);
  await untilResumed(2);
  await settle();
};

describe('a watch that fell silent on a server that sends when it is asked', () => {
  it('goes on from where it was, and counts as fresh again, without another list', async () => {
    await startSynced({ labelSelector: 'a=b', fieldSelector: 'c=d' });
    clock.advance(idleMs);
    await untilFailed(1);
    await untilResumed(2);
    expect(questions().map(({ path, query }) => [path, Object.fromEntries(query)])).toEqual([
      [
        '/api/v1/configmaps',
        {
          ...{ watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: '60' },
          ...{ sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' },
          ...{ labelSelector: 'a=b,nothing,!nothing', fieldSelector: 'c=d' },
        },
      ],
    ]);
    await waitFor('it is fresh', () => reflector.freshness() === 0);
    expect([streams().length, pages().length, reflector.outage(0)]).toEqual([1, 0, undefined]);
    put('a');
    await waitFor('the object', () => store.size === 1);
  });

  it('is asked about once for each silence, and not listed, when nothing happens for an hour', async () => {
    await startSynced();
    for (let watches = 1; watches <= 27; watches++) {
      clock.advance(idleMs);
      await untilFailed(watches);
      await untilResumed(watches + 1);
      await waitFor('it is fresh', () => reflector.freshness() === 0);
    }
    expect([questions().length, streams().length, pages().length]).toEqual([27, 1, 0]);
  });

  it('is asked about until the server can be reached again, and is not listed', async () => {
    await startSynced();
    await server.stop();
    await untilFailed(1);
    clock.advance(idleMs);
    for (let failures = 2; failures <= 5; failures++) await untilFailed(failures);
    await waitFor('a failure', () => logged.length === 6);
    await server.listen();
    clock.advance(backOffMs);
    await untilResumed(2);
    expect([questions().length, streams().length, pages().length]).toEqual([1, 1, 0]);
    await waitFor('the outage is over', () => reflector.outage(0) === undefined);
  });
});

describe('a server that opens watches and sends nothing in them', () => {
  it('is noticed although each watch opens, before 240 s have passed', async () => {
    await startSynced();
    silence();
    put('a');
    await waitFor('the last event', () => store.size === 1);
    await untilListed();
    clock.advance(30_000);
    expect(clock.monotonic()).toBeLessThan(240_000);
    expect(reflector.outage(30_000)).toMatch(/^for \d+ s \(ERR_KUBE_TIMEOUT\)$/);
    expect(reflector.freshness()).toBeGreaterThan(idleMs + answerMs);
  });

  it('is listed page by page, and again after each watch that stays silent', async () => {
    await startSynced();
    silence();
    await untilListed();
    expect(pages().length).toBe(1);
    put('a');
    clock.advance(idleMs);
    await untilFailed(3);
    await untilAsked(2);
    await settle();
    clock.advance(answerMs);
    await untilFailed(4);
    await waitFor('the object, by a list', () => store.size === 1);
    expect(pages().length).toBe(2);
    expect(reflector.freshness()).toBeGreaterThan(2 * idleMs);
  });

  it.each([
    ['an object', () => void put('a')],
    ['a bookmark', () => resumed().at(-1)?.bookmark('900')],
  ])('is fine again once a watch brings %s, and lists come as streams again', async (_what, send) => {
    await startSynced();
    silence();
    await untilListed();
    expect([reflector.freshness() > 0, reflector.outage(0) === undefined]).toEqual([true, false]);
    areSilent = false;
    objects.subscribe(({ type, object }) => resumed().at(-1)?.event(type, object));
    send();
    await waitFor('it is fresh', () => reflector.freshness() === 0);
    expect(reflector.outage(0)).toBeUndefined();
    resumed().at(-1)!.event('ERROR', statusOf(410, 'Expired'));
    await untilFailed(3);
    await waitFor('a list', () => streams().length === 2);
  });

  it('is asked again when it ends a silent watch in order', async () => {
    await startSynced();
    silence();
    await untilListed();
    clock.advance(60_000);
    areSilent = false;
    resumed().at(-1)!.response.end();
    await untilAsked(2);
    await untilResumed(3);
    await waitFor('it is fresh', () => reflector.freshness() === 0);
    expect(reflector.outage(0)).toBeUndefined();
  });

  it('is noticed, too, where a proxy cuts each silent watch after a minute', async () => {
    await startSynced();
    silence();
    for (let minute = 1; minute <= 3; minute++) {
      clock.advance(60_000);
      resumed().at(-1)!.reset();
      await untilFailed(minute);
      if (minute < 3) await untilResumed(minute + 1);
      await settle();
    }
    await untilAsked(1);
    await settle();
    clock.advance(answerMs);
    await untilFailed(4);
    await waitFor('a list', () => pages().length === 1);
    clock.advance(30_000);
    expect(clock.monotonic()).toBeLessThan(240_000);
    expect(reflector.outage(30_000)).toContain('ERR_KUBE_TIMEOUT');
  });
});
