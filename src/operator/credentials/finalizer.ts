import type { CredentialRecord } from '../../credentials/record.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { CredentialEvents } from './credential-events.ts';
import type { CredentialStores } from './credential-stores.ts';
import type { CredentialWriter } from './credential-writer.ts';
import { deletingStatus } from './deleting-status.ts';
import { finalizationOf } from './finalization.ts';
import type { SecretRecord } from './secret-record.ts';
import type { SecretWriter } from './secret-writer.ts';

export interface FinalizerOptions {
  readonly stores: CredentialStores;
  /** Writes to the kind that is finalized. */
  readonly writer: CredentialWriter;
  /** Deletes a child, whatever its kind. */
  readonly deleteChild: (child: CredentialRecord) => Promise<void>;
  readonly secrets: SecretWriter;
  readonly events: CredentialEvents;
  /** Hears of each release with something left behind. */
  readonly onReleased: () => void;
  readonly now: () => number;
  /** How long the object may wait for its clean-up, milliseconds. */
  readonly limitMs: number;
}

/** How often a finalization that waits for others is looked at when no event comes, milliseconds. */
const recheck = 1_000;

/** Cleans up after a deleted credential, then lets its object go; at the time limit it goes in any case. */
export class Finalizer {
  readonly #options: FinalizerOptions;

  /** A deletion that came while no operator was there is not at its limit at once. */
  readonly #since: number;

  constructor(options: FinalizerOptions) {
    this.#options = options;
    this.#since = options.now();
  }

  async finalize(record: CredentialRecord, finalizer: string): Promise<WorkResult | undefined> {
    if (!record.finalizers.includes(finalizer)) return undefined;
    if (record.finalizers.length > 1 && record.status.credentialHash !== undefined)
      return this.#strip(record);
    const { stores, now, limitMs } = this.#options;
    const secrets = stores.secrets.byIndex('owner', record.uid);
    const children = record.kind === 'OwnedAccessKey' ? stores.childrenOf(record.name) : [];
    const input = { record, children, secrets, now: now(), since: this.#since, limitMs };
    const { release, deleteChildren } = finalizationOf(input);
    if (release !== 'done') await this.#clean(deleteChildren, secrets, release === 'limit');
    return release === undefined ? { requeueAfterMs: recheck } : this.#release(record, finalizer, release);
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
    events.finalizerReleased(record);
    onReleased();
  }
}
