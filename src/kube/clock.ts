export interface Timer {
  cancel(): void;
}

/** Time as the rest of the code sees it. Instants are epoch milliseconds, spans are milliseconds. */
export interface Clock {
  /** The wall clock. It may jump; use it only for what people and other machines read. */
  now(): number;
  /** Rises steadily and never jumps; its zero has no meaning. */
  monotonic(): number;
  /** Calls back once, not before the delay. Delays above {@link maxTimerMs} fire at that limit: check and set again. */
  setTimer(callback: () => void, delayMs: number): Timer;
}

/** `setTimeout` takes 31 bits and fires at once above them. */
export const maxTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs) {
    const handle = setTimeout(callback, Math.min(Math.max(delayMs, 0), maxTimerMs));
    return { cancel: () => clearTimeout(handle) };
  },
};
