import { parseJSON } from '../../api/json.ts';
import type { Clock } from '../clock.ts';
import { badAnswer, KubeError, kubeErrorFromStatus, timedOut, unreachable } from '../kube-error.ts';
import type { KubeObject } from '../object.ts';
import { IdleLimit } from './idle-limit.ts';
import { LineSplitter, LineTooLong } from './line-splitter.ts';
import { retryAfterSeconds } from './retry.ts';
import { CutForSilence, type SilenceReports } from './silence-reports.ts';
import type { StreamResponse } from './transport.ts';

export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: KubeObject;
}

export type WatchEvent = ObjectEvent | { readonly type: 'ERROR'; readonly object: unknown };

export interface WatchStreamOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Without a byte for this long the connection counts as dead. */
  readonly idleMs: number;
  /** The same until the first byte of the first event. Default: `idleMs`. */
  readonly firstEventMs?: number | undefined;
  /** A longer line ends the watch: no object is that large, so the server is broken. */
  readonly maxLineBytes: number;
  /** A watch that is silent for as long as a request to the same server waited in vain counts as dead. */
  readonly reports?: SilenceReports | undefined;
  /** The server has accepted the watch. */
  readonly onOpen?: () => void;
}

/**
 * An API server answers a request for a watch at once, long before the first event: with 429 or 503 where its cache is not ready, and after
 * 15 s where the request has waited in a queue for as long. Later than this nothing comes, milliseconds.
 */
const maxOpenMs = 30_000;

/** Opens the stream. It must end when the signal aborts. */
export type OpenStream = (signal: AbortSignal) => Promise<StreamResponse>;

/**
 * The events of one watch, each parsed when the one before has been dealt with. Ends when the server ends it; throws
 * a KubeError for a refusal, a broken connection, silence, or a line that is no event.
 */
export async function* watchEvents(
  open: OpenStream,
  path: string,
  options: WatchStreamOptions,
): AsyncGenerator<WatchEvent> {
  const { clock, signal, idleMs, reports } = options;
  signal.throwIfAborted();
  const idle = new IdleLimit(clock, Math.min(maxOpenMs, idleMs));
  const unsubscribe = reports?.subscribe(({ waitedMs }) => idle.cutIfSilentFor(waitedMs));
  const onAbort = () => idle.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    yield* eventsOf(await open(idle.signal), idle, path, options);
  } catch (error) {
    signal.throwIfAborted();
    if (idle.isCut) throw unreachable({ verb: 'WATCH', path }, new CutForSilence());
    if (idle.expired) throw timedOut({ verb: 'WATCH', path }, idle.limitMs);
    throw toKubeError(error, path);
  } finally {
    unsubscribe?.();
    signal.removeEventListener('abort', onAbort);
    idle.abort();
  }
}

async function* eventsOf(
  response: StreamResponse,
  idle: IdleLimit,
  path: string,
  { maxLineBytes, onOpen, idleMs, firstEventMs = idleMs }: WatchStreamOptions,
): AsyncGenerator<WatchEvent> {
  if (response.status !== 200) throw await refusal(response, path);
  idle.restart(firstEventMs);
  onOpen?.();
  const lines = new LineSplitter(maxLineBytes);
  for await (const chunk of response.body) {
    idle.restart(idleMs);
    for (const line of lines.push(chunk)) yield parseEvent(line, path);
  }
}

async function refusal({ status, headers, body }: StreamResponse, path: string): Promise<KubeError> {
  const action = { verb: 'WATCH', path };
  if (status < 400) return badAnswer(action, `status ${status}; redirects are not followed`, status);
  return kubeErrorFromStatus(action, status, await readStatus(body), retryAfterSeconds(headers));
}

const maxStatusBytes = 64 * 1024;

async function readStatus(body: AsyncIterable<Buffer>): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxStatusBytes) return undefined;
    chunks.push(chunk);
  }
  return parseJSON(Buffer.concat(chunks).toString('utf8'));
}

function parseEvent(line: string, path: string): WatchEvent {
  try {
    const event = JSON.parse(line);
    if (typeof event?.type === 'string' && typeof event.object === 'object' && event.object !== null)
      return event;
  } catch {
    // The parser's message quotes the line, which may be a Secret.
  }
  throw badAnswer({ verb: 'WATCH', path }, 'a line that is no event', 200);
}

function toKubeError(error: unknown, path: string): KubeError {
  const action = { verb: 'WATCH', path };
  if (error instanceof KubeError) return error;
  return error instanceof LineTooLong ? badAnswer(action, error.message, 200) : unreachable(action, error);
}
