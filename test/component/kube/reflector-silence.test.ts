import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReflectorOptions } from '../../../src/kube/cache/reflector-options.ts';
import type { StoredRecord } from '../../../src/kube/cache/store.ts';
import { type Exchange, statusOf } from '../../fakes/exchange.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { backOffMs, ReflectorStage } from './reflector-stage.ts';

let stage: ReflectorStage;
let areSilent: boolean;

/** A watch without a byte for this long has failed; so has the question that follows, when it stays without an answer. */
const [idleMs, answerMs] = [130_000, 15_000];

beforeEach(async () => {
  stage = await ReflectorStage.open({});
  areSilent = false;
});
afterEach(async () => await stage.close());

const isQuestion = ({ query }: Exchange) => query.get('labelSelector')?.endsWith('nothing,!nothing') === true;
const questions = () => stage.requests(isQuestion);
const pages = () => stage.requests(({ isWatch }) => !isWatch);
const streams = () =>
  stage.server.watches.filter((exchange) => !isQuestion(exchange) && exchange.query.has('sendInitialEvents'));
const untilAsked = (count: number) => waitFor(`question ${count}`, () => questions().length === count);

const startSynced = async (options: Partial<ReflectorOptions<StoredRecord>> = {}) => {
  stage.start(options);
  await stage.untilResumed(1);
  stage.put('gone');
  await waitFor('the watch brings an object', () => stage.store.size === 1);
  stage.objects.remove('gone');
  await waitFor('the watch brings its end', () => stage.store.size === 0);
};

/** From now on the server opens each watch and never sends anything. */
const silence = () => {
  areSilent = true;
  stage.server.script((exchange) => {
    if (!areSilent || !exchange.isWatch) return false;
    exchange.open();
    return true;
  });
};
/** The present watch fails for silence, and so does the question. */
const untilListed = async () => {
  stage.clock.advance(idleMs);
  await stage.untilFailed(1);
  await untilAsked(1);
  await stage.untilOpen();
  stage.clock.advance(answerMs);
  await stage.untilFailed(2);
  await stage.untilResumed(2);
  await stage.untilOpen();
};

describe('a watch that fell silent on a server that sends when it is asked', () => {
  it('goes on from where it was, and counts as fresh again, without another list', async () => {
    await startSynced({ labelSelector: 'a=b', fieldSelector: 'c=d' });
    stage.clock.advance(idleMs);
    await stage.untilFailed(1);
    await stage.untilResumed(2);
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
    await waitFor('it is fresh', () => stage.reflector.freshness() === 0);
    expect([streams().length, pages().length, stage.reflector.outage(0)]).toEqual([1, 0, undefined]);
    stage.put('a');
    await waitFor('the object', () => stage.store.size === 1);
  });

  it('is asked about once for each silence, and not listed, when nothing happens for an hour', async () => {
    await startSynced();
    for (let watches = 1; watches <= 27; watches++) {
      stage.clock.advance(idleMs);
      await stage.untilFailed(watches);
      await stage.untilResumed(watches + 1);
      await waitFor('it is fresh', () => stage.reflector.freshness() === 0);
    }
    expect([questions().length, streams().length, pages().length]).toEqual([27, 1, 0]);
  });

  it('is asked about until the server can be reached again, and is not listed', async () => {
    await startSynced();
    await stage.server.stop();
    await stage.untilFailed(1);
    stage.clock.advance(idleMs);
    for (let failures = 2; failures <= 5; failures++) await stage.untilFailed(failures);
    await stage.untilLogged(6);
    await stage.server.listen();
    stage.clock.advance(backOffMs);
    await stage.untilResumed(2);
    expect([questions().length, streams().length, pages().length]).toEqual([1, 1, 0]);
    await waitFor('the outage is over', () => stage.reflector.outage(0) === undefined);
  });
});

describe('a server that opens watches and sends nothing in them', () => {
  it('is noticed although each watch opens, before 240 s have passed', async () => {
    await startSynced();
    silence();
    stage.put('a');
    await waitFor('the last event', () => stage.store.size === 1);
    await untilListed();
    stage.clock.advance(30_000);
    expect(stage.clock.monotonic()).toBeLessThan(240_000);
    expect(stage.reflector.outage(30_000)).toMatch(/^for \d+ s \(ERR_KUBE_TIMEOUT\)$/);
    expect(stage.reflector.freshness()).toBeGreaterThan(idleMs + answerMs);
  });

  it('is listed page by page, and again after each watch that stays silent', async () => {
    await startSynced();
    silence();
    await untilListed();
    expect(pages().length).toBe(1);
    stage.put('a');
    stage.clock.advance(idleMs);
    await stage.untilFailed(3);
    await untilAsked(2);
    await stage.untilOpen();
    stage.clock.advance(answerMs);
    await stage.untilFailed(4);
    await waitFor('the object, by a list', () => stage.store.size === 1);
    expect(pages().length).toBe(2);
    expect(stage.reflector.freshness()).toBeGreaterThan(2 * idleMs);
  });

  it.each([
    ['an object', () => void stage.put('a')],
    ['a bookmark', () => stage.present.bookmark('900')],
  ])('is fine again once a watch brings %s, and lists come as streams again', async (_what, send) => {
    await startSynced();
    silence();
    await untilListed();
    expect([stage.reflector.freshness() > 0, stage.reflector.outage(0) === undefined]).toEqual([true, false]);
    areSilent = false;
    stage.objects.subscribe(({ type, object }) => stage.present.event(type, object));
    send();
    await waitFor('it is fresh', () => stage.reflector.freshness() === 0);
    expect(stage.reflector.outage(0)).toBeUndefined();
    stage.present.event('ERROR', statusOf(410, 'Expired'));
    await stage.untilFailed(3);
    await waitFor('a list', () => streams().length === 2);
  });

  it('is asked again when it ends a silent watch in order', async () => {
    await startSynced();
    silence();
    await untilListed();
    stage.clock.advance(60_000);
    areSilent = false;
    stage.present.response.end();
    await untilAsked(2);
    await stage.untilResumed(3);
    await waitFor('it is fresh', () => stage.reflector.freshness() === 0);
    expect(stage.reflector.outage(0)).toBeUndefined();
  });

  it('is noticed, too, where a proxy cuts each silent watch after a minute', async () => {
    await startSynced();
    silence();
    for (let minute = 1; minute <= 3; minute++) {
      stage.clock.advance(60_000);
      stage.present.reset();
      await stage.untilFailed(minute);
      if (minute < 3) await stage.untilResumed(minute + 1);
      await stage.untilOpen();
    }
    await untilAsked(1);
    await stage.untilOpen();
    stage.clock.advance(answerMs);
    await stage.untilFailed(4);
    await waitFor('a list', () => pages().length === 1);
    stage.clock.advance(30_000);
    expect(stage.clock.monotonic()).toBeLessThan(240_000);
    expect(stage.reflector.outage(30_000)).toContain('ERR_KUBE_TIMEOUT');
  });

  it('is listed page by page within half a minute when a process starts', async () => {
    silence();
    stage.put('a');
    stage.start();
    await waitFor('a list', () => streams().length === 1);
    const failed = () => {
      stage.clock.advance(100);
      return stage.logged.length === 1;
    };
    await waitFor('it does not come', failed);
    stage.clock.advance(backOffMs);
    await waitFor('the page', () => stage.reflector.hasSynced());
    expect([stage.store.size, pages().length]).toEqual([1, 1]);
    expect(stage.clock.monotonic()).toBeLessThanOrEqual(31_000);
  });
});
