/** Waits until the condition holds; fails with its name after the time limit. */
export async function waitFor(what: string, holds: () => boolean, timeoutMs = 20_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Waits until a figure that may grow has stayed the same for a while. For what must come to a standstill by itself. */
export async function untilStill(what: string, read: () => number, stillMs = 100): Promise<void> {
  let [known, since] = [read(), performance.now()];
  await waitFor(`${what} to stand still`, () => {
    if (read() !== known) [known, since] = [read(), performance.now()];
    return performance.now() - since >= stillMs;
  });
}
