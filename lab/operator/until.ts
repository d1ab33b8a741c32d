import { setTimeout as delay } from 'node:timers/promises';

export interface UntilOptions {
  /** Default: 60 000, as a busy machine is ten times slower than an idle one. */
  readonly timeoutMs?: number;
  /** Pause between two looks; default: 40. */
  readonly everyMs?: number;
}

/**
 * Looks again and again until `look` finds something, and resolves with it. @throws Error with `what` and the last thing
 * that `look` threw, or that `seen` told, when the time is up.
 */
export async function until<Found>(
  what: string,
  look: () => Promise<Found | undefined | false>,
  options: UntilOptions & { readonly seen?: () => unknown } = {},
): Promise<Found> {
  const { timeoutMs = 60_000, everyMs = 40, seen } = options;
  const deadline = performance.now() + timeoutMs;
  let failure: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) {
      const last = failure instanceof Error ? failure.message : JSON.stringify(seen?.());
      throw new Error(`waited ${timeoutMs} ms in vain: ${what}; last: ${last}`, { cause: failure });
    }
    await delay(everyMs);
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
  await until(what, lookOnce, options);
  return last - start;
}
