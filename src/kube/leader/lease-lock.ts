import { leases } from '../../api/resources.ts';
import type { KubeClient } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { ignoreNotFound, isAlreadyExists, isConflict, isNotFound } from '../kube-error.ts';
import { isNewerVersion } from '../object.ts';
import { claimedSpec, type Lease, type LeaseSpec, releasedSpec } from './lease.ts';

export interface LeaseLockOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly clock: Clock;
  /** Further annotations of the lease, asked at each renewal. What is left out stays as it is. */
  readonly annotate?: (lease: Lease) => Readonly<Record<string, string>>;
}

/** One moment on both clocks: the monotonic one stands still while the machine sleeps, the wall clock may jump. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

interface Holder {
  readonly name: string;
  readonly durationMs: number;
  readonly observedAt: number;
}

/** Others may take it in so many milliseconds at the earliest: sooner only where the holder gives it back. */
export interface HeldByOther {
  readonly held: false;
  readonly holder: string;
  readonly freeInMs: number;
}

export type Attempt =
  /** We hold it, from before the request went out. `isRenewal`: for certain no other has held it since the attempt before. */
  { readonly held: true; readonly since: Moment; readonly isRenewal: boolean } | HeldByOther;

/**
 * One candidate's view of the lease. It never compares a time in the lease with its own clock: another holder has
 * lost the lease when we have seen the same record for a whole lease duration on our monotonic clock.
 */
export class LeaseLock {
  readonly #options: LeaseLockOptions;
  #lease: Lease | undefined;
  /** Of the last lease that was there: one that is deleted is made again with them. */
  #annotations: Readonly<Record<string, string>> | undefined;
  /** Of the last lease that was there: one that is deleted was not given back. */
  #holder: Holder = { name: '', durationMs: 0, observedAt: 0 };

  constructor(options: LeaseLockOptions) {
    this.#options = options;
  }

  /**
   * Takes or renews the lease where that is allowed, by up to three requests, each with this time limit. Rejects without an answer in time.
   */
  async attempt(timeoutMs: number): Promise<Attempt> {
    try {
      if (this.#heldByUs()) return await this.#claim(timeoutMs, true);
    } catch (error) {
      if (!isLostRace(error)) throw error;
    }
    await this.#observe(timeoutMs);
    const { name: holder } = this.#holder;
    const freeInMs = this.freeInMs();
    if (freeInMs > 0) return { held: false, holder, freeInMs };
    try {
      return await this.#claim(timeoutMs, false);
    } catch (error) {
      if (isLostRace(error)) return { held: false, holder, freeInMs: this.#options.leaseDurationMs };
      throw error;
    }
  }

  /** Of the lease as it was last seen; `undefined` where there is none. */
  get resourceVersion(): string | undefined {
    return this.#lease?.metadata.resourceVersion;
  }

  /** Of the lease as it was last seen. */
  annotation(name: string): string | undefined {
    return this.#lease?.metadata.annotations?.[name];
  }

  /** Whether no other process has held it since it was made. */
  get isNew(): boolean {
    return this.#lease?.spec?.leaseTransitions === 0;
  }

  /** A watch has brought it. What is older than what is known may come late, and counts for nothing. */
  observe(lease: Lease): void {
    const known = this.resourceVersion;
    const { resourceVersion = '' } = lease.metadata;
    if (known === undefined || isNewerVersion(resourceVersion, known)) this.#remember(lease);
  }

  /** In how many milliseconds another may take it that hears nothing more of the holder; 0 when it is given back. */
  freeInMs(): number {
    const { identity, leaseDurationMs, clock } = this.#options;
    const { name, durationMs, observedAt } = this.#holder;
    if (name === '' || name === identity) return 0;
    return Math.max(0, Math.max(leaseDurationMs, durationMs) - (clock.monotonic() - observedAt));
  }

  /** Gives the lease back. Call it only when nothing is written any more. */
  async release(timeoutMs: number): Promise<void> {
    if (!this.#heldByUs()) return;
    const lease = this.#lease;
    await this.#write(releasedSpec(lease?.spec, this.#options.clock.now()), timeoutMs);
  }

  #heldByUs(): boolean {
    return this.#lease?.spec?.holderIdentity === this.#options.identity;
  }

  async #claim(timeoutMs: number, isRenewal: boolean): Promise<Attempt> {
    const { identity, leaseDurationMs, clock } = this.#options;
    const since = { monotonic: clock.monotonic(), wall: clock.now() };
    const spec = claimedSpec(this.#lease?.spec, { identity, leaseDurationMs, now: since.wall });
    const lease = this.#lease;
    const added = isRenewal && lease !== undefined ? this.#options.annotate?.(lease) : undefined;
    await this.#write(spec, timeoutMs, added);
    return { held: true, since, isRenewal };
  }

  async #observe(timeoutMs: number): Promise<void> {
    const { client, namespace, name } = this.#options;
    const options = { timeoutMs, retries: 0 };
    const lease = await client.get<Lease>(leases, { namespace, name }, options).catch(ignoreNotFound);
    if (lease === undefined) this.#lease = undefined;
    else this.#remember(lease);
  }

  /** The resourceVersion makes it a compare-and-swap: of two candidates one gets a conflict. */
  async #write(spec: LeaseSpec, timeoutMs: number, added: object = {}): Promise<void> {
    const { client, namespace, name } = this.#options;
    const options = { timeoutMs, retries: 0, unguarded: true };
    const lease = this.#lease;
    if (lease === undefined) {
      const created = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace, ...(this.#annotations && { annotations: this.#annotations }) },
        spec,
      };
      this.#remember(await client.create<Lease>(leases, created, { ...options, namespace }));
    } else {
      const annotations = { ...lease.metadata.annotations, ...added };
      const metadata = { ...lease.metadata, ...(Object.keys(annotations).length > 0 && { annotations }) };
      const replaced = { ...lease, metadata, spec };
      this.#remember(await client.replace<Lease>(leases, { namespace, name }, replaced, options));
    }
  }

  #remember(lease: Lease): void {
    const known = this.#lease?.metadata;
    const { uid, resourceVersion } = lease.metadata;
    if (known?.uid !== uid || known.resourceVersion !== resourceVersion) {
      const { holderIdentity: name = '', leaseDurationSeconds = 0 } = lease.spec ?? {};
      const observedAt = this.#options.clock.monotonic();
      this.#holder = { name, durationMs: leaseDurationSeconds * 1000, observedAt };
    }
    this.#lease = lease;
    this.#annotations = lease.metadata.annotations;
  }
}

function isLostRace(error: unknown): boolean {
  return isConflict(error) || isAlreadyExists(error) || isNotFound(error);
}
