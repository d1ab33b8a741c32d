import { type Condition, conditionTypes } from '../../src/api/conditions.ts';
import type { Resource } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import type { WatchEvent } from '../../src/kube/client/watch-stream.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { collectionPath } from '../../src/kube/resource-path.ts';

/** When a watch brought an object, on the clock of `performance.now()`. */
export interface Seen {
  /** At all. */
  readonly first: number;
  /** With `Ready=True`; the same as `first` for a kind without conditions. */
  readonly ready: number;
  /** As it was then. */
  readonly object: KubeObject;
}

/** Whether an object is as it is waited for; `type` is that of the event. */
export type IsReady = (object: KubeObject, type?: WatchEvent['type']) => boolean;

interface Expected {
  readonly seen: PromiseWithResolvers<Seen>;
  first?: number;
}

const minute = 60_000;
const hour = 60 * minute;
const waitMs = 30_000;

/** One watch on all objects of a kind, from the moment it was opened. */
export class ReadyWatch {
  readonly #resource: Resource;
  readonly #isReady: IsReady;
  #resourceVersion: string;
  readonly #end = new AbortController();
  readonly #expected = new Map<string, Expected>();
  readonly #ready = new Set<string>();
  #changes = 0;
  #firstReadyAt = Number.POSITIVE_INFINITY;
  #wanted = Number.POSITIVE_INFINITY;
  readonly #all = Promise.withResolvers<void>();

  /** Objects that exist already are not reported before they change. `isReady` for kinds that have no condition `Ready`. */
  static async open(
    client: KubeClient,
    resource: Resource,
    isReady: IsReady = hasReadyCondition,
  ): Promise<ReadyWatch> {
    const { metadata } = await client.list(resource, { limit: 1 });
    const watch = new ReadyWatch(resource, isReady, metadata.resourceVersion);
    const opened = Promise.withResolvers<void>();
    const following = watch.#follow(client, opened.resolve);
    following.catch((error: unknown) => {
      opened.reject(error);
      watch.#fail(error);
    });
    await opened.promise;
    return watch;
  }

  private constructor(resource: Resource, isReady: IsReady, resourceVersion: string) {
    this.#resource = resource;
    this.#isReady = isReady;
    this.#resourceVersion = resourceVersion;
    // Perhaps no one waits when the watch fails; a later call gets the error then.
    this.#all.promise.catch(() => undefined);
  }

  /** Changes since the watch was opened. */
  get changes(): number {
    return this.#changes;
  }

  /** When the first object was seen ready, on the clock of `performance.now()`; `Infinity`: none was. */
  get firstReadyAt(): number {
    return this.#firstReadyAt;
  }

  /** To be called before the object is created. Rejects when it is not ready within 30 s. */
  expect(name: string): Promise<Seen> {
    const seen = Promise.withResolvers<Seen>();
    this.#expected.set(name, { seen });
    const { plural } = this.#resource;
    const timer = setTimeout(() => seen.reject(new Error(`${plural} ${name} is not ready in time`)), waitMs);
    return seen.promise.finally(() => clearTimeout(timer));
  }

  /** Resolves when that many different objects have been seen ready. */
  async untilReady(count: number, timeoutMs: number): Promise<void> {
    this.#wanted = count;
    this.#resolveWhenAll();
    const timer = setTimeout(
      () =>
        this.#fail(new Error(`${this.#ready.size} of ${count} ${this.#resource.plural} got ready in time`)),
      timeoutMs,
    );
    await this.#all.promise.finally(() => clearTimeout(timer));
  }

  /** Works until that many different objects have been seen ready, which `isOver` tells. Resolves with what comes of it when both have ended. */
  async whileUnready<T>(count: number, work: (isOver: () => boolean) => Promise<T>): Promise<T> {
    let isOver = false;
    const ready = this.untilReady(count, 10 * minute).finally(() => {
      isOver = true;
    });
    const [result] = await Promise.all([work(() => isOver), ready]);
    return result;
  }

  close(): void {
    this.#end.abort();
  }

  /** The API server ends a watch whose reader falls behind; nothing is lost, because the next one goes on from there. */
  async #follow(client: KubeClient, onOpen: () => void): Promise<void> {
    const { signal } = this.#end;
    const options = { signal, onOpen, idleMs: hour, maxLineBytes: 2 ** 24 };
    try {
      while (!signal.aborted) {
        const query = new URLSearchParams({ watch: 'true', resourceVersion: this.#resourceVersion });
        for await (const event of client.watch(collectionPath(this.#resource), query, options))
          this.#record(event);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #record({ type, object }: WatchEvent): void {
    if (type === 'ERROR') throw new Error(`watch on ${this.#resource.plural}: ${JSON.stringify(object)}`);
    const now = performance.now();
    const { name, resourceVersion } = object.metadata;
    this.#resourceVersion = resourceVersion;
    const expected = this.#expected.get(name);
    this.#changes++;
    if (expected !== undefined) expected.first ??= now;
    if (!this.#isReady(object, type)) return;
    this.#ready.add(name);
    this.#firstReadyAt = Math.min(this.#firstReadyAt, now);
    this.#resolveWhenAll();
    if (expected === undefined) return;
    this.#expected.delete(name);
    expected.seen.resolve({ first: expected.first ?? now, ready: now, object });
  }

  #resolveWhenAll(): void {
    if (this.#ready.size >= this.#wanted) this.#all.resolve();
  }

  #fail(error: unknown): void {
    this.#all.reject(error);
    for (const { seen } of this.#expected.values()) seen.reject(error);
  }
}

/** For kinds without conditions it is always so. */
export function hasReadyCondition({
  status,
}: KubeObject & { readonly status?: { conditions?: readonly Condition[] } }): boolean {
  const ready = status?.conditions?.find(({ type }) => type === conditionTypes.ready);
  return ready === undefined || ready.status === 'True';
}
