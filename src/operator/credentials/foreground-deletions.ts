import type { CredentialRecord } from '../../credentials/record.ts';
import type { SecretRecord } from './secret-record.ts';

/** Kubernetes sets it on what is deleted with `--cascade=foreground`, as Argo CD does. */
const foregroundFinalizer = 'foregroundDeletion';
/** It takes a fraction of a second, or some seconds while it is very busy or learns of new kinds. */
const maxHeadStartMs = 10_000;
const maxKnown = 1_000;

/** The watch of Secrets may bring their deletion after that of objects has brought what the garbage collector did next. */
const watchLagMs = 1_000;

interface Deletion {
  readonly since: number;
  /** When it was first seen that the garbage collector is done. */
  readonly collected?: number;
  /** The Secret that its readers know, where it was there at the beginning. */
  readonly secret: SecretRecord | undefined;
}

/**
 * Objects that are deleted in the foreground. The garbage collector deletes their Secrets at that very moment, then writes to the
 * object. So it has a head start: a second deletion of each would be a request for nothing, and a write beside its own a conflict.
 */
export class ForegroundDeletions {
  readonly #now: () => number;
  readonly #headStartMs: number;
  readonly #deletions = new Map<string, Deletion>();

  /** `limitMs`: how long an object may wait for its clean-up. */
  constructor(now: () => number, limitMs: number) {
    this.#now = now;
    this.#headStartMs = Math.min(maxHeadStartMs, limitMs / 2);
  }

  /** The object is being deleted. `secret`: the one that its readers know. */
  begin({ uid, finalizers }: CredentialRecord, secret: SecretRecord | undefined): void {
    if (!finalizers.includes(foregroundFinalizer) || this.#deletions.has(uid)) return;
    this.#deletions.set(uid, { since: this.#now(), secret });
    for (const oldest of this.#deletions.keys()) {
      if (this.#deletions.size <= maxKnown) break;
      this.#deletions.delete(oldest);
    }
  }

  /** Whether the object is left to the garbage collector for now. */
  isLeftToCollector({ uid, finalizers }: CredentialRecord): boolean {
    const deletion = this.#deletions.get(uid);
    const isAtWork = deletion !== undefined && finalizers.includes(foregroundFinalizer);
    return isAtWork && this.#now() < deletion.since + this.#headStartMs;
  }

  /** Whether its Secrets are. */
  areSecretsLeftToCollector(record: CredentialRecord): boolean {
    const { uid, finalizers } = record;
    const deletion = this.#deletions.get(uid);
    if (deletion === undefined || finalizers.includes(foregroundFinalizer))
      return this.isLeftToCollector(record);
    const { collected = this.#now() } = deletion;
    this.#deletions.set(uid, { ...deletion, collected });
    return this.#now() < collected + watchLagMs;
  }

  /** Something else has deleted that Secret. */
  forgetSecret({ uid }: CredentialRecord): void {
    const deletion = this.#deletions.get(uid);
    if (deletion !== undefined) this.#deletions.set(uid, { ...deletion, secret: undefined });
  }

  /** The object goes. Returns the Secret that its readers knew, where that was left to the garbage collector to the end. */
  end({ uid }: CredentialRecord): SecretRecord | undefined {
    const secret = this.#deletions.get(uid)?.secret;
    this.#deletions.delete(uid);
    return secret;
  }
}
