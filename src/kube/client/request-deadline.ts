import type { Clock, Timer } from '../clock.ts';

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Absent: only the signal ends it. */
  readonly limit?: { readonly ms: number; readonly reason: () => unknown };
}

/** The one end of a whole request, authentication included: its time is up, or its caller gave it up. */
export class RequestDeadline {
  readonly #timer: Timer | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #ended = Promise.withResolvers<never>();
  #reason: { readonly value: unknown } | undefined;
  /** The work that ends with it at the moment. */
  onEnd: ((reason: unknown) => void) | undefined;

  constructor({ clock, signal, limit }: DeadlineOptions) {
    this.#ended.promise.catch(() => undefined);
    this.#signal = signal;
    if (limit !== undefined) this.#timer = clock.setTimer(() => this.#end(limit.reason()), limit.ms);
    if (signal?.aborted) this.#end(signal.reason);
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  throwIfEnded(): void {
    if (this.#reason !== undefined) throw this.#reason.value;
  }

  /** Rejects with the reason where the deadline comes first. */
  async before<T>(work: T | Promise<T>): Promise<T> {
    this.throwIfEnded();
    return work instanceof Promise ? await Promise.race([work, this.#ended.promise]) : work;
  }

  /** The request is over. */
  clear(): void {
    this.onEnd = undefined;
    this.#timer?.cancel();
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#end(this.#signal?.reason);

  #end(reason: unknown): void {
    this.#reason ??= { value: reason };
    this.#ended.reject(reason);
    this.onEnd?.(reason);
  }
}
