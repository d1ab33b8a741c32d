import { formatTimestamp } from '../../api/instant.ts';
import { finalizers, systemNamespace } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import { forEachConcurrently } from '../../kube/for-each-concurrently.ts';
import { keyOf } from '../../kube/object.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { Logger } from '../../logger.ts';
import type { TargetClients, TargetSource } from '../../platform/targets/target-clients.ts';
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
  /** With an index `secret`. */
  readonly store: Pick<Store<RevocationRecord>, 'get' | 'byIndex'>;
  /** The kubeconfig of this UID, our own last write to it included. */
  readonly findOwner: (uid: string) => CredentialRecord | undefined;
  readonly records: Pick<RevocationRecords, 'complete'>;
  readonly revoker: Pick<CertificateRevoker, 'tryRevoke' | 'tryRevokeTogether'>;
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
  /** By record: its version when it was completed, until the watch shows that it is gone. */
  readonly #completed = new Map<string, string>();
  /** Records with which a common pass was not done. They are tried one by one, so that none of them keeps others waiting. */
  readonly #alone = new Set<string>();

  constructor(options: RevocationControllerOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#retries = new RetrySchedule(clock, { initialMs: 1_000, maxMs: 600_000, random });
  }

  /** Its virtual cluster answers again, so no long pause is due any more. Reconcile it then. */
  endPause({ key, uid }: RevocationRecord): void {
    this.#retries.resume(uid);
    this.#alone.delete(key);
  }

  /** Level-based: the key is that of the record. */
  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { store, clock } = this.#options;
    const record = store.get(key);
    if (record === undefined) return this.#forget(key);
    if (this.#completed.get(key) === versionOf(record)) return undefined;
    if (!record.readable) return this.#waitForPerson(record);
    // It can be read now. What it waits for, if anything, is reported where that is found out.
    if (this.#pending.get(key) === reasons.revocationUnreadable) this.#setPending(key, undefined);
    const untilDue = this.#msUntilDue(record);
    if (untilDue > 0) return Number.isFinite(untilDue) ? { requeueAfterMs: untilDue } : undefined;
    const rest = record.notAfter - clock.now();
    const waitMs = rest <= 0 ? 0 : await this.#revoke(record);
    if (waitMs > 0) return { requeueAfterMs: Math.min(waitMs, rest) };
    return void (await this.#complete(record, rest <= 0 ? 'ended' : 'revoked'));
  }

  async #complete(record: RevocationRecord, outcome: 'ended' | 'revoked'): Promise<void> {
    const { store, records, log } = this.#options;
    const { key, ownerUID, instance } = record;
    this.#retries.succeeded(record.uid);
    this.#setPending(key, undefined);
    this.#unnamedSince.delete(record.uid);
    log.info(
      { uid: ownerUID, instance: `${instance.namespace}/${instance.name}`, outcome },
      'revocation completed',
    );
    await records.complete(record);
    // The watch may have been faster, and then nothing would ever forget it.
    if (store.get(key) !== undefined) this.#completed.set(key, versionOf(record));
  }

  #forget(key: string): undefined {
    this.#completed.delete(key);
    this.#alone.delete(key);
    return this.#setPending(key, undefined);
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
    const waiting = this.#waiting(record);
    if (waiting !== undefined) return waiting.waitMs;
    // A client of its own: that of an instance which is there again is not ours to close.
    const source = { uid: record.name, secret: record.secret };
    try {
      const others = this.#others(record);
      if (others.length > 0 && (await this.#revokeTogether(source, [record, ...others]))) return 0;
      const failed = this.#waiting(record);
      if (failed !== undefined) return failed.waitMs;
      const outcome = await revoker.tryRevoke(source, this.#requestOf(record), record.instance.uid);
      return 'problem' in outcome ? this.#fail([record], outcome.problem) : 0;
    } finally {
      clients.forget(source.uid);
    }
  }

  #waiting({ uid, resourceVersion }: RevocationRecord) {
    return this.#retries.waiting(uid, resourceVersion);
  }

  /**
   * Other revocations in the same virtual cluster, by the same way into it. Also what waits after a failure: one try is
   * enough for all.
   */
  #others(record: RevocationRecord): readonly RevocationRecord[] {
    if (this.#alone.has(record.key)) return [];
    const now = this.#options.clock.now();
    const place = placeOf(record);
    // A virtual cluster may have thousands of living certificates on record, so what costs most is asked last.
    const isDue = (other: RevocationRecord) =>
      other.key !== record.key &&
      other.readable &&
      other.notAfter > now &&
      !this.#alone.has(other.key) &&
      this.#completed.get(other.key) !== versionOf(other) &&
      this.#msUntilDue(other) === 0 &&
      placeOf(other) === place;
    const found: RevocationRecord[] = [];
    for (const other of this.#options.store.byIndex('secret', keyOf(record.secret))) {
      if (found.length === maxTogether - 1) break;
      if (isDue(other)) found.push(other);
    }
    return found;
  }

  /** Completes the others that it was done with. Resolves with whether it was done with the first. */
  async #revokeTogether(
    source: TargetSource,
    together: readonly [RevocationRecord, ...RevocationRecord[]],
  ): Promise<boolean> {
    const { revoker } = this.#options;
    const [first, ...others] = together;
    const requests = [this.#requestOf(first), ...others.map((record) => this.#requestOf(record))] as const;
    let isSilent = true;
    const onAnswer = () => {
      isSilent = false;
    };
    const outcome = await revoker.tryRevokeTogether(source, requests, {
      memory: first.instance.uid,
      onAnswer,
    });
    if ('problem' in outcome) {
      // Where nothing is answered none of them is to blame, and a try for each would be one for nothing.
      if (!isSilent) this.#tryAlone(together);
      this.#fail(together, outcome.problem);
      return false;
    }
    const { done, untried } = outcome.value;
    this.#tryAlone(together.filter(({ ownerUID }) => !untried.has(ownerUID)));
    const finished = others.filter(({ ownerUID }) => done.has(ownerUID));
    await forEachConcurrently(finished, completionConcurrency, (record) => this.#complete(record, 'revoked'));
    return done.has(first.ownerUID);
  }

  #tryAlone(records: readonly RevocationRecord[]): void {
    for (const { key } of records) if (this.#options.store.get(key) !== undefined) this.#alone.add(key);
  }

  /**
   * After one try for all of them. Milliseconds until the next one for the first. The objects are gone, and with them the place
   * where a condition would say so.
   */
  #fail(together: readonly [RevocationRecord, ...RevocationRecord[]], problem: TargetProblem): number {
    const [first, ...others] = together;
    const { reason, message } = problem;
    const instance = `${first.instance.namespace}/${first.instance.name}`;
    const fields = { uid: first.ownerUID, instance, records: together.length, reason, problem: message };
    this.#options.log.warn(fields, 'revocation failed and will be tried again');
    for (const record of others) this.#postpone(record, problem);
    return this.#postpone(first, problem);
  }

  #postpone(record: RevocationRecord, problem: TargetProblem): number {
    this.#report(record, problem.reason, certificateNotRevoked(untilOf(record), problem));
    return this.#retries.failed(record.uid, record.resourceVersion, problem).waitMs;
  }

  /** No one knows what it is about, so nothing is done on its word. It may become readable: by an operator of another release. */
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

  /** Of an object that is gone everything goes. Of a living one only what is on record here. */
  #requestOf(record: RevocationRecord): RevokeRequest {
    const { ownerUID: uid, serials, caFingerprint } = record;
    const isGone = this.#options.findOwner(uid) === undefined;
    return { uid, serials, live: [], caFingerprint, ...(isGone ? {} : { only: serials }) };
  }
}

const unreadableRetryMs = 60_000;
/** Records in one pass. Where the virtual cluster is slow it does what it has time for, and the next one the rest. */
const maxTogether = 1_000;
/** Records that are deleted at the same time. */
const completionConcurrency = 8;

const versionOf = ({ uid, resourceVersion }: RevocationRecord): string => `${uid}/${resourceVersion}`;

/** The place of a pass: the virtual cluster, and the way into it. */
const placeOf = ({ instance, secret, caFingerprint }: RevocationRecord): string =>
  JSON.stringify([instance, Object.entries(secret).toSorted(), caFingerprint]);

const untilOf = ({ notAfter }: RevocationRecord): string =>
  Number.isFinite(notAfter) ? formatTimestamp(notAfter) : 'it ends';

/** Longer than an issue takes. */
const graceMs = 30_000;

const isHeld = ({ kind, finalizers: present }: CredentialRecord): boolean =>
  present.includes(finalizers[kind]);
