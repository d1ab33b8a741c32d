import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../src/kube/object.ts';
import { keyOf } from '../../src/kube/object.ts';

export interface StoredEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly object: KubeObject;
}

type Draft = Omit<KubeObject, 'metadata'> & { metadata: Partial<KubeObject['metadata']> };

/** The objects of one resource, with the history that watches resume from. */
export class ObjectStorage {
  readonly #objects = new Map<string, KubeObject>();
  readonly #events: StoredEvent[] = [];
  readonly #listeners = new Set<(event: StoredEvent) => void>();
  #revision = 100;
  #oldest = 0;

  get revision(): number {
    return this.#revision;
  }

  /** Watches from before this revision are refused. */
  get oldest(): number {
    return this.#oldest;
  }

  list(namespace?: string): KubeObject[] {
    return [...this.#objects.values()].filter((object) => isIn(namespace, object));
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  /** Creates or replaces; UID and creation time stay. */
  put(draft: Draft | KubeObject): KubeObject {
    const key = keyOf({ name: 'unnamed', ...draft.metadata });
    const before = this.#objects.get(key);
    const metadata = {
      name: 'unnamed',
      uid: before?.metadata.uid ?? randomUUID(),
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...draft.metadata,
      resourceVersion: String(++this.#revision),
    };
    const object: KubeObject = { ...draft, metadata };
    this.#objects.set(key, object);
    this.#publish({ type: before === undefined ? 'ADDED' : 'MODIFIED', revision: this.#revision, object });
    return object;
  }

  remove(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    this.#publish({ type: 'DELETED', revision: this.#revision, object: { ...object, metadata } });
  }

  /** As after a long pause: the history up to now is gone. */
  compact(): void {
    this.#events.length = 0;
    this.#oldest = ++this.#revision;
  }

  since(revision: number, namespace?: string): StoredEvent[] {
    return this.#events.filter((event) => event.revision > revision && isIn(namespace, event.object));
  }

  subscribe(listener: (event: StoredEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #publish(event: StoredEvent): void {
    this.#events.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}

export function isIn(namespace: string | undefined, { metadata }: KubeObject): boolean {
  return namespace === undefined || metadata.namespace === namespace;
}
