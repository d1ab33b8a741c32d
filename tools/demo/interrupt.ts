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

/** Hears the signals that end the demo. The first asks for an orderly end; another one later ends the process at once. */
export class Interrupt {
  readonly #received = Promise.withResolvers<StopSignal>();
  #at: number | undefined;

  constructor() {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => this.#hear(name));
  }

  /** Resolves with the first signal. */
  get received(): Promise<StopSignal> {
    return this.#received.promise;
  }

  /** Waits for the work. @throws Interrupted when a signal comes first; the work then goes on unheard. */
  async unless<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined);
    const stop = this.received.then((name) => {
      throw new Interrupted(name);
    });
    return await Promise.race([stop, work]);
  }

  #hear(name: StopSignal): void {
    this.#at ??= performance.now();
    this.#received.resolve(name);
    // The guards clean up after a process that is gone, so nothing stays behind even then.
    if (performance.now() - this.#at > sameKeyPressMs) process.exit(1);
  }
}
