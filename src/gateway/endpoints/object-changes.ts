import type { LiveRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { Clock, Timer } from '../../kube/clock.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Arrivals } from '../index/arrivals.ts';

export interface Change {
  readonly record: LiveRecord;
  /** What the record was made of; undefined where the watch brought that before anyone waited for it. */
  readonly arrived: KubeObject | undefined;
}

export interface ChangesOptions {
  readonly store: Store<LiveRecord>;
  readonly arrivals: Pick<Arrivals, 'on'>;
  readonly key: string;
  /** Of the object that is meant: what others make under its name is not kept. */
  readonly uid: string;
}

/** Until the same is brought once more. */
const pauseMs = 500;

/** What the index has under one key: as it is, and then as it becomes. Changes that come in between count as one. End it. */
export class ObjectChanges implements AsyncIterable<Change> {
  readonly #options: ChangesOptions;
  readonly #unsubscribe: readonly (() => void)[];
  #next = Promise.withResolvers<void>();
  #isOver = false;
  #timer: Timer | undefined;
  #arrived: KubeObject | undefined;

  constructor(options: ChangesOptions) {
    const { store, arrivals, key, uid } = options;
    this.#options = options;
    this.#unsubscribe = [
      store.subscribe((change) => {
        if (change.key === key) this.#next.resolve();
      }),
      arrivals.on(key, (object) => {
        if (object.metadata.uid === uid) this.#arrived = object;
      }),
    ];
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Change> {
    const { store, key } = this.#options;
    while (!this.#isOver) {
      const record = store.get(key);
      if (record !== undefined) yield { record, arrived: this.#takeArrived(record) };
      await this.#next.promise;
      this.#next = Promise.withResolvers<void>();
    }
  }

  /** Brings the record once more, after a pause. */
  lookAgain(clock: Clock): void {
    this.#timer?.cancel();
    this.#timer = clock.setTimer(() => this.#next.resolve(), pauseMs);
  }

  end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#next.resolve();
  }

  /** It holds a credential, so it is given away and not kept. */
  #takeArrived({ uid, resourceVersion }: LiveRecord): KubeObject | undefined {
    const object = this.#arrived;
    this.#arrived = undefined;
    const { metadata } = object ?? {};
    return metadata?.uid === uid && metadata.resourceVersion === resourceVersion ? object : undefined;
  }
}
