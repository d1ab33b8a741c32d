import { isVersion, type KubeObject, keyOf } from '../../kube/object.ts';

type Listener = (object: KubeObject) => void;
type Version = Pick<KubeObject['metadata'], 'uid' | 'resourceVersion'>;

/**
 * Whole objects, as the watch of the gateway brings them, for requests that wait for what the operator makes of one. The index
 * keeps none of them: they hold credentials.
 */
export class Arrivals {
  readonly #listeners = new Map<string, Set<Listener>>();
  #present: KubeObject | undefined;

  /** `key`: `name`, or `namespace/name`. The listener is called before the index has the object. Returns what ends it. */
  on(key: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  /** For every object that the watch brings. */
  saw(object: KubeObject): void {
    this.#present = object;
    queueMicrotask(this.#forget);
    if (this.#listeners.size === 0) return;
    for (const listener of this.#listeners.get(keyOf(object.metadata)) ?? []) listener(object);
  }

  /** Returns the object of this record, while the index tells of it; undefined where the watch did not bring it just now. */
  present(version: Version): KubeObject | undefined {
    return isVersion(this.#present, version) ? this.#present : undefined;
  }

  readonly #forget = (): void => {
    this.#present = undefined;
  };
}
