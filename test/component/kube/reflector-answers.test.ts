import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { statusOf } from '../../fakes/exchange.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { backOffMs, isResumed, ReflectorStage } from './reflector-stage.ts';

let stage: ReflectorStage;
let abort: AbortController;
beforeEach(async () => {
  stage = await ReflectorStage.open({});
  abort = new AbortController();
});
afterEach(async () => {
  abort.abort();
  await stage.close();
});

const lists = () =>
  stage.requests(
    ({ isWatch, query }) => !isWatch || (query.has('sendInitialEvents') && !query.has('labelSelector')),
  );
const startSynced = async () => {
  stage.start();
  await stage.untilResumed(1);
};
/** Lets the pauses between tries pass until so many of them have failed. */
const untilFailures = (count: number) =>
  waitFor(`failure ${count}`, () => {
    if (stage.logged.length < count) stage.clock.advance(backOffMs);
    return stage.logged.length >= count;
  });

describe('a kind that the server does not know', () => {
  const refuseAll = (status: number, isOver: () => boolean = () => false) =>
    stage.server.script((exchange) => {
      if (isOver()) return false;
      exchange.answer(status, '404 page not found\n', { 'content-type': 'text/plain' });
      return true;
    });

  it('is told from one without objects until it is known and listed', async () => {
    let isDefined = false;
    refuseAll(404, () => isDefined);
    stage.put('a');
    stage.start();
    await stage.reflector.answered(abort.signal);
    expect([stage.store.isUnserved, stage.reflector.hasSynced()]).toEqual([true, false]);
    stage.server.once(
      () => isDefined,
      (exchange) => {
        exchange.open();
        exchange.event('ADDED', { metadata: { name: 'a', uid: '1', resourceVersion: '1' } });
      },
    );
    isDefined = true;
    await stage.untilFailed(1);
    await waitFor('the beginning of a list', () => stage.store.size === 1);
    expect(stage.store.isUnserved).toBe(true);
    stage.server.exchanges.at(-1)!.reset();
    await stage.untilFailed(2);
    await stage.reflector.synced(abort.signal);
    expect([stage.store.isUnserved, stage.store.size]).toEqual([false, 1]);
  });

  it.each([401, 403, 500, 503])('is not one whose list is answered with %i', async (status) => {
    let hasAnswered = false;
    refuseAll(status);
    stage.start();
    stage.reflector.answered(abort.signal).then(
      () => {
        hasAnswered = true;
      },
      () => undefined,
    );
    await untilFailures(3);
    expect([hasAnswered, stage.store.isUnserved]).toEqual([false, false]);
  });

  it('is not one that was listed before: what went was told by the watch', async () => {
    stage.put('a');
    await startSynced();
    refuseAll(404);
    stage.present.reset();
    await untilFailures(3);
    expect([stage.store.isUnserved, stage.store.size]).toEqual([false, 1]);
  });
});

describe('a request that is lost', () => {
  it('for a watch, is sent again after 30 s, from the same place', async () => {
    await startSynced();
    stage.server.once(isResumed, () => undefined);
    stage.put('a');
    await waitFor('an event', () => stage.store.size === 1);
    stage.present.reset();
    await stage.untilFailed(1);
    await stage.untilResumed(2);
    stage.clock.advance(29_999);
    await stage.clock.settle();
    expect(stage.logged.length).toBe(1);
    stage.clock.advance(1);
    await stage.untilFailed(2);
    expect(stage.logged[1]).toContain('no answer to WATCH /api/v1/configmaps within 30000 ms');
    await stage.untilResumed(3);
    expect([lists().length, stage.present.query.get('resourceVersion')]).toEqual([1, '101']);
    stage.put('b');
    await waitFor('the object', () => stage.store.size === 2);
  });

  it('for a list as a stream, has lists come page by page for ten minutes only', async () => {
    stage.server.once(
      ({ isWatch }) => isWatch,
      () => undefined,
    );
    stage.start();
    const bookmark = async (version: string) => {
      stage.present.bookmark(version);
      await waitFor('the bookmark', () => stage.reflector.position() === version);
    };
    const untilWatched = async (count: number) => {
      await stage.untilResumed(count);
      await bookmark(`${count}00`);
    };
    const relist = async (count: number) => {
      stage.present.event('ERROR', statusOf(410, 'Expired'));
      await stage.untilFailed(count);
      await untilWatched(count);
    };
    await waitFor('the request that is lost', () => lists().length === 1);
    stage.clock.advance(30_000);
    await stage.untilFailed(1);
    await untilWatched(1);
    await relist(2);
    expect(lists().map(({ isWatch }) => isWatch)).toEqual([true, false, false]);
    for (let minutes = 0; minutes < 10; minutes++) {
      stage.clock.advance(60_000);
      await bookmark(String(1_000 + minutes));
    }
    await relist(3);
    expect(lists().map(({ isWatch }) => isWatch)).toEqual([true, false, false, true]);
  });
});
