import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';

export interface Served {
  /** Requests that were let through. */
  readonly count: number;
  /** Requests that began when another one had been refused already. */
  readonly late: number;
}

const workers = 2;
const servedAtFirst = 10;
const refusalsEach = 4;
const maxMs = 120_000;
/** After each request of a worker: a gateway that serves for half a minute need not serve without a pause. */
const paceMs = 20;

/**
 * Sends requests all the time, some at once, until each worker was refused a few times: what ends a credential ends it for all.
 * `change` is called while they are let through.
 */
export async function serveUntilRefused(
  send: () => Promise<number>,
  change: () => Promise<unknown>,
  refusals: readonly number[] = [401, 403],
): Promise<Served> {
  const deadline = performance.now() + maxMs;
  const underway = Promise.withResolvers<void>();
  const served: number[] = [];
  let refusedAt = Number.POSITIVE_INFINITY;
  const isRefused = async () => {
    const began = performance.now();
    if (began > deadline) throw new Error(`no request was refused in ${maxMs} ms`);
    // A request under way is cut.
    const status = await send().catch(() => 'cut');
    expect([200, ...refusals, 'cut']).toContain(status);
    if (status === 200) served.push(began);
    else refusedAt = Math.min(refusedAt, performance.now());
    if (served.length >= servedAtFirst) underway.resolve();
    return status !== 200;
  };
  const work = async () => {
    for (let count = 0; count < refusalsEach; ) {
      if (await isRefused()) count += 1;
      await delay(paceMs);
    }
  };
  const all = Promise.all(Array.from({ length: workers }, work));
  await Promise.all([all, Promise.race([underway.promise, all]).then(change)]);
  return { count: served.length, late: served.filter((began) => began > refusedAt).length };
}
