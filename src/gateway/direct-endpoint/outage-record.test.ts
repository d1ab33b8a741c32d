import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { DirectEndpointMetrics } from '../../telemetry/metrics/direct-endpoint.ts';
import { FollowedCredentials } from './followed-credentials.ts';
import { renderKept } from './kept-set.ts';
import { LiveSet } from './live-set.ts';
import { OutageRecord } from './outage-record.ts';
import type { KeptRight } from './space-rights.ts';

const hash = 'a'.repeat(64);
const positions = { tokens: '5', keys: '5', locks: '5' };
const start = { type: 'START', number: 1, object: { cluster: 'edge', uid: 'u1' } } as const;
const synced = { type: 'SYNCED', number: 2, object: { positions } } as const;

/** An endpoint whose earlier process kept one token, and whose own API server answers when `isThere`. */
async function setUp() {
  const clock = new FakeClock();
  const set = new LiveSet();
  const names = { uid: 'uid', name: 'ci', user: 'ann', groups: [], scopes: [] };
  set.apply(start);
  set.apply({ type: 'ADD', number: 2, object: { hash, ...names, end: clock.now() + 86_400_000 } });
  set.apply({ ...synced, number: 3 });
  const kept: readonly KeptRight[] = [{ user: 'ann', key: 'a right', at: clock.now() }];
  const rendered = await renderKept('edge', { set, proved: clock.now(), rights: kept }, clock);
  // Long enough for an outage.
  clock.advance(10_000);
  const state = { isThere: false, reads: 0, patches: 0 };
  const client = {
    get: async () => {
      state.reads += 1;
      if (!state.isThere) throw new Error('it is away');
      return { metadata: { uid: 'u', resourceVersion: '1' }, data: { set: rendered?.text } };
    },
    mergePatch: async () => {
      state.patches += 1;
    },
  } as never;
  const restored: KeptRight[] = [];
  const rights = { kept, restore: (all: readonly KeptRight[]) => void restored.push(...all) };
  const followed = new FollowedCredentials({
    ...{ cluster: 'edge', clock, withTokenIDs: false, outageMs: 3_600_000, onChange: () => undefined },
  });
  const metrics = new DirectEndpointMetrics(new Registry());
  const record = new OutageRecord({
    ...{ client, cluster: 'edge', followed, rights, metrics, clock, log: silentLogger },
  });
  const run = () => {
    const stop = new AbortController();
    const running = record.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await running;
    });
  };
  /** Each look is a second later. */
  const until = async (check: () => void) =>
    await vi.waitFor(
      async () => {
        await clock.advanceAsync(1_000);
        check();
      },
      { timeout: 60_000, interval: 10 },
    );
  return { clock, state, record, followed, restored, run, until };
}

/** One that ends before it has sent all. */
function cutStream(followed: FollowedCredentials, uid = 'u1'): void {
  followed.begin();
  followed.take({ ...start, object: { cluster: 'edge', uid } });
  followed.end();
}

describe('the set of an earlier process', () => {
  it('counts once the platform has said nothing for so long that it is away, and not before', async () => {
    const { clock, state, record, followed, restored, run } = await setUp();
    state.isThere = true;
    await record.load();
    run();
    await clock.advanceAsync(6_000, 1_000);
    expect(followed.find(hash)).toBeUndefined();
    await clock.advanceAsync(1_000);
    expect(followed.find(hash)).toBeDefined();
    expect(restored).toMatchObject([{ user: 'ann', key: 'a right' }]);
  });

  it('does not count where a stream is cut before it has sent all, and another one comes', async () => {
    const { clock, state, record, followed, run } = await setUp();
    state.isThere = true;
    await record.load();
    run();
    for (let cut = 0; cut < 5; cut += 1) {
      await clock.advanceAsync(5_000, 1_000);
      cutStream(followed);
    }
    expect(followed.find(hash)).toBeUndefined();
    await clock.advanceAsync(7_000, 1_000);
    expect(followed.find(hash)).toBeDefined();
  });

  it('never counts in a Cluster that was made again', async () => {
    const { clock, state, record, followed, run } = await setUp();
    state.isThere = true;
    await record.load();
    run();
    cutStream(followed, 'u2');
    await clock.advanceAsync(20_000, 1_000);
    expect(followed.find(hash)).toBeUndefined();
    expect(followed.problem()).toBeDefined();
  });

  it('names the last yes about each space, which counts in a later outage too, unless newer answers may be there', async () => {
    const { state, record, followed, restored } = await setUp();
    state.isThere = true;
    await record.load();
    expect(restored).toMatchObject([{ user: 'ann', key: 'a right' }]);
    followed.begin();
    followed.take(start);
    followed.take(synced);
    await record.load();
    expect(restored).toHaveLength(1);
  });

  it('is read again until the API server of the cluster is there, and then no more', async () => {
    const { state, record, followed, clock, run, until } = await setUp();
    await record.load();
    run();
    await until(() => expect(state.reads).toBeGreaterThan(2));
    state.isThere = true;
    await until(() => expect(followed.find(hash)).toBeDefined());
    const { reads } = state;
    await clock.advanceAsync(5_000, 1_000);
    expect(state.reads).toBe(reads);
  });

  it('is not read any more once a stream was accepted', async () => {
    const { state, record, followed, clock, run } = await setUp();
    await record.load();
    followed.begin();
    followed.take(start);
    followed.take(synced);
    // No proof follows, so nothing is written: that would read the Secret too.
    clock.advance(6_001);
    run();
    state.isThere = true;
    await clock.advanceAsync(5_000, 1_000);
    expect(state.reads).toBe(1);
    expect(followed.find(hash)).toBeUndefined();
  });

  it('never counts after the platform has said that there is no such Cluster', async () => {
    const { clock, state, record, followed, run } = await setUp();
    state.isThere = true;
    await record.load();
    followed.begin();
    followed.forget();
    followed.end();
    run();
    await clock.advanceAsync(10_000, 1_000);
    expect(followed.find(hash)).toBeUndefined();
    // Another Cluster has its name, and the first stream of it is cut.
    cutStream(followed, 'u2');
    await clock.advanceAsync(10_000, 1_000);
    expect(followed.find(hash)).toBeUndefined();
  });

  it('is replaced by an empty one where there is no such Cluster: a restart brings nothing back', async () => {
    const { state, record, followed, run, until } = await setUp();
    state.isThere = true;
    await record.load();
    followed.forget();
    run();
    await until(() => expect(state.patches).toBe(1));
  });
});
