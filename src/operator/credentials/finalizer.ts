import { finalizers } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import { finalizerReleased, type ObjectEvents } from '../shared/events.ts';
import type { CredentialStores } from './credential-stores.ts';
import type { CredentialWriter } from './credential-writer.ts';
import { deletingStatus } from './desired-status.ts';
import type { SecretRecord } from './secret-record.ts';
import type { SecretWriter } from './secret-writer.ts';

export interface FinalizerOptions {
  readonly stores: CredentialStores;
  /** Writes to the kind that is finalized. */
  readonly writer: CredentialWriter;
  /** Deletes a child, whatever its kind. */
  readonly deleteChild: (child: CredentialRecord) => Promise<void>;
  readonly secrets: SecretWriter;
  readonly events: ObjectEvents;
  /** Called for each release with something left behind. */
  readonly onReleased: () => void;
  readonly now: () => number;
  /** How long the object may wait for its clean-up, milliseconds. */
  readonly limitMs: number;
}

/** How often a finalization that waits for others is checked when no event comes. */
const recheckMs = 1_000;

/** Cleans up after a deleted credential, then lets its object go; at the time limit it goes in any case. */
export class Finalizer {
  readonly #options: FinalizerOptions;

  /** A deletion that came while no operator was there is not at its limit at once. */
  readonly #since: number;

  constructor(options: FinalizerOptions) {
    this.#options = options;
    this.#since = options.now();
  }

  async finalize(record: CredentialRecord): Promise<WorkResult | undefined> {
    const finalizer = finalizers[record.kind];
    if (!record.finalizers.includes(finalizer)) return undefined;
    if (record.finalizers.length > 1 && record.status.credentialHash !== undefined)
      return this.#strip(record);
    const { stores, now, limitMs } = this.#options;
    const secrets = stores.secrets.byIndex('owner', record.uid);
    const children = record.kind === 'OwnedAccessKey' ? stores.childrenOf(record.name) : [];
    const input = { record, children, secrets, now: now(), since: this.#since, limitMs };
    const { release, deleteChildren } = planFinalization(input);
    if (release !== 'done') await this.#clean(deleteChildren, secrets, release === 'limit');
    return release === undefined ? { requeueAfterMs: recheckMs } : this.#release(record, finalizer, release);
  }

  /** The last try, at the limit, must not stand in the way of the release. */
  async #clean(
    children: readonly CredentialRecord[],
    secrets: readonly SecretRecord[],
    last: boolean,
  ): Promise<void> {
    try {
      for (const child of children) await this.#options.deleteChild(child);
      await this.#options.secrets.deleteAll(secrets);
    } catch (error) {
      if (!last) throw error;
    }
  }

  async #strip(record: CredentialRecord): Promise<WorkResult> {
    await this.#options.writer.writeStatus(record, deletingStatus(record));
    return { requeueAfterMs: 0 };
  }

  async #release(record: CredentialRecord, finalizer: string, release: 'done' | 'limit'): Promise<undefined> {
    const { writer, events, onReleased } = this.#options;
    await writer.removeFinalizer(record, finalizer);
    if (release === 'done') return;
    events.publish(record, [finalizerReleased(leftBehind)]);
    onReleased();
  }
}

/** In the event about a finalizer that was released at its limit. */
export const leftBehind = 'something that belonged to the credential';

/** What is left to do before the finalizer of a deleted credential may go. Instants are epoch milliseconds. */
export interface Finalization {
  readonly deleteChildren: readonly CredentialRecord[];
  /** `done`: nothing is left. `limit`: something is, and the time is up. */
  readonly release?: 'done' | 'limit';
  /** When to check again at the latest. */
  readonly deadline: number;
}

export interface FinalizationInput {
  readonly record: CredentialRecord;
  /** Credentials that name this one as their access key. */
  readonly children: readonly CredentialRecord[];
  /** The Secrets that were made for this credential and still exist. */
  readonly secrets: readonly unknown[];
  readonly now: number;
  /** Since when someone could clean up: time without an operator does not count. */
  readonly since: number;
  readonly limitMs: number;
}

/**
 * Finalizers only clean up; the credential itself died with the deletion timestamp. They therefore never block for
 * good: at the limit the object goes and what is left is reported.
 */
export function planFinalization({
  record,
  children,
  secrets,
  now,
  since,
  limitMs,
}: FinalizationInput): Finalization {
  const deadline = Math.max(record.deleted ?? now, since) + limitMs;
  const pinned = children.filter((child) => child.status.accessKeyUID === record.uid);
  const deleteChildren = pinned.filter((child) => child.ephemeral && child.deleted === undefined);
  const waiting = pinned.filter((child) => child.ephemeral || !hasLostItsCredential(child));
  const left = waiting.length + secrets.length;
  const release = left === 0 ? 'done' : now >= deadline ? 'limit' : undefined;
  return { deleteChildren, deadline, ...(release === undefined ? {} : { release }) };
}

/** Whatever the reason that it gives: a child without a credential has nothing of its parent any more. */
function hasLostItsCredential(child: CredentialRecord): boolean {
  return child.deleted !== undefined || child.status.credentialHash === undefined;
}
