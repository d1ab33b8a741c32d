import { finalizers } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import { finalizerReleased, type ObjectEvents, type TransitionEvent } from '../shared/events.ts';
import type { CredentialStores } from './credential-stores.ts';
import type { CredentialWriter } from './credential-writer.ts';
import { deletingStatus } from './desired-status.ts';
import { ForegroundDeletions } from './foreground-deletions.ts';
import { type SecretRecord, secretKeyOf, secretSubject } from './secret-record.ts';
import type { SecretWriter } from './secret-writer.ts';

/** In the event about a finalizer that was released at its limit. */
export const leftBehind = 'something that belonged to the credential';

/** The remainder of a clean-up: `hopeless` is something that waiting does not help against. */
export type Remainder = 'nothing' | 'something' | 'hopeless';

export interface FinalizerOptions {
  readonly stores: Pick<CredentialStores, 'secretsOf'>;
  readonly writer: Pick<CredentialWriter, 'writeStatus' | 'removeFinalizer'>;
  readonly secrets: Pick<SecretWriter, 'deleteAll'>;
  readonly events: Pick<ObjectEvents, 'publish'>;
  /** Called for each release with something left behind. */
  readonly onReleased: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Since when this process works on objects, epoch milliseconds: time without an operator does not count. */
  readonly workingSince: () => number;
  /** How long the object may wait for its clean-up, milliseconds. */
  readonly limitMs: number;
}

export interface Cleaned {
  readonly left: Remainder;
  /** Said when the object goes with something left. Default: that something may be left. */
  readonly notice?: TransitionEvent;
  /** Called before the object goes when nothing is left. */
  readonly forget?: () => Promise<void>;
}

/** Cleans up what a kind of credential leaves behind besides its Secrets. `isLate`: the object goes now, whatever is left. */
export type CleanUp = (record: CredentialRecord, isLate: boolean) => Promise<Cleaned>;

/** How often a finalization that waits for others is checked when no event comes. */
const recheckMs = 1_000;
const maxReleased = 1_000;

/** Cleans up after a deleted credential, then lets its object go; at the time limit it goes in any case. */
export class Finalizer {
  readonly #options: FinalizerOptions;
  readonly #cleanUp: CleanUp;
  readonly #foreground: ForegroundDeletions;
  /** UIDs of objects that were let go and may still be in the store. */
  readonly #released = new Set<string>();

  constructor(options: FinalizerOptions, cleanUp: CleanUp = async () => ({ left: 'nothing' })) {
    this.#options = options;
    this.#cleanUp = cleanUp;
    this.#foreground = new ForegroundDeletions(options.now, options.limitMs);
  }

  async finalize(record: CredentialRecord): Promise<WorkResult | undefined> {
    const { now, workingSince, limitMs, stores } = this.#options;
    if (!record.finalizers.includes(finalizers[record.kind]) || this.#released.has(record.uid))
      return undefined;
    if (record.finalizers.length > 1 && record.status.credentialHash !== undefined)
      return this.#strip(record);
    const deadline = deadlineOf(record, { now: now(), since: workingSince(), limitMs });
    const { left, notice, forget } = await this.#clean(record, now() >= deadline);
    // By now the watch has often told that the Secrets are gone.
    const secrets = stores.secretsOf(record.uid).length;
    const release = releaseOf({ secrets, left, now: now(), deadline });
    if (release === undefined || this.#foreground.isLeftToCollector(record))
      return { requeueAfterMs: recheckMs };
    const heldForMs = exchangeHoldOf(record) - now();
    if (heldForMs > 0) return { requeueAfterMs: heldForMs };
    if (left === 'nothing') await forget?.();
    return this.#release(record, release === 'done' ? [] : [finalizerReleased(leftBehind), notice]);
  }

  /**
   * A revocation outside does not wait for a Secret that cannot be deleted. The last try, at the limit, must not stand in
   * the way of the release.
   */
  async #clean(record: CredentialRecord, last: boolean): Promise<Cleaned> {
    const [deleted, cleaned] = await Promise.allSettled([
      this.#deleteSecrets(record),
      this.#cleanUp(record, last),
    ]);
    if (cleaned.status === 'fulfilled' && (deleted.status === 'fulfilled' || last)) return cleaned.value;
    if (!last) throw rejectionOf(cleaned) ?? rejectionOf(deleted);
    return { left: 'something' };
  }

  /** Only the Secret that its readers know is worth an event: anyone may make others that look like it. */
  async #deleteSecrets(record: CredentialRecord): Promise<void> {
    const { secrets, stores } = this.#options;
    const place = secretKeyOf(record);
    const present = stores.secretsOf(record.uid);
    const known = present.find(({ key }) => key === place);
    this.#foreground.begin(record, known);
    if (this.#foreground.areSecretsLeftToCollector(record)) return;
    await secrets.deleteAll(present, (secret) => {
      if (secret !== known) return;
      this.#foreground.forgetSecret(record);
      this.#reportSecret(secret);
    });
  }

  #reportSecret(secret: SecretRecord): void {
    this.#options.events.publish(secretSubject(secret), [secretDeleted]);
  }

