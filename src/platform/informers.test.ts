import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { configMaps, namespaces, type Resource, secrets } from '../api/resources.ts';
import { Store, type StoredRecord } from '../kube/cache/store.ts';
import type { WatchEvent } from '../kube/client/watch-stream.ts';
import { kubeErrorFromStatus } from '../kube/kube-error.ts';
import { type KubeObject, keyOf } from '../kube/object.ts';
import { silentLogger } from '../logger.ts';
import { type InformerSource, Informers } from './informers.ts';

const meta = (name: string) => ({ name, namespace: 'default', uid: `uid-of-${name}`, resourceVersion: '1' });
const added = (name: string) => ({ type: 'ADDED', object: { metadata: meta(name) } }) as WatchEvent;
const endOfList = {
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } },
} as unknown as WatchEvent;

let hasNamespaces = false;

beforeEach(() => {
  hasNamespaces = false;
});

/** An API server that shows two ConfigMaps, keeps silent about Secrets, and knows no Namespaces. */
const client = {
  list: () => Promise.reject(new Error('streaming lists are used')),
  /** Cut off from its etcd: it gives no list. */
  overOneConnection: () => ({
    list: (_resource: Resource, { signal }: { signal: AbortSignal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    close: async () => undefined,
  }),
  async *watch(path: string, query: URLSearchParams, { signal }: { signal: AbortSignal }) {
    if (path.endsWith('namespaces') && !hasNamespaces)
      throw kubeErrorFromStatus({ verb: 'WATCH', path }, 404, {});
    if (/(configmaps|namespaces)$/.test(path) && query.get('sendInitialEvents') === 'true')
      yield* [added('a'), added('b'), endOfList];
    else await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  },
};

const toRecord = ({ metadata }: KubeObject): StoredRecord => ({
  key: keyOf(metadata),
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
});

function start(...resources: Resource[]) {
  return startWith({}, ...resources);
}

type Options = Pick<InformerSource<StoredRecord>, 'proofTimeoutMs' | 'mayBeUnserved'>;

function startWith(options: Options, ...resources: Resource[]) {
  const clock = new FakeClock();
  const read = new Map<string, { objects: () => number; freshness: () => number }>();
  const informers = new Informers({
    client: client as never,
    clock,
    random: () => 0.5,
    log: silentLogger,
    metricsOf: (name) => ({
      restarted: () => undefined,
      read: (objects, freshness) => void read.set(name, { objects, freshness }),
    }),
  });
  for (const resource of resources)
    informers.add(resource.plural, { ...options, resource, store: new Store(), toRecord });
  const stop = new AbortController();
  const running = informers.run(stop.signal);
  return { clock, informers, read, stop, running };
}

describe('Informers', () => {
  it('fill their stores, and report how much is in them and how fresh it is', async () => {
    const { clock, informers, read, stop, running } = start(configMaps);
    await informers.synced(stop.signal);
    clock.advance(3_000);
    expect(read.get('configmaps')?.objects()).toBe(2);
    expect(read.get('configmaps')?.freshness()).toBe(3);
    expect([informers.unsynced(), informers.stale(60_000)]).toEqual([undefined, undefined]);
    stop.abort();
    await running;
  });

  it('say which of them has not read everything yet', async () => {
    const { clock, informers, stop, running } = start(configMaps, secrets);
    expect(informers.unsynced()).toBe('not synced: configmaps, secrets');
    await clock.settle();
    expect(informers.unsynced()).toBe('not synced: secrets');
    stop.abort(new Error('stopped'));
    await expect(informers.synced(stop.signal)).rejects.toThrow('stopped');
    await running;
  });

  it('say which of them has had no news for too long, but only of those that had some', async () => {
    const { clock, informers, stop, running } = start(configMaps, secrets);
    await clock.settle();
    clock.advance(60_001);
    expect(informers.stale(60_000)).toBe('stale: configmaps');
    expect(informers.stale(60_001)).toBeUndefined();
    stop.abort();
    await running;
  });

  it('say which of them could not be watched for too long, and why', async () => {
    const { clock, informers, stop, running } = start(configMaps, namespaces);
    await clock.settle();
    expect(informers.failing(30_000)).toBeUndefined();
    await clock.advanceAsync(31_000, 500);
    expect(informers.failing(30_000)).toBe('failing: namespaces for 31 s (404 NotFound)');
    stop.abort();
    await running;
  });

  it('wait for a kind whose definition is missing, and say when it is there', async () => {
    const { clock, informers, stop, running } = startWith({ mayBeUnserved: true }, configMaps, namespaces);
    await informers.answered(stop.signal);
    expect(informers.unsynced()).toBe('not synced: namespaces');
    const late: string[] = [];
    const following = informers.followUnsynced((name) => void late.push(name), stop.signal);
    await clock.advanceAsync(31_000, 500);
    expect(late).toEqual([]);
    hasNamespaces = true;
    await clock.advanceAsync(31_000, 500);
    await following;
    expect([late, informers.unsynced()]).toEqual([['namespaces'], undefined]);
    stop.abort();
    await running;
  });

  it('do nothing before every kind is known that cannot be missing', async () => {
    const { clock, informers, stop, running } = start(configMaps, namespaces);
    let hasAnswered = false;
    const answered = informers.answered(stop.signal).then(() => {
      hasAnswered = true;
    });
    await clock.advanceAsync(31_000, 500);
    expect(hasAnswered).toBe(false);
    hasNamespaces = true;
    await clock.advanceAsync(31_000, 500);
    await answered;
    stop.abort();
    await running;
  });

  it('ask for proof where a source says so, and age without it', async () => {
    const { clock, informers, stop, running } = startWith({ proofTimeoutMs: 1_000 }, configMaps);
    clock.advance(2_000);
    await informers.synced(stop.signal);
    clock.advance(3_000);
    await clock.settle();
    expect(informers.stale(4_999)).toBe('stale: configmaps');
    stop.abort();
    await running;
  });
});
