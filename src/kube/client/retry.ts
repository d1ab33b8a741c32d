import type { IncomingHttpHeaders } from 'node:http';
import { backOffDelay } from '../back-off.ts';
import type { RawResponse } from './response-collector.ts';

/** Longer waits are the caller's: its work queue can do something else meanwhile. */
const maxWaitMs = 30_000;

/** Seconds of a Retry-After header; the API server never sends the date form. */
export function retryAfterSeconds(headers: IncomingHttpHeaders): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

/** After a 500, which an API server gives that does not get on with its etcd. It may last. */
const maxErrorRetries = 2;

interface Attempt {
  /** How often the request was sent again already. */
  readonly tries: number;
  /** A change is not repeated after a 500: etcd may have carried it out, or do so late. */
  readonly changesNothing: boolean;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * How long to wait before an overloaded, starting or ill API server is asked again, in milliseconds; `undefined` when the
 * answer is final. Jitter comes on top of what the server asked for, so that clients do not come back together.
 */
export function retryDelay(response: RawResponse, attempt: Attempt): number | undefined {
  if (!isPassing(response, attempt)) return undefined;
  const { tries, random } = attempt;
  const seconds = retryAfterSeconds(response.headers);
  if (seconds === undefined) return backOffDelay(tries, { initialMs: 200, maxMs: 5_000, random });
  const delay = seconds * 1000 * (1 + 0.25 * random());
  return delay <= maxWaitMs ? delay : undefined;
}

const isPassing = ({ status }: RawResponse, { tries, changesNothing }: Attempt): boolean =>
  status === 429 || status === 503 || (status === 500 && changesNothing && tries < maxErrorRetries);
