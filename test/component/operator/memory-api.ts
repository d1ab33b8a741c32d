import { randomUUID } from 'node:crypto';
import { type Resource, subjectAccessReviews } from '../../../src/api/resources.ts';
import type { KubeClient, ObjectKey, WriteOptions } from '../../../src/kube/client/client.ts';
import { kubeErrorFromStatus, unreachable } from '../../../src/kube/kube-error.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import { mergePatch } from '../../fakes/merge-patch.ts';

type Json = Record<string, unknown>;
export interface StoredObject extends KubeObject {
  spec?: Json;
  status?: Json;
  data?: Record<string, string>;
}

/** The fate of a write: it works, it is lost, or it takes effect and its answer is lost. */
export type Fate = 'works' | 'lost' | 'unanswered';

export interface ChangeEvent {
  readonly plural: string;
  readonly type: 'put' | 'removed';
  readonly object: StoredObject;
}

const action = { verb: 'WRITE', path: '/in/memory' };
const refuse = (code: number, reason: string) =>
  kubeErrorFromStatus(action, code, { kind: 'Status', reason, code });

/**
 * The part of an API server that decides about writes: versions, preconditions, generations, finalizers, owners of
 * the fields `key` and `disabled`. It garbage-collects nothing, so what the operator leaves behind stays to be seen.
 */
export class MemoryApi {
  readonly #objects = new Map<string, StoredObject>();
  readonly #now: () => number;
  readonly #fates: () => Fate;
  readonly changes: ChangeEvent[] = [];
  /** Fields of `status` that no definition has, so that the API server drops them. */
  prunedStatus: readonly string[] = [];
  #version = 10;
  writes = 0;

  constructor(now: () => number, fates: () => Fate) {
    this.#now = now;
    this.#fates = fates;
  }

