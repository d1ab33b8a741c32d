import { finalizers } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../kube/logger.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { TargetClients } from '../../platform/targets/target-clients.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { RetryTimes } from './retry-times.ts';
import type { RevocationRecord } from './revocation-record.ts';
import type { RevocationRecords } from './revocation-records.ts';
import type { Withdrawal, Withdrawals } from './withdrawals.ts';

export interface RevocationControllerOptions {
  readonly store: Pick<Store<RevocationRecord>, 'get'>;
  readonly credentials: Pick<CredentialStores, 'byUID' | 'kubeConfig'>;
  readonly records: Pick<RevocationRecords, 'complete'>;
  readonly withdrawals: Pick<Withdrawals, 'tryIn'>;
  readonly clients: Pick<TargetClients, 'forget'>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** Withdraws certificates whose objects are gone, until that has succeeded or they have ended by themselves. */
export class RevocationController {
  readonly #options: RevocationControllerOptions;
  readonly #retries: RetryTimes;
  /** UIDs of records, and since when the object that is there names none of their certificates. */
  readonly #unnamedSince = new Map<string, number>();

  constructor(options: RevocationControllerOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#retries = new RetryTimes(clock, { initialMs: 1_000, maxMs: 600_000, random });
  }

  /** Level-based: the key is that of the record. */
  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { store, records, clock, log } = this.#options;
    const record = store.get(key);
    if (record === undefined) return undefined;
    const graceMs = this.#graceOf(record);
    if (graceMs > 0) return Number.isFinite(graceMs) ? { requeueAfterMs: graceMs } : undefined;
    const { ownerUID, notAfter, instance } = record;
    const rest = notAfter - clock.now();
    const waitMs = rest <= 0 ? 0 : await this.#withdraw(record);
    if (waitMs > 0) return { requeueAfterMs: Math.min(waitMs, rest) };
    this.#retries.succeeded(record.uid);
    this.#unnamedSince.delete(record.uid);
    const outcome = rest <= 0 ? 'ended' : 'withdrawn';
    log.info(
      { uid: ownerUID, instance: `${instance.namespace}/${instance.name}`, outcome },
      'revocation completed',
    );
    return void (await records.complete(record));
  }

  /** The object as it is, our own last write to it included. */
  #objectOf({ ownerUID }: RevocationRecord): CredentialRecord | undefined {
    const { credentials } = this.#options;
    const [found] = credentials.byUID(ownerUID);
    const object = found && credentials.kubeConfig(found.key);
    return object?.uid === ownerUID ? object : undefined;
  }

  /**
   * Milliseconds until the record must be acted on. As long as the object names one of the certificates and has its
   * finalizer, the controller of kubeconfigs withdraws; for a moment it names another already while it replaces one.
   */
  #graceOf(record: RevocationRecord): number {
    const object = this.#objectOf(record);
    const isGone = object === undefined || (object.deleted !== undefined && !isHeld(object));
    const boundSerials = object?.status.boundSerials ?? [];
    if (isGone || boundSerials.length === 0) return 0;
    if (boundSerials.some((serial) => record.serials.includes(serial))) {
      this.#unnamedSince.delete(record.uid);
      return Number.POSITIVE_INFINITY;
    }
    const now = this.#options.clock.monotonic();
    const since = this.#unnamedSince.get(record.uid) ?? now;
    this.#unnamedSince.set(record.uid, since);
    return Math.max(0, since + grace - now);
  }

  /** Milliseconds until the next try; 0: done. */
  async #withdraw(record: RevocationRecord): Promise<number> {
    const { withdrawals, clients } = this.#options;
    const waiting = this.#retries.waiting(record.uid, record.resourceVersion);
    if (waiting !== undefined) return waiting.waitMs;
    // A client of its own: that of an instance which is there again is not ours to close.
    const source = { uid: record.name, secret: record.secret };
    try {
      const problem = await withdrawals.tryIn(source, this.#withdrawalOf(record), record.instance.uid);
      if (problem === undefined) return 0;
      return this.#retries.failed(record.uid, record.resourceVersion, problem).waitMs;
    } finally {
      clients.forget(source.uid);
    }
  }

  /** Of an object that is gone everything goes, whatever was noted; of a living one only what was noted here. */
  #withdrawalOf(record: RevocationRecord): Withdrawal {
    const { ownerUID: uid, serials, authority } = record;
    const isGone = this.#objectOf(record) === undefined;
    return { uid, serials, live: [], authority, ...(isGone ? {} : { only: serials }) };
  }
}

/** Longer than an issue takes, milliseconds. */
const grace = 30_000;

const isHeld = ({ kind, finalizers: present }: CredentialRecord): boolean =>
  present.includes(finalizers[kind]);
