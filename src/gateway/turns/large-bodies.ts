import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../kube/clock.ts';

export interface LargeBodyLimits {
  /** Read at once. */
  readonly ofUser: number;
  /** The same with one credential: a leaked one must leave places to the others of its user. */
  readonly ofCredential: number;
  /** Each of them holds what Node reads ahead, some hundred kilobytes. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  /** Whose body comes slowly keeps no one else waiting for longer: its place is taken back, and it is read on. */
  readonly maxHoldMs: number;
}

/** Bytes. Hardly an object of ours has more. */
export const smallBody = 2 ** 15;

/** Of a request that has one. A body that does not say how long it is counts as large. */
export const isLargeBody = (headers: IncomingHttpHeaders): boolean =>
  !(Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= smallBody);

export const largeBodyLimits: LargeBodyLimits = {
  ...{ ofUser: 4, ofCredential: 2, maxWaiting: 128 },
  ...{ maxWaitMs: 30_000, maxHoldMs: 10_000 },
};

interface LargeBodiesOptions extends LargeBodyLimits {
  readonly clock: Clock;
}

export interface BodyOwner {
  readonly user: string;
  /** Its hash. */
  readonly credential: string;
}

/** The message to the client. It emits `close` when all is over. */
type Answer = Pick<EventEmitter, 'once' | 'off'> & { readonly destroyed: boolean };

/** Gives a place back. Only the first call counts. */
export type Release = () => void;

interface Waiter {
  readonly credential: string;
  readonly onTurn: () => void;
}

interface Line {
  taken: number;
  readonly ofCredential: Map<string, number>;
  /** In the order in which they came. */
  readonly waiting: Set<Waiter>;
}

/**
 * Large bodies are read a few at a time for each user. The others of that user wait before they are read, so they take no time of the
 * main thread and little memory. A refusal would close their connections, and the handshakes of new ones cost more than the bodies.
 */
export class LargeBodies {
  readonly #options: LargeBodiesOptions;
  readonly #lines = new Map<string, Line>();

  constructor(options: LargeBodiesOptions) {
    this.#options = options;
  }

  /** Resolves when the body may be read. Undefined: it would have to wait too long, too many wait, or the client is gone. */
  async enter({ user, credential }: BodyOwner, answer: Answer): Promise<Release | undefined> {
    const line = this.#lines.get(user) ?? { taken: 0, ofCredential: new Map(), waiting: new Set() };
    this.#lines.set(user, line);
    if (this.#hasRoom(line, credential)) count(line, credential, 1);
    else if (!(await this.#wait(line, credential, answer))) return undefined;
    const release = this.#releaseOf(user, line, credential);
    if (!answer.destroyed) return release;
    release();
    return undefined;
  }

  #hasRoom({ taken, ofCredential: places }: Line, credential: string): boolean {
    const { ofUser, ofCredential } = this.#options;
    return taken < ofUser && (places.get(credential) ?? 0) < ofCredential;
  }

  async #wait({ waiting }: Line, credential: string, answer: Answer): Promise<boolean> {
    const { clock, maxWaiting, maxWaitMs } = this.#options;
    if (waiting.size >= maxWaiting || answer.destroyed) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { credential, onTurn: () => resolve(true) };
    const giveUp = () => {
      waiting.delete(waiter);
      resolve(false);
    };
    waiting.add(waiter);
    answer.once('close', giveUp);
    const timer = clock.setTimer(giveUp, maxWaitMs);
    return await promise.finally(() => {
      answer.off('close', giveUp);
      timer.cancel();
    });
  }

  #releaseOf(user: string, line: Line, credential: string): Release {
    let isHeld = true;
    const release = () => {
      timer.cancel();
      if (isHeld) this.#leave(user, line, credential);
      isHeld = false;
    };
    const timer = this.#options.clock.setTimer(release, this.#options.maxHoldMs);
    return release;
  }

  /** The place goes to the body that has waited for the longest time, of those whose credential may have another one. */
  #leave(user: string, line: Line, credential: string): void {
    count(line, credential, -1);
    for (const waiter of line.waiting) {
      if (!this.#hasRoom(line, waiter.credential)) continue;
      line.waiting.delete(waiter);
      count(line, waiter.credential, 1);
      return waiter.onTurn();
    }
    if (line.taken === 0) this.#lines.delete(user);
  }
}

function count(line: Line, credential: string, change: number): void {
  const places = (line.ofCredential.get(credential) ?? 0) + change;
  line.taken += change;
  if (places > 0) line.ofCredential.set(credential, places);
  else line.ofCredential.delete(credential);
}