  all(plural: string): StoredObject[] {
    return [...this.#objects].filter(([path]) => path.startsWith(`${plural} `)).map(([, object]) => object);
  }

  find(plural: string, key: string): StoredObject | undefined {
    return this.#objects.get(`${plural} ${key}`);
  }

  /** The client of the operator: its writes meet the fates. */
  get client(): KubeClient {
    const write = <T>(effect: () => T): Promise<T> => this.#suffer(effect);
    const client = {
      get: async ({ plural }: Resource, key: ObjectKey) => structuredClone(this.#need(plural, keyOf(key))),
      create: ({ plural }: Resource, object: object) =>
        // Everyone may do everything, and nothing is written for the question.
        plural === subjectAccessReviews.plural
          ? Promise.resolve({ status: { allowed: true } })
          : write(() => this.create(plural, object as StoredObject)),
      replace: ({ plural }: Resource, key: ObjectKey, object: object, options: WriteOptions = {}) =>
        write(() => this.#replace(plural, keyOf(key), object as StoredObject, options)),
      mergePatch: ({ plural }: Resource, key: ObjectKey, patch: object, options: WriteOptions = {}) =>
        write(() => this.patch(plural, keyOf(key), patch as Json, options)),
      apply: ({ plural }: Resource, key: ObjectKey, object: object) =>
        write(() =>
          this.find(plural, keyOf(key)) === undefined
            ? this.create(plural, object as StoredObject)
            : this.patch(plural, keyOf(key), object as Json, { fieldManager: 'latchkey-operator' }),
        ),
      delete: ({ plural }: Resource, key: ObjectKey, options: { preconditions?: Json } = {}) =>
        write(() => this.delete(plural, keyOf(key), options.preconditions)),
    };
    return client as unknown as KubeClient;
  }

  create(plural: string, draft: StoredObject): StoredObject {
    const key = keyOf(draft.metadata);
    if (this.find(plural, key) !== undefined) throw refuse(409, 'AlreadyExists');
    const metadata = {
      ...draft.metadata,
      uid: randomUUID(),
      generation: 1,
      creationTimestamp: new Date(this.#now()).toISOString(),
    };
    return this.#put(plural, { ...structuredClone(draft), metadata } as StoredObject);
  }

  patch(plural: string, key: string, patch: Json, options: WriteOptions): StoredObject {
    const present = this.#need(plural, key);
    this.#check(present, (patch.metadata ?? {}) as Json);
    const body =
      options.subresource === 'status' ? { status: patch.status } : { ...patch, status: undefined };
    const merged = mergePatch(present, body) as StoredObject;
    return this.#store(plural, present, merged, options.fieldManager ?? 'somebody');
  }

  /** Whether it is gone. */
  delete(plural: string, key: string, preconditions: Json = {}): boolean {
    const present = this.#need(plural, key);
    this.#check(present, preconditions);
    if ((present.metadata.finalizers ?? []).length === 0) return this.#remove(plural, present);
    if (present.metadata.deletionTimestamp !== undefined) return false;
    const deletionTimestamp = new Date(this.#now()).toISOString();
    this.#put(plural, { ...present, metadata: { ...present.metadata, deletionTimestamp } });
    return false;
  }

  #replace(plural: string, key: string, object: StoredObject, options: WriteOptions): StoredObject {
    const present = this.#need(plural, key);
    this.#check(present, object.metadata as unknown as Json);
    return this.#store(plural, present, { ...present, ...object }, options.fieldManager ?? 'somebody');
  }

  #store(plural: string, before: StoredObject, after: StoredObject, manager: string): StoredObject {
    const changed = JSON.stringify(before.spec) !== JSON.stringify(after.spec);
    const { generation = 1 } = before.metadata;
    const managedFields = ownersOf(before, after, manager);
    const metadata = { ...after.metadata, generation: changed ? generation + 1 : generation, managedFields };
    const stored = { ...after, metadata } as StoredObject;
    const gone = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
    if (!gone) return this.#put(plural, stored);
    this.#remove(plural, stored);
    return stored;
  }

  #put(plural: string, object: StoredObject): StoredObject {
    const status = Object.entries(object.status ?? {}).filter(([name]) => !this.prunedStatus.includes(name));
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    const stored = { ...object, metadata, ...(object.status && { status: Object.fromEntries(status) }) };
    this.#objects.set(`${plural} ${keyOf(stored.metadata)}`, stored);
    this.changes.push({ plural, type: 'put', object: stored });
    return structuredClone(stored);
  }

  #remove(plural: string, object: StoredObject): true {
    this.#objects.delete(`${plural} ${keyOf(object.metadata)}`);
    this.changes.push({ plural, type: 'removed', object });
    return true;
  }

  #need(plural: string, key: string): StoredObject {
    const object = this.find(plural, key);
    if (object === undefined) throw refuse(404, 'NotFound');
    return object;
  }

  #check({ metadata }: StoredObject, { uid, resourceVersion }: Json): void {
    const fits = (uid ?? metadata.uid) === metadata.uid;
    if (!fits || (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion)
      throw refuse(409, 'Conflict');
  }

  async #suffer<T>(effect: () => T): Promise<T> {
    const fate = this.#fates();
    await Promise.resolve();
    if (fate === 'lost') throw unreachable(action, new Error('lost'));
    const result = effect();
    this.writes += 1;
    if (fate === 'unanswered') throw unreachable(action, new Error('unanswered'));
    return result;
  }
}

/** Managed fields of `spec.key` and `spec.disabled`: who changed a value last owns it. */
function ownersOf(before: StoredObject, after: StoredObject, manager: string) {
  const owners = new Map(before.metadata.managedFields?.map((entry) => [ownedField(entry), entry.manager]));
  for (const field of ['key', 'disabled']) {
    const value = after.spec?.[field];
    if (value === undefined) owners.delete(field);
    else if (value !== before.spec?.[field]) owners.set(field, manager);
  }
  return [...owners].map(([field, owner]) => ({
    manager: owner ?? '',
    operation: 'Update' as const,
    fieldsType: 'FieldsV1' as const,
    fieldsV1: { 'f:spec': { [`f:${field}`]: {} } },
  }));
}

function ownedField({ fieldsV1 }: { fieldsV1?: unknown }): string {
  const spec = (fieldsV1 as { 'f:spec'?: object } | undefined)?.['f:spec'] ?? {};
  return (Object.keys(spec)[0] ?? '').slice('f:'.length);
}
