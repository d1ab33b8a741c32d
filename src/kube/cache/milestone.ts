/** Something that comes about once, and that others wait for. */
export class Milestone {
  readonly #reached = Promise.withResolvers<void>();

  reach(): void {
    this.#reached.resolve();
  }

  /** Resolves when it is reached; rejects with the signal's reason. */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#reached.promise, aborted]).finally(() =>
      signal.removeEventListener('abort', onAbort),
    );
  }
}
