import { BackOff } from '../back-off.ts';
import type { Clock } from '../clock.ts';

/** How long lists come page by page after one that was asked for as a stream did not come; longer each time, milliseconds. */
const pauseMs = { initialMs: 600_000, maxMs: 86_400_000 };

/** Whether a list is asked for as a stream. A server that knows none may be upgraded, and one that was ill recovers. */
export class StreamedLists {
  readonly #clock: Clock;
  readonly #pauses = new BackOff({ ...pauseMs, random: () => 1 });
  #from = Number.NEGATIVE_INFINITY;
  #isStreamed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the list that begins now is asked for as a stream. */
  begin(): boolean {
    this.#isStreamed = this.#clock.monotonic() >= this.#from;
    return this.#isStreamed;
  }

  /** The list that began last was refused, or did not come. One of pages says nothing of streams. */
  failed(): void {
    if (!this.#isStreamed) return;
    this.#isStreamed = false;
    this.#from = this.#clock.monotonic() + this.#pauses.next();
  }

  /** One has come. */
  succeeded(): void {
    this.#pauses.reset();
  }
}
