import { type KubeObject, keyOf } from '../../kube/object.ts';

type Listener = (object: KubeObject) => void;

/**
 * Whole objects, as the watch of the gateway brings them, for requests that wait for what the operator makes of one. The index
 * keeps none of them: they hold credentials.
 */
export class Arrivals {
  readonly #listeners = new Map<string, Listener>();

  /** `key`: `name`, or `namespace/name`. One listener for each, the last. Returns what ends it. */
  on(key: string, listener: Listener): () => void {
    this.#listeners.set(key, listener);
    return () => {
      if (this.#listeners.get(key) === listener) this.#listeners.delete(key);
    };
  }

  /** For every object that the watch brings. */
  saw(object: KubeObject): void {
    if (this.#listeners.size > 0) this.#listeners.get(keyOf(object.metadata))?.(object);
  }
}
