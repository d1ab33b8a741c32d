import { BackOff } from '../back-off.ts';
import type { Clock } from '../clock.ts';

/** How long lists come page by page after one that was asked for as a stream did not come; longer each time, milliseconds. */
const pauseMs = { initialMs: 600_000, maxMs: 86_400_000 };
/** A server that stops cuts one, and the next is sent by another. What cuts two in a row has no time for a whole list. */
const cutsInARow = 2;

/** Whether a list is asked for as a stream. A server that knows none may be upgraded, and one that was ill recovers. */
export class StreamedLists {
  readonly #clock: Clock;
  readonly #pauses = new BackOff({ ...pauseMs, random: () => 1 });
  #from = Number.NEGATIVE_INFINITY;
  #isStreamed = false;
  #isOpen = false;
  #cuts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the list that begins now is asked for as a stream. */
  begin(): boolean {
    this.#isStreamed = this.#clock.monotonic() >= this.#from;
    this.#isOpen = false;
    return this.#isStreamed;
  }

  /** The answer to the one that began last has begun. */
  opened(): void {
    this.#isOpen = true;
  }

  /** The list that began last was refused, or did not come, or broke off. One of pages says nothing of streams. */
  failed(how: 'refused' | 'broken'): void {
    if (!this.#isStreamed) return;
    if (how === 'broken' && !this.#isCutTooOften()) return;
    this.#isStreamed = false;
    this.#cuts = 0;
    this.#from = this.#clock.monotonic() + this.#pauses.next();
  }

  /** Where no answer had begun, the server is away, and that says nothing of streams. */
  #isCutTooOften(): boolean {
    if (this.#isOpen) this.#cuts++;
    return this.#cuts >= cutsInARow;
  }

  /** One has come. */
  succeeded(): void {
    this.#cuts = 0;
    this.#pauses.reset();
  }
}
