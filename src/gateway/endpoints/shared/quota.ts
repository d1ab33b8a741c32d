import { type CredentialKind, credentialKinds } from '../../../api/credential-kinds.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import type { CredentialRecords } from '../../index/credential-records.ts';
import { errorAnswer } from '../../server/error-answer.ts';
import { Refusal } from './reply.ts';

interface QuotaOptions {
  readonly records: Pick<CredentialRecords, 'ofKind'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Objects that one user may have made; absent: as many as they like. */
  readonly limits: Readonly<Partial<Record<CredentialKind, number | undefined>>>;
}

/** Room for what one request makes. Release it when the index has the object, or when it was not made. */
export class QuotaPermit {
  readonly #free: () => void;
  #uid: string | undefined;
  #removal: Promise<void> | undefined;

  constructor(free: () => void) {
    this.#free = free;
  }

  /** Of the object, once it is made: the index may count it from then on, while the request still waits for the operator. */
  get uid(): string | undefined {
    return this.#uid;
  }

  made(uid: string | undefined): void {
    this.#uid = uid;
  }

  /** No one knows whether anything was made: it counts until that has been taken away. */
  keepUntil(removal: Promise<void>): void {
    this.#removal = removal;
  }

  /** A client that leaves makes no room: what may come of its request is still to be taken away. */
  release(): void {
    if (this.#removal === undefined) this.#free();
    else void this.#removal.then(this.#free, this.#free);
  }
}

interface Counted {
  readonly kind: CredentialKind;
  readonly user: string;
  readonly limit: number;
  readonly underway: ReadonlySet<QuotaPermit>;
}

/** How many credentials one user may make through the gateway: every one is held in memory by every replica. */
export class Quota {
  readonly #options: QuotaOptions;
  /** Permits of what is being made, by kind and user. */
  readonly #underway = new Map<string, Set<QuotaPermit>>();

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** For an object that the user is about to make. Throws a Refusal. */
  acquire(kind: CredentialKind, user: string): QuotaPermit {
    const permit = new QuotaPermit(() => this.#free(kind, user, permit));
    const limit = this.#options.limits[kind];
    if (limit === undefined) return permit;
    const key = `${kind} ${user}`;
    const underway = this.#underway.get(key) ?? new Set();
    const refusal = this.#refuse({ kind, user, limit, underway });
    if (refusal !== undefined) throw refusal;
    this.#underway.set(key, underway.add(permit));
    return permit;
  }

  #free(kind: CredentialKind, user: string, permit: QuotaPermit): void {
    const key = `${kind} ${user}`;
    const underway = this.#underway.get(key);
    underway?.delete(permit);
    if (underway?.size === 0) this.#underway.delete(key);
  }

  #refuse({ kind, user, limit, underway }: Counted): Refusal | undefined {
    // More than there are, and quickly told: nearly everybody is far from the limit.
    const most = this.#options.records.ofKind[kind].countByIndex('owner', user) + underway.size;
    if (most < limit) return undefined;
    const made = this.#madeBy(kind, user);
    const coming = countOutside(made, underway);
    const held = made.filter((record) => isHeld(record, this.#options.now()));
    const count = made.length + coming;
    const isFull = held.length + coming >= limit || count >= limit * maxPresent;
    return isFull ? refusalOf(kind, user, count) : undefined;
  }

  #madeBy(kind: CredentialKind, user: string): readonly LiveRecord[] {
    const known = this.#options.records.ofKind[kind].byIndex('owner', user);
    return known.filter((record) => record.requester?.user === user);
  }
}

function refusalOf(kind: CredentialKind, user: string, count: number): Refusal {
  const values = { user, count, resource: credentialKinds[kind].plural };
  return new Refusal(errorAnswer('ERR_QUOTA', values, { headers: ['retry-after', '60'] }));
}

function countOutside(made: readonly LiveRecord[], underway: ReadonlySet<QuotaPermit>): number {
  const known = new Set(made.map(({ uid }) => uid));
  return [...underway].filter(({ uid }) => uid === undefined || !known.has(uid)).length;
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
