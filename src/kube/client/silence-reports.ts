import type { Clock } from '../clock.ts';

/** Why something that was open is cut: it was silent while a request to the same server got no answer. */
export class CutForSilence extends Error {
  constructor() {
    super('it was silent while a request to the same server got no answer');
    this.name = 'CutForSilence';
  }
}

export interface SilenceReport {
  /** For how long a request waited in vain, milliseconds. */
  readonly waitedMs: number;
  /** False when it tells of the time before an earlier report. */
  readonly isNew: boolean;
}

type Listener = (report: SilenceReport) => void;

/** A slow API server gives no answer either, and must not be asked to open everything again all the time; milliseconds. */
const pauseMs = 30_000;

/**
 * Reports of silence that the clients of one API server share: a request got no answer in time. Where a balancer has lost its
 * backend, the connections that are open bring nothing any more, watches included, while new ones work.
 */
export class SilenceReports {
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  #last = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * `since`: when the request began, monotonic. One that began before the last report is passed on during the pause, too: it can have
   * waited for longer, and what was opened after that report is too young for it.
   */
  report(since: number): void {
    const now = this.#clock.monotonic();
    const isNew = since >= this.#last;
    if (isNew && now - this.#last < pauseMs) return;
    if (isNew) this.#last = now;
    for (const listener of this.#listeners) listener({ waitedMs: now - since, isNew });
  }
}
