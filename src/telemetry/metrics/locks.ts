import { Gauge, type Registry } from 'prom-client';

/** Locks, and how far credentials say so. */
export class LockMetrics {
  readonly stated: Gauge<'selector' | 'state'>;
  readonly waiting: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.stated = new Gauge({
      registers,
      name: 'latchkey_locks',
      help: 'CredentialLocks by what selects (`all`: a time alone) and by the reason of their Ready condition.',
      labelNames: ['selector', 'state'],
    });
    this.waiting = new Gauge({
      registers,
      name: 'latchkey_lock_budget_waiting',
      help: 'Credentials whose status is to say that a lock stops them, or does no more, and that wait for the budget of writes. Verifiers know already.',
    });
  }

  /** A process that does not lead knows nothing of them. */
  clear(): void {
    this.stated.reset();
    this.waiting.set(0);
  }
}
