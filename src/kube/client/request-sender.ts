import { parseJSON } from '../../api/json.ts';
import { type Resource, subjectAccessReviews } from '../../api/resources.ts';
import type { Clock } from '../clock.ts';
import { badAnswer, KubeError, kubeErrorFromStatus } from '../kube-error.ts';
import { sleep } from '../sleep.ts';
import { isStatus } from '../status.ts';
import type { RequestOptions } from './client-options.ts';
import { withinJsonBounds } from './json-bounds.ts';
import type { RawResponse } from './response-collector.ts';
import { retryAfterSeconds, retryDelay } from './retry.ts';
import type { SilenceReports } from './silence-reports.ts';
import type { RequestTransport } from './transport.ts';

export interface RequestInit {
  readonly method: string;
  /** For metrics. */
  readonly resource?: Resource;
  readonly path: string;
  readonly query?: string;
  /** Sent as JSON; absent: no body. */
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  readonly maxBytes: number;
}

export interface RequestSenderOptions {
  readonly transport: RequestTransport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly writeGuard?: () => void;
  readonly timeoutMs?: number;
  readonly retries?: number;
  /**
   * A refusal that is no Status does not come from an API server, but from whatever stands in its place; and what nests
   * deeper than any object is not parsed.
   */
  readonly isUntrusted?: boolean;
  readonly observe?: (request: ObservedRequest) => void;
  readonly reports?: SilenceReports;
}

export interface ObservedRequest {
  readonly method: string;
  /** Absent for requests by path. */
  readonly resource?: Resource | undefined;
  /** 0 where no answer came. */
  readonly status: number;
  readonly durationMs: number;
}

const defaultTimeoutMs = 10_000;
const defaultRetries = 4;
/** A request that may wait for less than this tells nothing when it got no answer. */
const minSilenceMs = 1_000;

/** JSON requests with a deadline, the write guard, and retries where a repetition does no harm. */
export class RequestSender {
  readonly #options: RequestSenderOptions;

  constructor(options: RequestSenderOptions) {
    this.#options = options;
  }

  async send(init: RequestInit, options: RequestOptions): Promise<unknown> {
    const body = init.body === undefined ? undefined : JSON.stringify(init.body);
    const response = await this.#sendUntilFinal(init, body, options);
    const { isUntrusted = false } = this.#options;
    if (isUntrusted && !withinJsonBounds(response.body))
      throw badAnswer({ verb: init.method, path: init.path }, 'too many or too deep values', response.status);
    if (response.status >= 200 && response.status < 300) return parseAnswer(init, response);
    throw toKubeError(init, response, isUntrusted);
  }

  async #sendUntilFinal(
    init: RequestInit,
    body: string | undefined,
    options: RequestOptions,
  ): Promise<RawResponse> {
    const { clock, random, isUntrusted = false } = this.#options;
    // Of a server that others run each answer may be a large one.
    const changesNothing = !isUntrusted && isQuestion(init);
    const deadline = clock.monotonic() + (options.timeoutMs ?? this.#options.timeoutMs ?? defaultTimeoutMs);
    const retries = isIdempotent(init) ? (options.retries ?? this.#options.retries ?? defaultRetries) : 0;
    for (let tries = 0; ; tries++) {
      const response = await this.#sendOnce(init, body, options, deadline);
      const delay = tries < retries ? retryDelay(response, { tries, changesNothing, random }) : undefined;
      if (delay === undefined || clock.monotonic() + delay >= deadline) return response;
      await sleep(clock, delay, options.signal);
    }
  }

  async #sendOnce(
    init: RequestInit,
    body: string | undefined,
    options: RequestOptions,
    deadline: number,
  ): Promise<RawResponse> {
    const { transport, clock, observe } = this.#options;
    const { method, resource, path, query = '', contentType = 'application/json', maxBytes } = init;
    const beforeSend = this.#guardFor(method, options);
    const started = clock.monotonic();
    const timeoutMs = deadline - started;
    let status = 0;
    try {
      const { signal } = options;
      const response = await transport.send({
        ...{ method, path, query, body, contentType, timeoutMs, maxBytes, signal, beforeSend },
      });
      status = response.status;
      return response;
    } catch (error) {
      if (isTimeout(error) && timeoutMs >= minSilenceMs) this.#options.reports?.report(started);
      throw error;
    } finally {
      observe?.({ method, resource, status, durationMs: clock.monotonic() - started });
    }
  }

  /** Checked here to fail early, and by the transport at the last moment: a write may wait for a connection. */
  #guardFor(method: string, { unguarded }: RequestOptions): (() => void) | undefined {
    if (unguarded || isRead(method)) return undefined;
    this.#options.writeGuard?.();
    return this.#options.writeGuard;
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof KubeError && error.code === 'ERR_KUBE_TIMEOUT';

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** A question about rights makes nothing, although it is a POST. */
const isQuestion = ({ method, resource }: RequestInit): boolean =>
  isRead(method) || resource?.plural === subjectAccessReviews.plural;

/** A POST may make a second object, a JSON patch may add to a list twice. */
const isIdempotent = (init: RequestInit): boolean =>
  isQuestion(init) || (init.method !== 'POST' && init.contentType !== 'application/json-patch+json');

/** The parser's own message quotes what it could not read, which may be a Secret. */
function parseAnswer({ method, path }: RequestInit, { status, body }: RawResponse): unknown {
  if (body === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    throw badAnswer({ verb: method, path }, 'not JSON', status);
  }
}

function toKubeError(
  { method, path }: RequestInit,
  { status, headers, body }: RawResponse,
  isUntrusted: boolean,
): KubeError {
  const action = { verb: method, path };
  if (status < 400) return badAnswer(action, `status ${status}; redirects are not followed`, status);
  const parsed = parseJSON(body);
  if (isUntrusted && !isStatus(parsed) && !plainRefusals.has(status))
    return badAnswer(action, `status ${status} without a Status`, status);
  return kubeErrorFromStatus(action, status, parsed, retryAfterSeconds(headers));
}

/** Proxies and API servers give these without a Status too, and they mean the same. */
const plainRefusals = new Set([401, 403, 429, 502, 503, 504]);
