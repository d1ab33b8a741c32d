import { reasons } from '../../api/reasons.ts';
import type { Clock, Timer } from '../clock.ts';
import { WriteBudget } from '../queue/write-budget.ts';
import type { EventInput } from './event-object.ts';

export interface EventStormsOptions {
  readonly clock: Clock;
  /** Events of one reason that may come at once. */
  readonly burst: number;
  /** Events of one reason a second after that. */
  readonly rate: number;
  /** Between two summaries of one reason. */
  readonly summaryMs: number;
  /** False when there is no room for it now: it comes again, with what is left out meanwhile. */
  readonly onSummary: (summary: EventInput) => boolean;
}

interface Storm {
  readonly budget: WriteBudget;
  leftOut: number;
  last: EventInput | undefined;
  timer: Timer | undefined;
}

/** Ten thousand keys that end together must not write ten thousand events: the rest becomes one summary. */
export class EventStorms {
  readonly #options: EventStormsOptions;
  readonly #storms = new Map<string, Storm>();

  constructor(options: EventStormsOptions) {
    this.#options = options;
  }

  /** True when the event may be written; otherwise it counts in the next summary. */
  admit(input: EventInput): boolean {
    if (this.#stormOf(input.reason).budget.tryReserve(this.#options.clock.monotonic())) return true;
    this.leaveOut(input);
    return false;
  }

  /** The event counts in the next summary of its reason. */
  leaveOut(input: EventInput): void {
    const storm = this.#stormOf(input.reason);
    storm.leftOut++;
    storm.last = input;
    this.#summariseLater(storm);
  }

  /** Summarises what was left out so far. */
  flush(): void {
    for (const storm of this.#storms.values()) this.#summarise(storm);
  }

  /** Forgets what was left out and not summarised, and returns how much that is. */
  discard(): number {
    let count = 0;
    for (const storm of this.#storms.values()) {
      storm.timer?.cancel();
      storm.timer = undefined;
      count += storm.leftOut;
      storm.leftOut = 0;
      storm.last = undefined;
    }
    return count;
  }

  #stormOf(reason: string): Storm {
    const known = this.#storms.get(reason);
    if (known !== undefined) return known;
    const { rate, burst } = this.#options;
    const storm: Storm = {
      budget: new WriteBudget({ rate, burst }),
      leftOut: 0,
      last: undefined,
      timer: undefined,
    };
    this.#storms.set(reason, storm);
    return storm;
  }

  #summariseLater(storm: Storm): void {
    storm.timer ??= this.#options.clock.setTimer(() => this.#summarise(storm), this.#options.summaryMs);
  }

  #summarise(storm: Storm): void {
    storm.timer?.cancel();
    storm.timer = undefined;
    const { last, leftOut } = storm;
    if (last === undefined) return;
    const summary = { ...last, reason: reasons.storm, note: noteOf(last, leftOut) };
    if (!this.#options.onSummary(summary)) return this.#summariseLater(storm);
    storm.last = undefined;
    storm.leftOut = 0;
  }
}

function noteOf({ reason, regarding }: EventInput, leftOut: number): string {
  const { kind, namespace, name } = regarding;
  const about = namespace === undefined ? name : `${namespace}/${name}`;
  return `${leftOut} more events with reason ${reason} were not written one by one; the newest was about ${kind} ${about}`;
}
