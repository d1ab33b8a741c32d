import { type Linked, LinkedList } from '../../linked-list.ts';

/** What one request needs to be under way. It is used once. */
export abstract class Place implements Linked<Place> {
  /** Who the request is for. */
  readonly user: string;
  /** For `Places` alone. */
  state: 'new' | 'waiting' | 'taken' | 'left' = 'new';
  share: UserShare | undefined;
  previous: Place | undefined;
  next: Place | undefined;

  constructor(user: string) {
    this.user = user;
  }

  /** Called when it is taken after a wait. */
  abstract onTurn(): void;

  /** Called when it has to leave a full line, because its user has more requests in it than another who comes. */
  abstract onRefused(): void;
}

/** What one user holds of the places, and the requests that wait. */
class UserShare implements Linked<UserShare> {
  taken = 0;
  waiting = 0;
  readonly line = new LinkedList<Place>();
  previous: UserShare | undefined;
  next: UserShare | undefined;
}

export interface PlacesOptions {
  /** Requests at once. */
  readonly max: number;
  /** Requests that may wait. */
  readonly maxWaiting: number;
}

/**
 * A limit for requests at once, and a line in front of it. No user gets more than half of the places or of the line, because a
 * place that a slow request holds cannot be taken back. Users in the line take turns. Several users can fill the line: then who has
 * the most in it makes room for who has less.
 */
export class Places {
  readonly #max: number;
  readonly #maxWaiting: number;
  readonly #maxOfUser: number;
  readonly #maxWaitingOfUser: number;
  #taken = 0;
  #waiting = 0;
  readonly #shares = new Map<string, UserShare>();
  /** Users who wait and may have another place. While there is one, every place is taken. */
  readonly #turns = new LinkedList<UserShare>();

  constructor({ max, maxWaiting }: PlacesOptions) {
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
  enter(place: Place): boolean {
    const share = this.#shares.get(place.user) ?? new UserShare();
    if (this.#taken < this.#max && share.taken < this.#maxOfUser) this.#take(place, share);
    else if (share.waiting < this.#maxWaitingOfUser && this.#hasRoomFor(share)) this.#line(place, share);
    else return false;
    this.#shares.set(place.user, share);
    return true;
  }

  /** Gives the place back, or leaves the line. Only the first call counts. */
  leave(place: Place): void {
    const { state, share } = place;
    place.state = 'left';
    if (state === 'waiting' && share !== undefined) this.#withdraw(place, share);
    if (state === 'taken' && share !== undefined) this.#release(place, share);
  }

  #take(place: Place, share: UserShare): void {
    this.#taken += 1;
    share.taken += 1;
    place.share = share;
    place.state = 'taken';
  }

  #line(place: Place, share: UserShare): void {
    this.#waiting += 1;
    share.waiting += 1;
    place.share = share;
    place.state = 'waiting';
    share.line.append(place);
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

  #withdraw(place: Place, share: UserShare): void {
    this.#unline(place, share);
    if (share.waiting === 0 && share.taken < this.#maxOfUser) this.#turns.remove(share);
    this.#forget(place.user, share);
  }

  #unline(place: Place, share: UserShare): void {
    this.#waiting -= 1;
    share.waiting -= 1;
    share.line.remove(place);
  }

  #release(place: Place, share: UserShare): void {
    this.#taken -= 1;
    // Until now they had as many as they may have.
    if (share.waiting > 0 && share.taken === this.#maxOfUser) this.#turns.append(share);
    share.taken -= 1;
    this.#forget(place.user, share);
    this.#serve();
  }

  /** One place became free, so one request can go on. */
  #serve(): void {
    const share = this.#turns.first;
    const place = share?.line.first;
    if (share === undefined || place === undefined) return;
    this.#turns.remove(share);
    this.#unline(place, share);
    this.#take(place, share);
    if (share.waiting > 0 && share.taken < this.#maxOfUser) this.#turns.append(share);
    place.onTurn();
  }

  #forget(user: string, share: UserShare): void {
    if (share.taken === 0 && share.waiting === 0) this.#shares.delete(user);
  }
}
