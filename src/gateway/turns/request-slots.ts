import { type Linked, LinkedList } from '../../linked-list.ts';

/** All slots are taken, or this user has their share of them, and enough requests wait for one. */
export class UpstreamBusy extends Error {}

/** A slot that one request needs to be under way. Used once. */
export abstract class RequestSlot implements Linked<RequestSlot> {
  /** Who the request is for. */
  readonly user: string;
  /** For `RequestSlots` alone. */
  state: 'new' | 'waiting' | 'taken' | 'left' = 'new';
  share: UserShare | undefined;
  previous: RequestSlot | undefined;
  next: RequestSlot | undefined;

  constructor(user: string) {
    this.user = user;
  }

  /** Called when it is taken after a wait. */
  abstract onTurn(): void;

  /** Called when it has to leave a full line, because its user has more requests in it than another who comes. */
  abstract onRefused(): void;
}

/** The slots that one user holds, and the requests that wait. */
class UserShare implements Linked<UserShare> {
  taken = 0;
  waiting = 0;
  readonly line = new LinkedList<RequestSlot>();
  previous: UserShare | undefined;
  next: UserShare | undefined;
}

export interface RequestSlotsOptions {
  /** Requests at once. */
  readonly max: number;
  /** Requests that may wait. */
  readonly maxWaiting: number;
}

/**
 * A limit for requests at once, and a line in front of it. No user gets more than half of the slots or of the line, because a
 * slot that a slow request holds cannot be taken back. Users in the line take turns. Several users can fill the line: then who has
 * the most in it makes room for who has less.
 */
export class RequestSlots {
  readonly #max: number;
  readonly #maxWaiting: number;
  readonly #maxOfUser: number;
  readonly #maxWaitingOfUser: number;
  #taken = 0;
  #waiting = 0;
  readonly #shares = new Map<string, UserShare>();
  /** Users who wait and may have another slot. While there is one, every slot is taken. */
  readonly #turns = new LinkedList<UserShare>();

  constructor({ max, maxWaiting }: RequestSlotsOptions) {
    this.#max = max;
    this.#maxWaiting = maxWaiting;
    this.#maxOfUser = Math.max(1, Math.floor(max / 2));
    this.#maxWaitingOfUser = Math.max(1, Math.floor(maxWaiting / 2));
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** False when too many wait already. */
  enter(slot: RequestSlot): boolean {
    const share = this.#shares.get(slot.user) ?? new UserShare();
    if (this.#taken < this.#max && share.taken < this.#maxOfUser) this.#take(slot, share);
    else if (share.waiting < this.#maxWaitingOfUser && this.#hasRoomFor(share)) this.#line(slot, share);
    else return false;
    this.#shares.set(slot.user, share);
    return true;
  }

  /** Gives the slot back, or leaves the line. Only the first call counts. */
  leave(slot: RequestSlot): void {
    const { state, share } = slot;
    slot.state = 'left';
    if (state === 'waiting' && share !== undefined) this.#withdraw(slot, share);
    if (state === 'taken' && share !== undefined) this.#release(slot, share);
  }

  #take(slot: RequestSlot, share: UserShare): void {
    this.#taken += 1;
    share.taken += 1;
    slot.share = share;
    slot.state = 'taken';
  }

  #line(slot: RequestSlot, share: UserShare): void {
    this.#waiting += 1;
    share.waiting += 1;
    slot.share = share;
    slot.state = 'waiting';
    share.line.append(slot);
    if (share.waiting === 1 && share.taken < this.#maxOfUser) this.#turns.append(share);
  }

  /** Only who has less than the average looks for who has the most: a flood that is refused costs no search. */
  #hasRoomFor(share: UserShare): boolean {
    if (this.#waiting < this.#maxWaiting) return true;
    if ((share.waiting + 1) * this.#shares.size >= this.#waiting) return false;
    let longest = share;
    for (const other of this.#shares.values()) if (other.waiting > longest.waiting) longest = other;
    const { last } = longest.line;
    if (last === undefined || longest.waiting <= share.waiting + 1) return false;
    this.leave(last);
    last.onRefused();
    return true;
  }

  #withdraw(slot: RequestSlot, share: UserShare): void {
    this.#unline(slot, share);
    if (share.waiting === 0 && share.taken < this.#maxOfUser) this.#turns.remove(share);
    this.#forget(slot.user, share);
  }

  #unline(slot: RequestSlot, share: UserShare): void {
    this.#waiting -= 1;
    share.waiting -= 1;
    share.line.remove(slot);
  }

  #release(slot: RequestSlot, share: UserShare): void {
    this.#taken -= 1;
    // Until now they had as many as they may have.
    if (share.waiting > 0 && share.taken === this.#maxOfUser) this.#turns.append(share);
    share.taken -= 1;
    this.#forget(slot.user, share);
    this.#serve();
  }

  /** One slot became free, so one request can go on. */
  #serve(): void {
    const share = this.#turns.first;
    const slot = share?.line.first;
    if (share === undefined || slot === undefined) return;
    this.#turns.remove(share);
    this.#unline(slot, share);
    this.#take(slot, share);
    if (share.waiting > 0 && share.taken < this.#maxOfUser) this.#turns.append(share);
    slot.onTurn();
  }

  #forget(user: string, share: UserShare): void {
    if (share.taken === 0 && share.waiting === 0) this.#shares.delete(user);
  }
}
