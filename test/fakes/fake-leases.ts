import type { KubeClient, ObjectKey } from '../../src/kube/client/client.ts';
import type { ObjectEvent, WatchEvent } from '../../src/kube/client/watch-stream.ts';
import type { Clock } from '../../src/kube/clock.ts';
import { kubeErrorFromStatus, timedOut } from '../../src/kube/kube-error.ts';
import type { Lease } from '../../src/kube/leader/lease.ts';
import { statusOf } from './exchange.ts';

/** How one request fares: milliseconds until the server has acted, and until its answer is back. */
export interface Delays {
  readonly acts: number;
  readonly answers: number;
}

type Refusal = [code: number, reason: string];

type Listener = (event: ObjectEvent | undefined) => void;

/** One Lease on an API server that answers when the clock says so, or never. */
export class FakeLeases implements Pick<KubeClient, 'get' | 'create' | 'replace' | 'watch'> {
  #lease: Lease | undefined;
  /** For each request in turn; `undefined` loses it. */
  delays: () => Delays | undefined = () => ({ acts: 0, answers: 0 });
  /** Refuses everything while set. */
  refusal: Refusal | undefined;
  /** Refuses watches while set. */
  watchRefusal: Refusal | undefined;
  /** For each event of each watch in turn: how late it comes; `undefined` cuts the watch instead. */
  lateness: () => number | undefined = () => 0;
  /** Open watches stay open and bring nothing more. */
  isMute = false;
  readonly requests: string[] = [];
  readonly #clock: Clock;
  readonly #watches = new Set<Listener>();
  #revision = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** Watches hear of it. */
  set lease(lease: Lease | undefined) {
    const type = lease === undefined ? 'DELETED' : 'MODIFIED';
    const object = structuredClone(lease ?? this.#lease);
    this.#lease = lease;
    if (object === undefined || this.isMute) return;
    for (const listener of [...this.#watches]) listener({ type, object });
  }

  /** Every open watch ends. */
  cutWatches(): void {
    for (const listener of [...this.#watches]) listener(undefined);
  }

  async *watch(
    path: string,
    query: URLSearchParams,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent> {
    this.requests.push('watch');
    const refusal = this.watchRefusal ?? this.refusal;
    if (refusal !== undefined)
      throw kubeErrorFromStatus({ verb: 'WATCH', path }, refusal[0], statusOf(...refusal));
    const stream = new EventStream(this.#clock, () => this.lateness());
    const listener: Listener = (event) => stream.push(event);
    this.#watches.add(listener);
    const onAbort = () => stream.push(undefined);
    signal.addEventListener('abort', onAbort);
    try {
      if (signal.aborted) stream.push(undefined);
      const { lease } = this;
      // The change since the version that the watch asks for.
      if (lease !== undefined && lease.metadata.resourceVersion !== query.get('resourceVersion'))
        stream.push({ type: 'MODIFIED', object: structuredClone(lease) });
      yield* stream;
      signal.throwIfAborted();
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#watches.delete(listener);
    }
  }

  get<T>(_resource: unknown, _key: ObjectKey, options: { timeoutMs?: number } = {}): Promise<T> {
    return this.#exchange('get', options, () => this.lease ?? [404, 'NotFound']) as Promise<T>;
  }

  create<T>(_resource: unknown, object: object, options: { timeoutMs?: number } = {}): Promise<T> {
    const act = () =>
      this.lease === undefined ? this.#store(object as Lease) : refused(409, 'AlreadyExists');
    return this.#exchange('create', options, act) as Promise<T>;
  }

  replace<T>(
    _resource: unknown,
    _key: ObjectKey,
    object: object,
    options: { timeoutMs?: number } = {},
  ): Promise<T> {
    const act = () => {
      if (this.lease === undefined) return refused(404, 'NotFound');
      const isStale = (object as Lease).metadata.resourceVersion !== this.lease.metadata.resourceVersion;
      return isStale ? refused(409, 'Conflict') : this.#store(object as Lease);
    };
    return this.#exchange('replace', options, act) as Promise<T>;
  }

  #store(lease: Lease): Lease {
    const metadata = { ...lease.metadata, uid: 'lease', resourceVersion: String(++this.#revision) };
    this.lease = structuredClone({ ...lease, metadata });
    return this.lease;
  }

  #exchange(verb: string, options: { timeoutMs?: number }, act: () => Lease | Refusal): Promise<Lease> {
    this.requests.push(verb);
    const { timeoutMs = 10_000 } = options;
    const action = { verb, path: '/lease' };
    const delays = this.delays();
    return new Promise((resolve, reject) => {
      const timeout = this.#clock.setTimer(() => reject(timedOut(action, timeoutMs)), timeoutMs);
      if (delays === undefined) return;
      later(this.#clock, delays.acts, () => {
        const result = this.refusal ?? act();
        later(this.#clock, delays.answers - delays.acts, () => {
          timeout.cancel();
          if (Array.isArray(result)) reject(kubeErrorFromStatus(action, result[0], statusOf(...result)));
          else resolve(structuredClone(result));
        });
      });
    });
  }
}

/** In order, each as late as it is said to come. */
class EventStream {
  readonly #clock: Clock;
  readonly #lateness: () => number | undefined;
  readonly #arrived: (ObjectEvent | undefined)[] = [];
  #news = Promise.withResolvers<void>();

  constructor(clock: Clock, lateness: () => number | undefined) {
    this.#clock = clock;
    this.#lateness = lateness;
  }

  /** `undefined` ends it, at once. */
  push(event: ObjectEvent | undefined): void {
    const late = event === undefined ? undefined : this.#lateness();
    later(this.#clock, late ?? 0, () => {
      this.#arrived.push(late === undefined ? undefined : event);
      this.#news.resolve();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ObjectEvent> {
    for (;;) {
      await this.#news.promise;
      this.#news = Promise.withResolvers();
      for (const event of this.#arrived.splice(0)) {
        if (event === undefined) return;
        yield event;
      }
    }
  }
}

function refused(code: number, reason: string): Refusal {
  return [code, reason];
}

function later(clock: Clock, delayMs: number, callback: () => void): void {
  if (delayMs <= 0) callback();
  else clock.setTimer(callback, delayMs);
}