  async #strip(record: CredentialRecord): Promise<WorkResult> {
    await this.#options.writer.writeStatus(record, deletingStatus(record));
    return { requeueAfterMs: 0 };
  }

  async #release(
    record: CredentialRecord,
    notices: readonly (TransitionEvent | undefined)[],
  ): Promise<undefined> {
    const { writer, events, onReleased } = this.#options;
    await writer.removeFinalizer(record, finalizers[record.kind]);
    this.#addReleased(record.uid);
    const collected = this.#foreground.end(record);
    if (collected !== undefined) this.#reportSecret(collected);
    const told = notices.filter((notice) => notice !== undefined);
    const isLeft = notices.length > 0;
    // Work that was left to its record is not known here.
    const mayWork = isLeft || record.kubeConfig?.clientCert === true;
    events.publish(record, [credentialDeleted(record, mayWork), ...told]);
    if (isLeft) onReleased();
  }

  #addReleased(uid: string): void {
    this.#released.add(uid);
    for (const oldest of this.#released) {
      if (this.#released.size <= maxReleased) break;
      this.#released.delete(oldest);
    }
  }
}

/**
 * The last event about a credential: who looks for it later finds when it ended, and that it did not just expire. `mayWork`:
 * something may be left of it, and a certificate works as long as its bindings are there.
 */
export function credentialDeleted(
  { status: { serial } }: CredentialRecord,
  mayWork: boolean,
): TransitionEvent {
  const which =
    serial === 0
      ? 'No credential was ever issued for it.'
      : `The credential with serial ${serial} has ended.`;
  const note = `The object was deleted.${mayWork ? '' : ` ${which}`}`;
  return { type: 'Normal', reason: reasons.deleted, action: 'Delete', note };
}

/** About the Secret. Whether the credential has ended, it cannot say: a certificate works on until its bindings are gone. */
const secretDeleted: TransitionEvent = {
  type: 'Normal',
  reason: reasons.deleted,
  action: 'Delete',
  note: 'The credential was deleted, and this Secret with it.',
};

const rejectionOf = (result: PromiseSettledResult<unknown>): unknown =>
  result.status === 'rejected' ? result.reason : undefined;

interface Limit {
  readonly now: number;
  /** Since when someone could clean up: time without an operator does not count. */
  readonly since: number;
  readonly limitMs: number;
}

/** A token is good for no longer than a day, and some minutes more where clocks differ. */
const maxExchangeHoldMs = 86_400_000 + 300_000;

/**
 * Until when a key that came of a token stays, deleted as it is, epoch milliseconds: its name keeps the same token from being
 * exchanged once more.
 */
export const exchangeHoldOf = ({ exchangedUntil = 0, created }: CredentialRecord): number =>
  Math.min(exchangedUntil, created + maxExchangeHoldMs);

/** When a deleted object goes in any case, epoch milliseconds. */
export function deadlineOf({ deleted }: CredentialRecord, { now, since, limitMs }: Limit): number {
  return Math.max(deleted ?? now, since) + limitMs;
}

export interface Finalization {
  /** Secrets that were made for the credential and still exist. */
  readonly secrets: number;
  /** Besides them. */
  readonly left: Remainder;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly deadline: number;
}

/**
 * Whether the finalizer of a deleted credential may go: `done` with nothing left, `left` with something. Finalizers only
 * clean up, because the credential itself died with the deletion timestamp. So they never block for good.
 */
export function releaseOf({ secrets, left, now, deadline }: Finalization): 'done' | 'left' | undefined {
  if (secrets === 0 && left === 'nothing') return 'done';
  if (now >= deadline) return 'left';
  return secrets === 0 && left === 'hopeless' ? 'left' : undefined;
}
