import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../kube/clock.ts';

export interface LargeBodyLimits {
  /** At once. */
  readonly ofUser: number;
  readonly maxWaitMs: number;
}

/** Bytes. Hardly an object of ours has more. */
const smallBody = 2 ** 15;

/** Of a request that has one. A body that does not say how long it is counts as large. */
export const isLargeBody = (headers: IncomingHttpHeaders): boolean =>
  !(Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= smallBody);

export const largeBodyLimits: LargeBodyLimits = { ofUser: 4, maxWaitMs: 30_000 };

interface LargeBodiesOptions extends LargeBodyLimits {
  readonly clock: Clock;
}

/** What a body counts until the end of: its request, or the answer. */
type Stream = Pick<EventEmitter, 'once' | 'off'> & { readonly destroyed: boolean };

interface Line {
  taken: number;
  /** In the order in which they came. */
  readonly waiting: Set<(mayBeRead: boolean) => void>;
}

/**
 * Large bodies are read a few at a time for each user. The others of that user wait before they are read, so they take neither memory
 * nor the time of the main thread. A refusal would close their connections, and the handshakes of new ones cost more than the bodies.
 */
export class LargeBodies {
  readonly #options: LargeBodiesOptions;
  readonly #lines = new Map<string, Line>();

  constructor(options: LargeBodiesOptions) {
    this.#options = options;
  }

  /** Resolves when the body may be read; it counts until the stream closes. False: it would have to wait too long, or the client is gone. */
  async enter(user: string, stream: Stream): Promise<boolean> {
    const line = this.#lines.get(user) ?? { taken: 0, waiting: new Set() };
    this.#lines.set(user, line);
    if (line.taken < this.#options.ofUser) line.taken += 1;
    else if (!(await this.#wait(line, stream))) return false;
    if (stream.destroyed) this.#leave(user, line);
    else stream.once('close', () => this.#leave(user, line));
    return true;
  }

  async #wait({ waiting }: Line, stream: Stream): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const giveUp = () => resolve(false);
    waiting.add(resolve);
    stream.once('close', giveUp);
    const timer = this.#options.clock.setTimer(giveUp, this.#options.maxWaitMs);
    return await promise.finally(() => {
      waiting.delete(resolve);
      stream.off('close', giveUp);
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
