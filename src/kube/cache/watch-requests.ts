import { defined } from '../../api/json.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../client/client.ts';
import { type ListOptions, listQuery } from '../client/client-options.ts';
import type { ObjectEvent, WatchEvent, WatchStreamOptions } from '../client/watch-stream.ts';
import type { Clock } from '../clock.ts';
import { badAnswer, type KubeError, kubeErrorFromStatus, timedOut, unreachable } from '../kube-error.ts';
import { isNewerVersion } from '../object.ts';
import { collectionPath } from '../resource-path.ts';
import type { ServerState } from './freshness.ts';

/**
 * An open watch proves nothing of its events. So each one has to bring all that its server knew before it, and the bookmark
 * that an API server sends two seconds before the end is soon. A gateway refuses everyone for as long as it pauses after an outage, so
 * the pauses are short.
 */
export const provenWatches = {
  proofTimeoutMs: 5_000,
  watchSeconds: [6, 10],
  backOffMs: [200, 5_000],
} as const;

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
  /** Of the list before it. */
  readonly timeoutMs: number;
  /** The watch is open, and proves something once it has brought all up to this. */
  readonly onState: (state: ServerState) => void;
}

/**
 * A watch that goes on from a resourceVersion. Its server says first how far things are, and so learns it: in the cache that serves the
 * watch, too. An API server that is cut off from its etcd cannot say it.
 */
export async function* provenWatch(options: ProvenWatch): AsyncGenerator<WatchEvent> {
  const { client, selection, query, signal, idleMs, maxLineBytes, onState } = options;
  const path = collectionPath(options.resource, selection.namespace);
  const connection = client.overOneConnection();
  try {
    const state = await askForState(connection, options, path);
    yield* connection.watch(path, query, { signal, idleMs, maxLineBytes, onOpen: () => onState(state) });
  } finally {
    await connection.close();
  }
}

async function askForState(
  client: Pick<KubeClient, 'list'>,
  { clock, resource, selection, resourceVersion, timeoutMs, signal }: ProvenWatch,
  path: string,
): Promise<ServerState> {
  const since = clock.monotonic();
  const { metadata } = await client.list(resource, { ...selection, limit: 1, signal, retries: 0, timeoutMs });
  if (isNewerVersion(resourceVersion, metadata.resourceVersion))
    throw badAnswer({ verb: 'GET', path }, 'the resourceVersion went back');
  return { since, resourceVersion: metadata.resourceVersion };
}
