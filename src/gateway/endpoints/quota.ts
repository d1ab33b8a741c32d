import type { CredentialKind } from '../../api/credential-kinds.ts';
import { credentialKinds } from '../../api/credential-kinds.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { CredentialRecords } from '../index/credential-records.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';

export interface QuotaOptions {
  readonly records: Pick<CredentialRecords, 'ofKind'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Objects that one user may have made; absent: as many as they like. */
  readonly limits: Readonly<Partial<Record<CredentialKind, number>>>;
}

/** How many credentials one user may make through the gateway: every one is held in memory by every replica. */
export class Quota {
  readonly #options: QuotaOptions;
  /** Under way and not in the index yet, by kind and user. */
  readonly #underway = new Map<string, number>();

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** Takes a place for one more; an answer when there is none. Give it back when the index has the object, or it was not made. */
  enter(kind: CredentialKind, user: string): ErrorAnswer | undefined {
    const limit = this.#options.limits[kind];
    if (limit === undefined) return undefined;
    const key = `${kind} ${user}`;
    const underway = this.#underway.get(key) ?? 0;
    const made = this.#madeBy(kind, user);
    const held = made.filter((record) => isHeld(record, this.#options.now()));
    const isFull = held.length + underway >= limit || made.length + underway >= limit * maxPresent;
    const count = made.length + underway;
    const { plural: resource } = credentialKinds[kind];
    if (isFull)
      return errorAnswer('ERR_QUOTA', { user, count, resource }, { headers: ['retry-after', '60'] });
    this.#underway.set(key, underway + 1);
    return undefined;
  }

  leave(kind: CredentialKind, user: string): void {
    const key = `${kind} ${user}`;
    const underway = (this.#underway.get(key) ?? 0) - 1;
    if (underway > 0) this.#underway.set(key, underway);
    else this.#underway.delete(key);
  }

  #madeBy(kind: CredentialKind, user: string): readonly LiveRecord[] {
    const known = this.#options.records.ofKind[kind].byIndex('owner', user);
    return known.filter((record) => record.requester?.user === user);
  }
}

/** For each one that has not ended, so many may be there in all: what has ended goes some time later, and what was declared stays. */
const maxPresent = 20;

/**
 * A token that has ended is of no use to anybody. A key can be given life again. What is being deleted is still there, for as long
 * as its maker likes: with a finalizer of their own.
 */
function isHeld({ kind, status: { notAfter } }: LiveRecord, now: number): boolean {
  return kind === 'OwnedAccessKey' || notAfter === undefined || notAfter > now;
}
