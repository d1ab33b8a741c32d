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

/**
 * How long to wait before an overloaded or starting API server is asked again, in milliseconds; `undefined` when the
 * answer is final. Jitter comes on top of what the server asked for, so that clients do not come back together.
 */
export function retryDelay(response: RawResponse, tries: number, random: () => number): number | undefined {
  if (response.status !== 429 && response.status !== 503) return undefined;
  const seconds = retryAfterSeconds(response.headers);
  if (seconds === undefined) return backOffDelay(tries, { initialMs: 200, maxMs: 5_000, random });
  const delay = seconds * 1000 * (1 + 0.25 * random());
  return delay <= maxWaitMs ? delay : undefined;
}
