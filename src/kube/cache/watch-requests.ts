import { defined } from '../../api/json.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../client/client.ts';
import { type ListOptions, listQuery } from '../client/client-options.ts';
import type { ObjectEvent, WatchEvent, WatchStreamOptions } from '../client/watch-stream.ts';
import type { Clock } from '../clock.ts';
import { badAnswer, unreachable } from '../kube-error.ts';
import { isNewerVersion } from '../object.ts';
import { collectionPath } from '../resource-path.ts';
import { isAheadOfServer } from './watch-recovery.ts';

/**
 * An API server that is cut off from its etcd opens every watch and never says that it knows nothing: each one is proved by a list
 * before it, and soon comes the next.
 */
export const provenWatches = { proofTimeoutMs: 5_000, watchSeconds: [10, 20] } as const;

export type Selection = Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>;

export function selectionOf({ namespace, labelSelector, fieldSelector }: Selection): Selection {
  return defined({ namespace, labelSelector, fieldSelector });
}

/** Of a watch that the server ends after that many seconds. */
export function watchQuery(selection: Selection, seconds: number): URLSearchParams {
  const query = listQuery(selection);
  query.set('watch', 'true');
  query.set('allowWatchBookmarks', 'true');
  query.set('timeoutSeconds', String(seconds));
  return query;
}

/** Of a list that comes as a watch. */
export function isEndOfList(event: WatchEvent): event is ObjectEvent {
  return event.type === 'BOOKMARK' && event.object.metadata.annotations?.[initialEventsEnd] === 'true';
}

const initialEventsEnd = 'k8s.io/initial-events-end';

interface ProvenWatch extends Omit<WatchStreamOptions, 'clock' | 'onOpen'> {
  readonly client: Pick<KubeClient, 'overOneConnection'>;
  readonly clock: Clock;
  readonly resource: Resource;
  readonly selection: Selection;
  readonly query: URLSearchParams;
  readonly resourceVersion: string;
  /** Of the lists before it. */
  readonly timeoutMs: number;
  /** The watch is open, and brings everything that had happened by this monotonic time. */
  readonly onProof: (since: number) => void;
}

/** A watch that goes on from a resourceVersion, and shows first that its server knows everything up to now. */
export async function* provenWatch(options: ProvenWatch): AsyncGenerator<WatchEvent> {
  const { client, clock, resource, selection, query, signal, idleMs, maxLineBytes, onProof } = options;
  const path = collectionPath(resource, selection.namespace);
  const connection = client.overOneConnection();
  try {
    const began = clock.monotonic();
    await checkServer(connection, options, path);
    yield* connection.watch(path, query, { signal, idleMs, maxLineBytes, onOpen: () => onProof(began) });
  } finally {
    await connection.close();
  }
}

/**
 * An API server that is cut off from its etcd opens every watch and sends bookmarks, but no consistent list: it has to
 * ask etcd how far things are. Where only its own watch is stuck, it takes such a list from etcd. The second list comes
 * from where watches come from, and fails there until that is as new as the first.
 */
export async function checkServer(
  client: Pick<KubeClient, 'list'>,
  options: Pick<ProvenWatch, 'clock' | 'resource' | 'selection' | 'resourceVersion' | 'timeoutMs' | 'signal'>,
  path: string,
): Promise<void> {
  const { clock, resource, selection, resourceVersion, timeoutMs, signal } = options;
  const end = clock.monotonic() + timeoutMs;
  const first = { ...selection, limit: 1, signal, retries: 0 };
  const { metadata } = await client.list(resource, { ...first, timeoutMs });
  if (isNewerVersion(resourceVersion, metadata.resourceVersion))
    throw badAnswer({ verb: 'GET', path }, 'the resourceVersion went back');
  const second = { ...first, resourceVersion: metadata.resourceVersion, resourceVersionMatch } as const;
  const left = Math.max(1, end - clock.monotonic());
  await client.list(resource, { ...second, timeoutMs: left }).catch((error: unknown) => {
    throw isAheadOfServer(error) ? unreachable({ verb: 'GET', path }, new Error(behind)) : error;
  });
}

const resourceVersionMatch = 'NotOlderThan';
const behind = 'what the server watches is older than what it lists';
