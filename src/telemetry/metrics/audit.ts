import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of the audit log of a process. */
export class AuditMetrics {
  readonly #lines: Counter<'outcome'>;
  #readStuckMs: () => number = () => 0;

  constructor(registry: Registry) {
    const registers = [registry];
    const read = () => this.#readStuckMs();
    this.#lines = new Counter({
      registers,
      name: 'latchkey_audit_lines_total',
      help: 'Lines of the audit log by what came of them: written, or dropped because too many waited.',
      labelNames: ['outcome'],
    });
    new Gauge({
      registers,
      name: 'latchkey_audit_stuck_seconds',
      help: 'For how long lines of the audit log have waited and none was written; 0 when none waits.',
      collect() {
        this.set(read() / 1000);
      },
    });
    // The first one would be no increase otherwise.
    for (const outcome of ['written', 'dropped'] as const) this.count(outcome, 0);
  }

  count(outcome: 'written' | 'dropped', lines: number): void {
    this.#lines.inc({ outcome }, lines);
  }

  /** Read at every scrape; milliseconds. */
  readStuck(read: () => number): void {
    this.#readStuckMs = read;
  }
}
