import type { Clock } from './clock.ts';

/** Waits, or returns early when the signal aborts: the caller checks the signal. Never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      timer.cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.setTimer(finish, delayMs);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/** Resolves when the signal has aborted, also when that was long ago. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
