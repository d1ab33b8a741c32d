/** Tells what is going on now. */
export type Say = (text: string) => void;

/** Lines with the seconds since the start before them. `now` is a clock that never jumps, milliseconds. */
export function progress(write: (line: string) => void, now: () => number = () => performance.now()): Say {
  const start = now();
  return (text) => {
    const seconds = ((now() - start) / 1000).toFixed(1);
    write(`[${seconds.padStart(6)} s] ${text}`);
  };
}
