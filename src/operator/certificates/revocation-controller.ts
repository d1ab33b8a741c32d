import { formatTimestamp } from '../../api/instant.ts';
import { finalizers, systemNamespace } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { Logger } from '../../logger.ts';
import type { TargetClients } from '../../platform/targets/target-clients.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import {
  certificateNotRevoked,
  type ObjectEvents,
  revocationUnreadable,
  type TransitionEvent,
} from '../shared/events.ts';
import { RetrySchedule } from '../shared/retry-schedule.ts';
import type { CertificateRevoker, RevokeRequest } from './certificate-revoker.ts';
import type { RevocationRecord, RevocationRecords } from './revocation-records.ts';
import { isAhead } from './serials.ts';

export interface RevocationControllerOptions {
  readonly store: Pick<Store<RevocationRecord>, 'get'>;
  /** The kubeconfig of this UID, our own last write to it included. */
  readonly findOwner: (uid: string) => CredentialRecord | undefined;
  readonly records: Pick<RevocationRecords, 'complete'>;
  readonly revoker: Pick<CertificateRevoker, 'tryRevoke'>;
  readonly clients: Pick<TargetClients, 'forget'>;
  readonly events: Pick<ObjectEvents, 'publish'>;
  /** How many records wait for the same reason. */
  readonly pending: { inc(labels: PendingLabels): void; dec(labels: PendingLabels): void };
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

interface PendingLabels {
  readonly reason: Reason;
}

/** Revokes certificates whose objects are gone, until that has succeeded or they have ended by themselves. */
export class RevocationController {
  readonly #options: RevocationControllerOptions;
  readonly #retries: RetrySchedule;
  /** UIDs of records, and since when the object that is there names none of their certificates. */
  readonly #unnamedSince = new Map<string, { readonly newest: number; readonly since: number }>();

  /** By record: why it waits. */
  readonly #pending = new Map<string, Reason>();

  constructor(options: RevocationControllerOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#retries = new RetrySchedule(clock, { initialMs: 1_000, maxMs: 600_000, random });
  }

  /** Its virtual cluster answers again, so the pause after the last failure is over. Reconcile it then. */
  endPause({ uid }: RevocationRecord): void {
    this.#retries.succeeded(uid);
  }

  /** Level-based: the key is that of the record. */
  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { store, records, clock, log } = this.#options;
    const record = store.get(key);
    if (record === undefined) return this.#setPending(key, undefined);
    if (!record.readable) return this.#waitForPerson(record);
    const untilDue = this.#msUntilDue(record);
    if (untilDue > 0) return Number.isFinite(untilDue) ? { requeueAfterMs: untilDue } : undefined;
    const { ownerUID, notAfter, instance } = record;
    const rest = notAfter - clock.now();
    const waitMs = rest <= 0 ? 0 : await this.#revoke(record);
    if (waitMs > 0) return { requeueAfterMs: Math.min(waitMs, rest) };
    this.#retries.succeeded(record.uid);
    this.#setPending(key, undefined);
    this.#unnamedSince.delete(record.uid);
    const outcome = rest <= 0 ? 'ended' : 'revoked';
    log.info(
      { uid: ownerUID, instance: `${instance.namespace}/${instance.name}`, outcome },
      'revocation completed',
    );
    return void (await records.complete(record));
  }

  /**
   * Milliseconds until the record must be acted on. While the object names one of the certificates and has its finalizer,
   * the controller of kubeconfigs revokes. Right after a write it may name none yet, or the next one: hence the grace.
   */
  #msUntilDue(record: RevocationRecord): number {
    const object = this.#options.findOwner(record.ownerUID);
    const isGone = object === undefined || (object.deleted !== undefined && !isHeld(object));
    if (isGone) return 0;
    const { status } = object;
    const { boundSerials = [] } = status;
    if (boundSerials.length === 0 && !isAhead(record.serials, status)) return 0;
    if (boundSerials.some((serial) => record.serials.includes(serial))) {
      this.#unnamedSince.delete(record.uid);
      return Number.POSITIVE_INFINITY;
    }
    const now = this.#options.clock.monotonic();
    const newest = Math.max(...record.serials);
    const known = this.#unnamedSince.get(record.uid);
    // Each try to issue has a serial and a grace of its own: the grace of an earlier one must not end it.
    const since = known?.newest === newest ? known.since : now;
    this.#unnamedSince.set(record.uid, { newest, since });
    return Math.max(0, since + graceMs - now);
  }

  /** Milliseconds until the next try; 0: done. */
  async #revoke(record: RevocationRecord): Promise<number> {
    const { revoker, clients } = this.#options;
    const waiting = this.#retries.waiting(record.uid, record.resourceVersion);
    if (waiting !== undefined) return waiting.waitMs;
    // A client of its own: that of an instance which is there again is not ours to close.
    const source = { uid: record.name, secret: record.secret };
    try {
      const problem = await revoker.tryRevoke(source, this.#requestOf(record), record.instance.uid);
      if (problem === undefined) return 0;
      this.#logFailure(record, problem);
      this.#report(record, problem.reason, certificateNotRevoked(untilOf(record), problem));
      return this.#retries.failed(record.uid, record.resourceVersion, problem).waitMs;
    } finally {
      clients.forget(source.uid);
    }
  }

  /** No one knows what it is about, so nothing is done on its word. A person may mend it. */
  #waitForPerson(record: RevocationRecord): WorkResult {
    this.#report(record, reasons.revocationUnreadable, revocationUnreadable);
    return { requeueAfterMs: unreadableRetryMs };
  }

  /** Once for each cause, as an event about the record: the object that it is about is gone. */
  #report(record: RevocationRecord, reason: Reason, event: TransitionEvent): void {
    const { key, name, uid, resourceVersion } = record;
    if (this.#pending.get(key) === reason) return;
    this.#setPending(key, reason);
    const subject = { apiVersion: 'v1', kind: 'ConfigMap', namespace: systemNamespace };
    this.#options.events.publish({ ...subject, key, name, uid, resourceVersion }, [event]);
  }

  #setPending(key: string, reason: Reason | undefined): undefined {
    const { pending } = this.#options;
    const before = this.#pending.get(key);
    if (before === reason) return;
    if (before !== undefined) pending.dec({ reason: before });
    if (reason === undefined) this.#pending.delete(key);
    else {
      this.#pending.set(key, reason);
      pending.inc({ reason });
    }
  }

  /** The object is gone, and with it the place where a condition would say so. */
  #logFailure({ ownerUID, instance }: RevocationRecord, { reason, message }: TargetProblem): void {
    const fields = {
      uid: ownerUID,
      instance: `${instance.namespace}/${instance.name}`,
      reason,
      problem: message,
    };
    this.#options.log.warn(fields, 'revocation failed and will be tried again');
  }

  /** Of an object that is gone everything goes. Of a living one only what is on record here. */
  #requestOf(record: RevocationRecord): RevokeRequest {
    const { ownerUID: uid, serials, caFingerprint } = record;
    const isGone = this.#options.findOwner(uid) === undefined;
    return { uid, serials, live: [], caFingerprint, ...(isGone ? {} : { only: serials }) };
  }
}

const unreadableRetryMs = 60_000;

const untilOf = ({ notAfter }: RevocationRecord): string =>
  Number.isFinite(notAfter) ? formatTimestamp(notAfter) : 'it ends';

/** Longer than an issue takes. */
const graceMs = 30_000;

const isHeld = ({ kind, finalizers: present }: CredentialRecord): boolean =>
  present.includes(finalizers[kind]);
