import { isNewerVersion } from '../../kube/object.ts';

interface UnguardedTime {
  /** Up to this resourceVersion the policies did judge. */
  readonly after: string;
  /** From this one on they judge again; absent while they do not. */
  readonly until?: string;
}

/** Beyond it the two oldest count as one time, with all that lies between them. */
const maxTimes = 100;

/** The times in which the policies did not guard something, in resourceVersions: those need no clock, and no watch is late by them. */
export class UnguardedTimes {
  #times: UnguardedTime[] = [];

  get isOpen(): boolean {
    const last = this.#times.at(-1);
    return last !== undefined && last.until === undefined;
  }

  /** One that is open goes on, and began with the earlier of both. */
  begin(after: string): void {
    const open = this.isOpen ? this.#times.pop() : undefined;
    this.#times.push({ after: open === undefined || isNewerVersion(open.after, after) ? after : open.after });
    if (this.#times.length > maxTimes) this.#joinOldest();
  }

  end(until: string): void {
    if (this.isOpen) this.#times = this.#times.map((time) => ({ until, ...time }));
  }

  /** Whether something that was written at this resourceVersion, or at any between it and an earlier one, is of such a time. */
  overlap(written: string, since?: string): boolean {
    return this.#times.some(({ after, until }) => {
      if (!isNewerVersion(written, after)) return false;
      if (until === undefined) return true;
      return since === undefined ? !isNewerVersion(written, until) : isNewerVersion(until, since);
    });
  }

  #joinOldest(): void {
    const [{ after }, second, ...others] = this.#times as [UnguardedTime, UnguardedTime, ...UnguardedTime[]];
    this.#times = [{ ...second, after }, ...others];
  }
}
