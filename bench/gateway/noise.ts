import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { NoiseMade, NoiseOrder } from './noise-process.ts';

const program = fileURLToPath(new URL('./noise-process.ts', import.meta.url));

/** One user who sends as much as a credential may, each request as soon as the one before is answered, or refused. */
export class Noise {
  readonly #child: ChildProcess;

  static start(order: NoiseOrder): Noise {
    const child = fork(program);
    child.send(order);
    return new Noise(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Waits for what is under way, and returns how many requests there were. */
  async end(): Promise<number> {
    const answered = once(this.#child, 'message');
    this.#child.send('stop');
    const [{ requests }] = (await answered) as [NoiseMade];
    this.#child.disconnect();
    return requests;
  }

  /** Leaves at once. */
  kill(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
