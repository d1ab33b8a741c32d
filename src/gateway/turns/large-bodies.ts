import type { EventEmitter } from 'node:events';
import type { Clock } from '../../kube/clock.ts';

export interface LargeBodyLimits {
  /** At once. */
  readonly ofUser: number;
  readonly maxWaitMs: number;
}

export const largeBodyLimits: LargeBodyLimits = { ofUser: 4, maxWaitMs: 30_000 };

interface LargeBodiesOptions extends LargeBodyLimits {
  readonly clock: Clock;
}

/** What is sent for a request. It emits `close` when all is over. */
type Answer = Pick<EventEmitter, 'once' | 'off'> & { readonly destroyed: boolean };

interface Line {
  taken: number;
  /** In the order in which they came. */
  readonly waiting: Set<(mayBeRead: boolean) => void>;
}

/**
 * Large bodies are read a few at a time for each user, and each counts until its answer is over. The others of that user wait before
 * they are read, so they take neither memory nor the time of the main thread. A refusal would close their connections, and the
 * handshakes of new ones cost more than the bodies.
 */
export class LargeBodies {
  readonly #options: LargeBodiesOptions;
  readonly #lines = new Map<string, Line>();

  constructor(options: LargeBodiesOptions) {
    this.#options = options;
  }

  /** Resolves when the body may be read. False: it would have to wait too long, or the client is gone. */
  async enter(user: string, answer: Answer): Promise<boolean> {
    const line = this.#lines.get(user) ?? { taken: 0, waiting: new Set() };
    this.#lines.set(user, line);
    if (line.taken < this.#options.ofUser) line.taken += 1;
    else if (!(await this.#wait(line, answer))) return false;
    if (answer.destroyed) this.#leave(user, line);
    else answer.once('close', () => this.#leave(user, line));
    return true;
  }

  async #wait({ waiting }: Line, answer: Answer): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const giveUp = () => resolve(false);
    waiting.add(resolve);
    answer.once('close', giveUp);
    const timer = this.#options.clock.setTimer(giveUp, this.#options.maxWaitMs);
    return await promise.finally(() => {
      waiting.delete(resolve);
      answer.off('close', giveUp);
      timer.cancel();
    });
  }

  /** The place goes to the body that has waited for the longest time. */
  #leave(user: string, line: Line): void {
    const [next] = line.waiting;
    if (next === undefined) line.taken -= 1;
    else {
      line.waiting.delete(next);
      next(true);
    }
    if (line.taken === 0) this.#lines.delete(user);
  }
}
