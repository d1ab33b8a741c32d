import type { KubeClient } from '../../src/kube/client/client.ts';
import { createOne, nameOf, templates } from './objects.ts';
import { isWritten, plainObjects, writeByHand } from './plain-kind.ts';
import type { Platform } from './platform.ts';
import { ReadyWatch, type Seen } from './ready-watch.ts';

const keys = templates.generatedKey;

/** Milliseconds. */
export interface Times {
  /** From the start of the create request until the key is ready. */
  readonly ready: number;
  /** Of it after the first event. */
  readonly added: number;
  /** The same number of writes to an object without a controller. */
  readonly hand: number;
}

/** Makes one key after the other, and after each a plain object with as many writes by hand. Needs `installPlainKind`. */
export class MeasuredUser {
  readonly #client: KubeClient;
  #watches: { readonly keys: ReadyWatch; readonly plain: ReadyWatch } | undefined;
  #created = 0;

  constructor({ client }: Platform) {
    this.#client = client;
  }

  /** Measures so often, or until there is nothing left to measure. */
  async measure(runs: number, isOver: () => boolean = () => false): Promise<readonly Times[]> {
    const times: Times[] = [];
    for (let index = 0; index < runs && !isOver(); index++) times.push(await this.#once());
    return times;
  }

  close(): void {
    this.#watches?.keys.close();
    this.#watches?.plain.close();
  }

  async #once(): Promise<Times> {
    const client = this.#client;
    this.#watches ??= {
      keys: await ReadyWatch.open(client, keys.resource),
      plain: await ReadyWatch.open(client, plainObjects, isWritten),
    };
    const name = nameOf('measured', this.#created++);
    const made = await timed(this.#watches.keys.expect(name), () => createOne(client, keys, name));
    const written = await timed(this.#watches.plain.expect(name), () => writeByHand(client, name));
    return { ready: made.ready, added: made.ready - made.first, hand: written.ready };
  }
}

/** A user who is warm by a quarter of the runs of a round, for as long as the work takes. */
export async function withMeasuredUser<T>(
  platform: Platform,
  runs: number,
  work: (user: MeasuredUser) => Promise<T>,
): Promise<T> {
  const user = new MeasuredUser(platform);
  try {
    await user.measure(Math.ceil(runs / 4));
    return await work(user);
  } finally {
    user.close();
  }
}

/** When the watch brought it, milliseconds after the start of the work. */
async function timed(seen: Promise<Seen>, work: () => Promise<void>): Promise<Omit<Seen, 'object'>> {
  const start = performance.now();
  await work();
  const { first, ready } = await seen;
  return { first: first - start, ready: ready - start };
}
