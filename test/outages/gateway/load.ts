import { setTimeout as delay } from 'node:timers/promises';

/** After each request of a sender, milliseconds. Whether one of them fails does not depend on how many thousands there are. */
const paceMs = 50;

/** Sends requests one after the other until it is told to stop; `failed` are the answers that no client should see. */
export class Load {
  readonly failed: unknown[] = [];
  sent = 0;
  readonly #send: () => Promise<unknown>;
  readonly #running: Promise<void>[];
  readonly #paceMs: number;
  #stopped = false;

  /** @param send resolves with 200 or 201 when all is well, and else with what is wrong, or rejects. */
  constructor(send: () => Promise<unknown>, senders = 4, pace = paceMs) {
    this.#send = send;
    this.#paceMs = pace;
    this.#running = Array.from({ length: senders }, async () => await this.#run());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.sent += 1;
      const status = await this.#send().catch((error: unknown) => error);
      if (status !== 200 && status !== 201) this.failed.push(status);
      await delay(this.#paceMs);
    }
  }
}
