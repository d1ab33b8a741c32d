import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { WatchEvent } from '../../kube/client/watch-stream.ts';
import { silentLogger } from '../../logger.ts';
import { CredentialIndex } from './credential-index.ts';
import { TargetRecords } from './target-records.ts';

const endOfList = {
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } },
} as unknown as WatchEvent;

/** An API server that has nothing, and keeps silent about locks until it is told. */
function startIndex() {
  const clock = new FakeClock();
  const speaks = Promise.withResolvers<void>();
  const untilAborted = (signal: AbortSignal) =>
    new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  const client = {
    list: () => Promise.reject(new Error('streaming lists are used')),
    overOneConnection: () => ({
      list: async (_: unknown, { signal }: { signal: AbortSignal }) => {
        await untilAborted(signal);
        throw signal.reason;
      },
      close: async () => undefined,
    }),
    async *watch(path: string, query: URLSearchParams, { signal }: { signal: AbortSignal }) {
      if (path.endsWith('credentiallocks')) await Promise.race([speaks.promise, untilAborted(signal)]);
      if (query.get('sendInitialEvents') === 'true' && !signal.aborted) yield endOfList;
      await untilAborted(signal);
    },
  };
  const index = new CredentialIndex({
    client: client as never,
    ...{ clock, random: () => 0.5, log: silentLogger },
    metricsOf: () => ({ restarted: () => undefined, read: () => undefined }),
    activityClient: { mergePatch: async () => undefined as never },
    ...{ activityIntervalMs: 60_000, activityWritesPerSecond: 1, projectNamespacePrefix: 'p-' },
    ...{ staleAfterMs: 45_000, onDropped: () => undefined, targets: new TargetRecords('p-') },
  });
  const stop = new AbortController();
  const running = index.run(stop.signal);
  const look = async () => {
    await clock.settle();
    clock.advance(250);
    return index.problem();
  };
  const end = async () => {
    stop.abort();
    await running;
  };
  return { look, speak: () => speaks.resolve(), end };
}

it('no credential is judged before the locks are read, though everything else is', async () => {
  const { look, speak, end } = startIndex();
  expect(await look()).toBe('not synced: credentiallocks');
  speak();
  expect(await look()).toBeUndefined();
  await end();
});
