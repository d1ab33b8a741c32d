import type { KubeClient, ObjectKey } from '../../src/kube/client/client.ts';
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

/** One Lease on an API server that answers when the clock says so, or never. */
export class FakeLeases implements Pick<KubeClient, 'get' | 'create' | 'replace'> {
  lease: Lease | undefined;
  /** For each request in turn; `undefined` loses it. */
  delays: () => Delays | undefined = () => ({ acts: 0, answers: 0 });
  /** Refuses everything while set. */
  refusal: Refusal | undefined;
  readonly requests: string[] = [];
  readonly #clock: Clock;
  #revision = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
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

function refused(code: number, reason: string): Refusal {
  return [code, reason];
}

function later(clock: Clock, delayMs: number, callback: () => void): void {
  if (delayMs <= 0) callback();
  else clock.setTimer(callback, delayMs);
}
