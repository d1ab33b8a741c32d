import { defined } from '../../api/json.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../client/client.ts';
import { type ListOptions, listQuery } from '../client/client-options.ts';
import type { ObjectEvent, WatchEvent, WatchStreamOptions } from '../client/watch-stream.ts';
import type { Clock } from '../clock.ts';
import { badAnswer, type KubeError, kubeErrorFromStatus, timedOut, unreachable } from '../kube-error.ts';
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

/** Lists have no bookmarks on the way, milliseconds. */
export const listIdleMs = 60_000;

/** A server that stops ends its streams early; one that ends them late never meant to send a list. */
export function incompleteList(path: string, lastedMs: number): KubeError {
  const action = { verb: 'WATCH', path };
  if (lastedMs >= listIdleMs) return timedOut(action, Math.round(lastedMs));
  return unreachable(action, new Error('the list ended before it was complete'));
}

const initialEventsEnd = 'k8s.io/initial-events-end';

/** Of a watch that begins with everything that there is. */
export function streamedListQuery(selection: Selection, seconds: number): URLSearchParams {
  const query = watchQuery(selection, seconds);
  query.set('sendInitialEvents', 'true');
  query.set('resourceVersionMatch', 'NotOlderThan');
  return query;
}

/** A server whose watches bring anything answers at once, however little happens: within this, milliseconds. */
export const answerMs = 15_000;
/** The server ends it later, so that silence is not taken for an answer. */
const answerSeconds = 60;
/** No object is selected by it. */
const nothing = 'nothing,!nothing';

/**
 * Has a list of nothing sent as a watch. Its end comes at once where watches bring anything, and makes a server whose etcd tells it
 * seldom how far things are send bookmarks again. Throws where nothing comes.
 */
export async function askForBytes(
  client: Pick<KubeClient, 'watch'>,
  options: Pick<ProvenWatch, 'selection' | 'signal' | 'idleMs' | 'maxLineBytes'>,
  path: string,
): Promise<void> {
  const { selection, signal, maxLineBytes } = options;
  const idleMs = Math.min(answerMs, options.idleMs);
  const labelSelector = selection.labelSelector ? `${selection.labelSelector},${nothing}` : nothing;
  const query = streamedListQuery({ ...selection, labelSelector }, answerSeconds);
  for await (const event of client.watch(path, query, { signal, idleMs, maxLineBytes })) {
    if (event.type === 'ERROR') throw kubeErrorFromStatus({ verb: 'WATCH', path }, 200, event.object);
    if (isEndOfList(event)) return;
  }
  throw unreachable({ verb: 'WATCH', path }, new Error('the list ended before it was complete'));
}

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
