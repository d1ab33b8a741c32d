import { expect } from 'vitest';

export interface Served {
  /** Requests that were let through. */
  readonly count: number;
  /** Those of them that began when another one had been refused already. */
  readonly late: number;
}

const workers = 2;
const refusalsEach = 4;
const maxMs = 120_000;

/** Sends requests all the time, some at once, until each worker was refused a few times: what ends a credential ends it for all. */
export async function serveUntilRefused(send: () => Promise<number>): Promise<Served> {
  const deadline = performance.now() + maxMs;
  let refusedAt = Number.POSITIVE_INFINITY;
  const served: number[] = [];
  const isRefused = async () => {
    const began = performance.now();
    if (began > deadline) throw new Error(`no request was refused in ${maxMs} ms`);
    const status = await send();
    expect([200, 401, 403]).toContain(status);
    if (status === 200) served.push(began);
    else refusedAt = Math.min(refusedAt, performance.now());
    return status !== 200;
  };
  const work = async () => {
    for (let refusals = 0; refusals < refusalsEach; ) if (await isRefused()) refusals += 1;
  };
  await Promise.all(Array.from({ length: workers }, work));
  return { count: served.length, late: served.filter((began) => began > refusedAt).length };
}
