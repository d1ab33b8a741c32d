import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { AccessKeyLookup } from '../../credentials/ancestors.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store, StoreChange } from '../../kube/cache/store.ts';
import type { LaneName } from '../../kube/queue/fair-lanes.ts';

const systemPrefix = 'system:';
const maxLookups = 8;

/**
 * Whose turn it is when the object needs work: its requester. Argo CD and other `system:` requesters apply everybody's
 * objects, so theirs take turns by the user that they speak for, in the turn of the requester: every ServiceAccount is a
 * `system:` requester, and may name keys of others.
 */
export function ownerOf(record: CredentialRecord, lookup: AccessKeyLookup): LaneName {
  const requester = record.requester?.user ?? '';
  return requester === '' || requester.startsWith(systemPrefix)
    ? [requester, speaksFor(record, lookup) ?? '']
    : requester;
}

function speaksFor(record: CredentialRecord, lookup: AccessKeyLookup): string | undefined {
  let speaker: CredentialRecord | undefined = record;
  for (let level = 0; level <= maxLookups && speaker?.accessKey !== undefined; level++)
    speaker = lookup(speaker.accessKey);
  return speaker?.identity?.user;
}

/** An object that counts against the bound of an owner. What has ended, or is being deleted, does not. */
type QuotaState = 'granted' | 'waiting';

interface Waiting {
  readonly key: string;
  readonly created: number;
  /** Tells objects of one second apart, in the order in which they were seen. */
  readonly seen: number;
}

interface Owner {
  granted: number;
  /** The oldest first. */
  readonly waiting: Waiting[];
}

/**
 * How many live objects of one kind an owner may have. What was granted stays; of those that wait the oldest go first.
 * `system:` requesters have no bound.
 */
export class OwnerQuota {
  readonly #limit: number;
  readonly #owners = new Map<string, Owner>();
  /** By UID, those that wait. */
  readonly #waiting = new Map<string, Waiting>();
  #seen = 0;
  #onRoom: (key: string) => void = () => undefined;

  /** `limit` 0: no bound. */
  constructor(store: Store<CredentialRecord>, limit: number) {
    this.#limit = limit;
    if (limit > 0) store.subscribe((change) => this.#observe(change));
  }

  /** Hears of each object that waited and may go on now. */
  onRoom(listener: (key: string) => void): void {
    this.#onRoom = listener;
  }

  /** Whether the object may be granted. One that has ended and is to live again comes after all others. */
  hasRoom(record: CredentialRecord): boolean {
    const name = boundedOwner(record);
    if (this.#limit === 0 || name === undefined || quotaStateOf(record) === 'granted') return true;
    const { granted, waiting } = this.#owners.get(name) ?? { granted: 0, waiting: [] };
    const entry = this.#waiting.get(record.uid);
    return granted + (entry === undefined ? waiting.length : indexOf(waiting, entry)) < this.#limit;
  }

  #observe({ previous, current }: StoreChange<CredentialRecord>): void {
    const [before, after] = [previous && quotaStateOf(previous), current && quotaStateOf(current)];
    const name = boundedOwner(current ?? previous);
    if (before === after || name === undefined) return;
    const owner = this.#owners.get(name) ?? { granted: 0, waiting: [] };
    this.#owners.set(name, owner);
    if (before !== undefined) this.#leave(owner, previous as CredentialRecord, before);
    if (after !== undefined) this.#enter(owner, current as CredentialRecord, after);
    if (before !== undefined && after !== 'granted') this.#reportRoom(owner);
    if (owner.granted + owner.waiting.length === 0) this.#owners.delete(name);
  }

  #enter(owner: Owner, { uid, key, created }: CredentialRecord, state: QuotaState): void {
    if (state === 'granted') return void owner.granted++;
    const entry = { key, created, seen: this.#seen++ };
    this.#waiting.set(uid, entry);
    owner.waiting.splice(indexOf(owner.waiting, entry), 0, entry);
  }

  #leave(owner: Owner, { uid }: CredentialRecord, state: QuotaState): void {
    if (state === 'granted') return void owner.granted--;
    const entry = this.#waiting.get(uid);
    if (entry === undefined) return;
    this.#waiting.delete(uid);
    owner.waiting.splice(indexOf(owner.waiting, entry), 1);
  }

  /** One place was left, so at most one object moves up to the last place within the bound. */
  #reportRoom({ granted, waiting }: Owner): void {
    const next = waiting[this.#limit - granted - 1];
    if (next !== undefined) this.#onRoom(next.key);
  }
}

function boundedOwner(record: CredentialRecord | undefined): string | undefined {
  const user = record?.requester?.user;
  return user === undefined || user.startsWith(systemPrefix) ? undefined : user;
}

/** Of one whose stamps may be forged no one knows who made it: it must not take the place of the one that it names. */
function quotaStateOf({ deleted, conditions, status }: CredentialRecord): QuotaState | undefined {
  const reason = findCondition(conditions, conditionTypes.ready)?.reason;
  if (deleted !== undefined || reason === reasons.expired) return undefined;
  if (reason === reasons.requesterUnknown && status.credentialHash === undefined) return undefined;
  return status.credentialHash === undefined ? 'waiting' : 'granted';
}

/** Where the entry stands, or would stand. */
function indexOf(waiting: readonly Waiting[], { created, seen }: Waiting): number {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = waiting[middle] as Waiting;
    if (other.created < created || (other.created === created && other.seen < seen)) low = middle + 1;
    else high = middle;
  }
  return low;
}
