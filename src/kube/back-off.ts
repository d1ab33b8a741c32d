export interface BackOffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Default 2. */
  readonly factor?: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Growing delays for one thing that fails again and again. */
export class BackOff {
  readonly #options: BackOffOptions;
  #failures = 0;

  constructor(options: BackOffOptions) {
    this.#options = options;
  }

  /** The delay before the next try, in milliseconds. */
  next(): number {
    return backOffDelay(this.#failures++, this.#options);
  }

  /** Call after success. */
  reset(): void {
    this.#failures = 0;
  }
}

/** The delay after so many failures before this one: between half of the exponential value and all of it. */
export function backOffDelay(
  failures: number,
  { initialMs, maxMs, factor = 2, random }: BackOffOptions,
): number {
  const delay = Math.min(maxMs, initialMs * factor ** failures);
  return delay * (0.5 + 0.5 * random());
}
