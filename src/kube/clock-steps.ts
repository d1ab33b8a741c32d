import type { Clock } from './clock.ts';
import { sleep } from './sleep.ts';

const checkEveryMs = 1_000;
/** Less may be the clock's daily work: two that drift apart, or one that is corrected slowly. */
const minStepMs = 2_000;

/**
 * Calls back after the wall clock was set, or stood apart from the monotonic one because the machine slept. Timers count
 * on the monotonic clock, so what waits for a wall time comes too late or too early by as much. Until the signal aborts.
 */
export async function followClockSteps(
  clock: Clock,
  onStep: (stepMs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const difference = () => clock.now() - clock.monotonic();
  let known = difference();
  while (!signal.aborted) {
    await sleep(clock, checkEveryMs, signal);
    const step = difference() - known;
    if (signal.aborted || Math.abs(step) < minStepMs) continue;
    known += step;
    onStep(Math.round(step));
  }
}
