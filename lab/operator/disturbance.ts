import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** The fate of a request at an API server in trouble. */
export interface Disturbance {
  /** It goes on only after so many milliseconds. */
  readonly delayMs?: number;
  /** It is answered with this status and goes no further. */
  readonly status?: number;
  /** Of that answer; default: a Status of Kubernetes with this code. */
  readonly body?: string;
  /** Of that answer; its type is JSON by default. */
  readonly headers?: Readonly<Record<string, string>>;
  /** It is never answered and goes no further. */
  readonly isLost?: boolean;
}

/** Method and target of a request, as in `GET /api/v1/secrets?watch=true`. */
export type Disturb = (request: string) => Disturbance | undefined;

/** Meets this share of the requests, evenly: of 0.25 every fourth. Of several disturbances each comes in turn. */
export function byShare(share: number, ...disturbances: readonly Disturbance[]): Disturb {
  let due = 0;
  let met = 0;
  return () => {
    due += share;
    if (due < 1) return undefined;
    due -= 1;
    return disturbances[met++ % disturbances.length];
  };
}

/** Resolves with whether the request goes on. */
export async function passes(
  disturbance: Disturbance,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<boolean> {
  const { delayMs = 0, status, headers, isLost = false } = disturbance;
  if (delayMs > 0) await delay(delayMs);
  if (isLost || status !== undefined) incoming.resume();
  if (status !== undefined && !isLost)
    outgoing
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(disturbance.body ?? refusalOf(status));
  return !isLost && status === undefined;
}

const refusalOf = (code: number): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'disturbed', code });
