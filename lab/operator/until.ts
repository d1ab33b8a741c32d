import { setTimeout as delay } from 'node:timers/promises';

export interface UntilOptions {
  /** Default: 60 000, as a busy machine is ten times slower than an idle one. */
  readonly timeoutMs?: number;
  /** Pause between two looks. Default: 40, and a tenth of the time waited so far, which is up to 500, where that is more. */
  readonly everyMs?: number;
}

const minPauseMs = 40;
/** Each look costs an API server some milliseconds of the processor, and many tests wait at the same time. */
const maxPauseMs = 500;

/**
 * Looks again and again until `look` finds something, and resolves with it. @throws Error with `what` and the last thing
 * that `look` threw, or that `seen` told, when the time is up.
 */
export async function until<Found>(
  what: string,
  look: () => Promise<Found | undefined | false>,
  options: UntilOptions & { readonly seen?: () => unknown } = {},
): Promise<Found> {
  const { timeoutMs = 60_000, everyMs, seen } = options;
  const start = performance.now();
  let failure: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    const waited = performance.now() - start;
    if (waited > timeoutMs) {
      const last = failure instanceof Error ? failure.message : JSON.stringify(seen?.());
      throw new Error(`waited ${timeoutMs} ms in vain: ${what}; last: ${last}`, { cause: failure });
    }
    await delay(everyMs ?? Math.min(Math.max(minPauseMs, waited / 10), maxPauseMs));
  }
}

/**
 * Waits like `until`, and resolves with how many milliseconds it took for certain: up to the start of the last look that found
 * nothing. So it does not count when this process was late itself, as on a busy machine.
 */
export async function timeUntil(
  what: string,
  look: () => Promise<unknown>,
  options: UntilOptions & { readonly seen?: () => unknown } = {},
): Promise<number> {
  const start = performance.now();
  let last = start;
  const lookOnce = async () => {
    const at = performance.now();
    if (await look()) return true;
    last = at;
    return false;
  };
  await until(what, lookOnce, { everyMs: minPauseMs, ...options });
  return last - start;
}

/**
 * Measures again where a round took `limitMs` or longer: other work on the machine makes a round slower, and never faster. Resolves with
 * the least of the rounds.
 */
export async function leastMs(limitMs: number, round: () => Promise<number>, maxRounds = 5): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < maxRounds && least >= limitMs; count += 1)
    least = Math.min(least, await round());
  return least;
}
