import { describe, expect, it } from 'vitest';
import { created, liveRecord, uidOf } from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { Store } from '../../kube/cache/store.ts';
import { kubeErrorFromStatus } from '../../kube/kube-error.ts';
import { silentLogger } from '../../logger.ts';
import { Activity } from './activity.ts';

const key = (name: string, spec: object = {}) =>
  liveRecord({ name, spec: { user: 'alice', key: `key-of-twenty-chars-${name}`, ...spec } });

function start(writesPerSecond = 20) {
  const clock = new FakeClock(created);
  const keys = new Store<LiveRecord>();
  const written: string[] = [];
  const versions: string[] = [];
  const failures: unknown[] = [];
  const client = {
    mergePatch: async (
      _resource: unknown,
      { name }: { name: string },
      patch: { metadata: { resourceVersion: string }; status: { lastActivity: string } },
    ) => {
      versions.push(patch.metadata.resourceVersion);
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      written.push(`${name} ${patch.status.lastActivity.slice(11, 19)}`);
    },
  };
  const activity = new Activity({
    client: client as never,
    clock,
    log: silentLogger,
    keys,
    now: () => clock.now(),
    intervalMs: 60_000,
    writesPerSecond,
  });
  const stop = new AbortController();
  const running = activity.run(stop.signal);
  const use = (record: LiveRecord) => {
    if (keys.get(record.key) === undefined) keys.upsert(record);
    activity.used(record);
  };
  const end = async () => {
    stop.abort();
    await clock.settle();
    await running;
  };
  return { clock, keys, written, versions, failures, activity, use, end };
}

const refusal = (status: number, message: string) =>
  kubeErrorFromStatus({ verb: 'PATCH', path: '/' }, status, { kind: 'Status', code: status, message });

