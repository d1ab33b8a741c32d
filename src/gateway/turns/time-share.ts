export interface TimeShareOptions {
  /** Whether no one but this user has sent a request, or typed into a session, of late. */
  readonly isAlone: (user: string) => boolean;
}

/** Of the time of a thread, for one user, while others send something. */
const share = 0.1;
/** The time that a user may take at once after a pause, milliseconds of the thread. */
const burstMs = 50;
/** For what was taken no one waits longer: a large upload must not keep its user from revoking a key. */
const maxWaitMs = 5_000;

/** The time of one thread that each user has had. Who has had more than their share waits; who is alone may have all of it. */
export class TimeShare {
  readonly #isAlone: TimeShareOptions['isAlone'];
  /** Until when each user has to wait for what they have taken, at the pace of a share. Those with nothing to wait for are not here. */
  readonly #paidAt = new Map<string, number>();

  constructor({ isAlone }: TimeShareOptions) {
    this.#isAlone = isAlone;
  }

  /**
   * The user has taken so much by `now`. Times are monotonic milliseconds. A user who is alone uses up what may be taken at once, and owes
   * no more: otherwise their shells would stand still for seconds once somebody else sends something.
   */
  charge(user: string, ms: number, now: number): void {
    const paidAt = Math.max(this.#paidAt.get(user) ?? 0, now - ms) + ms / share;
    const latest = now + (this.#isAlone(user) ? 0 : maxWaitMs) + burstMs / share;
    this.#paidAt.delete(user);
    this.#paidAt.set(user, Math.min(paidAt, latest));
  }

  mayGoOn(user: string, now: number): boolean {
    return (this.#paidAt.get(user) ?? 0) - now <= burstMs / share || this.#isAlone(user);
  }

  /** The latest users are at the end. */
  forget(now: number): void {
    for (const [user, paidAt] of this.#paidAt) {
      if (paidAt > now) return;
      this.#paidAt.delete(user);
    }
  }
}
