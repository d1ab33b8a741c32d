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
  readonly onSummary: (summary: EventInput) => void;
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
    const storm = this.#stormOf(input.reason);
    if (storm.budget.tryReserve(this.#options.clock.monotonic())) return true;
    storm.leftOut++;
    storm.last = input;
    storm.timer ??= this.#options.clock.setTimer(() => this.#summarise(storm), this.#options.summaryMs);
    return false;
  }

  /** Summarises what was left out so far. */
  flush(): void {
    for (const storm of this.#storms.values()) this.#summarise(storm);
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

  #summarise(storm: Storm): void {
    storm.timer?.cancel();
    storm.timer = undefined;
    const { last, leftOut } = storm;
    if (last === undefined) return;
    storm.last = undefined;
    storm.leftOut = 0;
    this.#options.onSummary({ ...last, reason: reasons.storm, note: noteOf(last, leftOut) });
  }
}

function noteOf({ reason, regarding }: EventInput, leftOut: number): string {
  const { kind, namespace, name } = regarding;
  const about = namespace === undefined ? name : `${namespace}/${name}`;
  return `${leftOut} more events with reason ${reason} were not written one by one; the newest was about ${kind} ${about}`;
}
