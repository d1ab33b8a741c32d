import type { Clock } from '../../kube/clock.ts';

/**
 * The wall clock, but never behind the time that has passed since it was made: a clock that is set back must not bring
 * ended credentials to life again.
 */
export function steadyTime(clock: Clock): () => number {
  const offset = clock.now() - clock.monotonic();
  return () => Math.max(clock.now(), offset + clock.monotonic());
}