describe('the activity of keys', () => {
  it('is written within a second of the first use, and then once an interval', async () => {
    const { clock, written, use, end } = start();
    use(key('a'));
    await clock.advanceAsync(1_000, 500);
    expect(written).toEqual(['a 10:00:00']);
    for (let second = 0; second < 60; second++) {
      use(key('a'));
      await clock.advanceAsync(1_000, 500);
    }
    expect(written).toEqual(['a 10:00:00', 'a 10:01:00']);
    await end();
  });

  it('is known at once, to this process', () => {
    const { activity, use } = start();
    use(key('a'));
    expect(activity.lastUse(uidOf('a'))).toBe(created);
    expect(activity.lastUse(uidOf('b'))).toBeUndefined();
  });

  it('stays within its budget, and the keys that would end soonest go first', async () => {
    const { clock, written, use, end, activity } = start(2);
    for (const name of ['a', 'b', 'c']) use(key(name));
    use(key('long', { ttl: 600, ttlAfterLastActivity: true }));
    use(key('short', { ttl: 60, ttlAfterLastActivity: true }));
    await clock.advanceAsync(500);
    expect(written).toEqual(['short 10:00:00']);
    await clock.advanceAsync(500);
    expect(written).toEqual(['short 10:00:00', 'long 10:00:00']);
    expect(activity.waiting).toBe(3);
    await end();
  });

  it('of very many keys is put in order in one pass', async () => {
    const { clock, written, use, end } = start(2);
    const record = key('a', { ttl: 600, ttlAfterLastActivity: true });
    let reads = 0;
    for (let count = 0; count < 100_000; count++) {
      const name = `a${count}`;
      const ttl = () => {
        reads += 1;
        return 600 + ((count * 7_919) % 100_003);
      };
      use(Object.defineProperty({ ...record, key: name, name, uid: uidOf(name) }, 'ttl', { get: ttl }));
    }
    reads = 0;
    await clock.advanceAsync(500);
    expect(reads).toBe(100_000);
    expect(written).toEqual(['a0 10:00:00']);
    await end();
  });

  it('is written more often for a key that ends soon after its last use', async () => {
    const { clock, written, use, end } = start();
    for (let second = 0; second < 20; second++) {
      use(key('a', { ttl: 20, ttlAfterLastActivity: true }));
      await clock.advanceAsync(1_000, 500);
    }
    expect(written).toEqual(['a 10:00:00', 'a 10:00:10']);
    await end();
  });

  it('is left alone when another replica was first, or the key is gone', async () => {
    const { clock, failures, use, end, activity, keys } = start();
    failures.push(
      refusal(403, 'status.lastActivity: only a later time than the recorded one may be written'),
    );
    use(key('a'));
    await clock.advanceAsync(1_000, 500);
    expect(activity.waiting).toBe(0);
    use(key('b'));
    keys.remove('b');
    expect(activity.waiting).toBe(0);
    await end();
  });

  it('is tried again after a failure', async () => {
    const { clock, failures, written, use, end } = start();
    failures.push(refusal(500, 'etcd'));
    use(key('a'));
    await clock.advanceAsync(6_500, 500);
    expect(written).toEqual(['a 10:00:00']);
    await end();
  });

  it('of a key that a policy refuses holds up no other, and goes last', async () => {
    const { clock, failures, written, versions, use, end } = start(2);
    const idle = { ttl: 600, ttlAfterLastActivity: true };
    failures.push(refusal(403, "ValidatingAdmissionPolicy 'any' denied request: status.lastActivity: no"));
    use(key('refused', idle));
    await clock.advanceAsync(500);
    for (const name of ['a', 'b']) use(key(name));
    await clock.advanceAsync(1_000, 500);
    expect(written).toEqual(['a 10:00:00', 'b 10:00:00']);
    await clock.advanceAsync(59_000, 500);
    expect([versions.length, written.length]).toEqual([4, 3]);
    await end();
  });

  it('of a key that is refused again and again is tried less and less often, at least once an hour', async () => {
    const { clock, failures, versions, use, end } = start();
    for (let refused = 0; refused < 100; refused++) failures.push(refusal(422, 'invalid'));
    use(key('a'));
    const triesIn = async (minutes: number) => {
      const before = versions.length;
      await clock.advanceAsync(minutes * 60_000, 500);
      return versions.length - before;
    };
    expect([await triesIn(10), await triesIn(110), await triesIn(180)]).toEqual([4, 3, 3]);
    await end();
  });

  it('of no key is written for a while when the account lacks the right', async () => {
    const { clock, failures, written, use, end } = start();
    failures.push(refusal(403, 'User "x" cannot patch resource "ownedaccesskeys/status"'));
    use(key('a'));
    await clock.advanceAsync(500);
    use(key('b'));
    await clock.advanceAsync(4_500, 500);
    expect(written).toEqual([]);
    await clock.advanceAsync(1_000, 500);
    expect(written).toEqual(['a 10:00:00', 'b 10:00:00']);
    await end();
  });

  it('is asked for once while the watch brings no newer version than the one that was refused', async () => {
    const { clock, keys, failures, written, versions, use, end } = start();
    for (let refused = 0; refused < 120; refused++) failures.push(refusal(409, 'modified'));
    for (let count = 0; count < 120; count++) {
      use({ ...key('a'), resourceVersion: '7' });
      await clock.advanceAsync(500, 500);
    }
    expect(versions).toEqual(['7']);
    failures.length = 0;
    keys.upsert({ ...key('a'), resourceVersion: '8' });
    await clock.advanceAsync(500, 500);
    expect([versions, written]).toEqual([['7', '8'], ['a 10:00:59']]);
    await end();
  });

  it('says which version is meant, after a conflict the next one: a patch of the status takes any UID', async () => {
    const { clock, keys, failures, written, versions, use, end } = start();
    failures.push(refusal(409, 'modified'));
    use({ ...key('a'), resourceVersion: '7' });
    await clock.advanceAsync(500, 500);
    keys.upsert({ ...key('a'), resourceVersion: '8' });
    await clock.advanceAsync(500, 500);
    expect([versions, written]).toEqual([['7', '8'], ['a 10:00:00']]);
    await end();
  });

  it('that another replica has written is not written again', async () => {
    const { clock, keys, written, activity, use, end } = start();
    use(key('a'));
    const seconds = Math.floor(created / 1_000) * 1_000;
    const record = key('a');
    keys.upsert({ ...record, resourceVersion: '8', status: { ...record.status, lastActivity: seconds } });
    await clock.advanceAsync(1_000, 500);
    expect([written, activity.waiting]).toEqual([[], 0]);
    await end();
  });

  it('of one key in use at three replicas is written once an interval', async () => {
    const clock = new FakeClock(created);
    const keys = new Store<LiveRecord>();
    keys.upsert({ ...key('a'), resourceVersion: '1' });
    const stored = () => keys.get('a') as LiveRecord;
    let asked = 0;
    // Each write comes back to all of them by the watch, before any asks again.
    const mergePatch = async (_: unknown, __: unknown, { status }: { status: { lastActivity: string } }) => {
      asked += 1;
      const lastActivity = Date.parse(status.lastActivity);
      const version = String(Number(stored().resourceVersion) + 1);
      keys.upsert({ ...stored(), resourceVersion: version, status: { ...stored().status, lastActivity } });
    };
    const shared = {
      client: { mergePatch } as never,
      clock,
      log: silentLogger,
      keys,
      now: () => clock.now(),
    };
    const replicas = [1, 2, 3].map(
      () => new Activity({ ...shared, intervalMs: 60_000, writesPerSecond: 20 }),
    );
    const stop = new AbortController();
    const running = replicas.map((replica) => replica.run(stop.signal));
    for (let second = 0; second < 600; second++)
      for (const replica of replicas) {
        replica.used(stored());
        await clock.advanceAsync(330, 330);
      }
    expect(asked).toBeGreaterThanOrEqual(9);
    expect(asked).toBeLessThanOrEqual(11);
    stop.abort();
    await clock.settle();
    await Promise.all(running);
  });

  it('is never that of another key under the same name', async () => {
    const { clock, keys, written, versions, activity, use, end } = start();
    use(key('a'));
    keys.upsert({ ...key('a'), uid: 'another', resourceVersion: '9' });
    await clock.advanceAsync(2_000, 500);
    expect([versions, written, activity.waiting]).toEqual([[], [], 0]);
    await end();
  });

  it('is that of keys alone', () => {
    const { activity } = start();
    activity.used(liveRecord({ kind: 'DirectClusterEndpointToken', spec: {} }));
    expect(activity.waiting).toBe(0);
  });
});
