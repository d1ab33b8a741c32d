type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The user ended the demo before it was ready. */
export class Interrupted extends Error {
  readonly signal: StopSignal;

  constructor(signal: StopSignal) {
    super(`ended by ${signal}`);
    this.signal = signal;
  }
}

/** One Ctrl-C arrives several times: from the terminal, from npm and from the launcher. */
const sameKeyPressMs = 1000;

/** Receives the signals that end the demo. The first asks for an orderly end; another one later ends the process at once. */
export class Interrupt {
  readonly #received = Promise.withResolvers<StopSignal>();
  #first: { readonly signal: StopSignal; readonly at: number } | undefined;

  /** `source` emits the signals; in tests another one than the process. */
  constructor(source: Pick<NodeJS.EventEmitter, 'on'> = process) {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) source.on(name, () => this.#onSignal(name));
  }

  /** Resolves with the first signal. */
  get received(): Promise<StopSignal> {
    return this.#received.promise;
  }

  /** Waits for the work. @throws Interrupted when a signal comes first; no one then waits for the work. */
  async unless<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined);
    const stop = this.received.then((name) => {
      throw new Interrupted(name);
    });
    return await Promise.race([stop, work]);
  }

  /** For work that no one waits for, before it starts anything more. @throws Interrupted after a signal. */
  check(): void {
    if (this.#first !== undefined) throw new Interrupted(this.#first.signal);
  }

  #onSignal(signal: StopSignal): void {
    this.#first ??= { signal, at: performance.now() };
    this.#received.resolve(signal);
    // The guards clean up after a process that is gone, so nothing stays behind even then.
    if (performance.now() - this.#first.at > sameKeyPressMs) process.exit(1);
  }
}
