import { DelayHeap } from './delay-heap.ts';

/** The slot that a key needs during its work. */
export interface SlotNeed {
  /** The subject of its work, e.g. the key of an instance. */
  readonly target: string;
  /** Whose that is: a namespace. Absent: no one's, and no bound of a tenant holds. */
  readonly tenant?: string;
  /** Milliseconds until the key needs no slot any more, though nothing brings it again by then. */
  readonly neededForMs?: number;
}

export interface SlotOptions {
  /** Undefined: the key needs no slot. */
  readonly needOf: (key: string) => SlotNeed | undefined;
  /** Keys that may work on one target at a time. */
  readonly perTarget: number;
  /** Keys that may work on all targets of one tenant at a time. */
  readonly perTenant: number;
}

/** The place that one key has, or waits for. */
interface Ticket {
  readonly key: string;
  readonly owner: string;
  readonly need: SlotNeed;
  /** Lower goes first: the turn of its owner, and then what came earlier. */
  turn: number;
  arrival: number;
  /** One of very many that came at once: a change of its owner takes its place in the line of the target. */
  isListed: boolean;
  holds: boolean;
}

/**
 * Bounds how many keys work on one target, and on all targets of one tenant, at the same time. A key that finds no slot stands
 * in line, and holds none meanwhile. Of those that find one when it becomes free, owners take turns: a thousand keys of one
 * delay a key of another by one. Of one owner what changed goes before what is only listed, and then the key that came first. No
 * operation costs more than a walk through a heap.
 */
export class SlotLines {
  readonly #options: SlotOptions;
  readonly #onGranted: (key: string) => void;
  /** Of every key that holds slots or waits for them. */
  readonly #tickets = new Map<string, Ticket>();
  readonly #groups = new Map<string, Group>();
  #arrivals = 0;
  #waiting = 0;

  /** `onGranted`: called with a key that stood in line and has its slots now. */
  constructor(options: SlotOptions, onGranted: (key: string) => void) {
    this.#options = options;
    this.#onGranted = onGranted;
  }

  /** Keys that stand in line. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Whether the key has the slots that it needs until `leave`. Otherwise it stands in line from now on. */
  enter(key: string, owner: string, isListed = false): boolean {
    const need = this.#options.needOf(key);
    const ticket = this.#tickets.get(key);
    if (ticket !== undefined) {
      if (isAt(ticket, need)) return ticket.holds;
      this.leave(key);
    }
    return need === undefined || this.#lineUp(key, owner, need, isListed);
  }

  /** A key that stands in line as listed has changed. No effect on others. */
  advance(key: string): void {
    const ticket = this.#tickets.get(key);
    if (ticket?.isListed === true && !ticket.holds) this.#groups.get(groupOf(ticket.need))?.advance(ticket);
  }

  /** Whether the key stands in line for slots that it does not need any more. */
  isMisplaced(key: string): boolean {
    const ticket = this.#tickets.get(key);
    return ticket !== undefined && !ticket.holds && !isAt(ticket, this.#options.needOf(key));
  }

  /** How long a key that stands in line needs its slots at most, in milliseconds. */
  neededForMs(key: string): number | undefined {
    return this.#tickets.get(key)?.holds === false ? this.#options.needOf(key)?.neededForMs : undefined;
  }

  /** Gives back what the key holds, or takes it out of the line. What becomes free is handed on. */
  leave(key: string): void {
    const ticket = this.#tickets.get(key);
    if (ticket === undefined) return;
    this.#tickets.delete(key);
    const name = groupOf(ticket.need);
    const group = this.#groups.get(name);
    if (!ticket.holds) this.#waiting--;
    group?.remove(ticket);
    for (const granted of group?.handOut() ?? []) {
      this.#waiting--;
      this.#onGranted(granted.key);
    }
    if (group?.isEmpty === true) this.#groups.delete(name);
  }

  /** Empties the line; what is worked on keeps its slots. */
  clear(): void {
    for (const { key, holds } of [...this.#tickets.values()]) if (!holds) this.leave(key);
  }

  #lineUp(key: string, owner: string, need: SlotNeed, isListed: boolean): boolean {
    const { perTarget, perTenant } = this.#options;
    const name = groupOf(need);
    const maxBusy = need.tenant === undefined ? perTarget : perTenant;
    const group = this.#groups.get(name) ?? new Group({ perTarget, maxBusy });
    this.#groups.set(name, group);
    const turn = group.turnOf(owner);
    const ticket: Ticket = {
      ...{ key, owner, need, turn, isListed },
      arrival: this.#arrivals++,
      holds: false,
    };
    this.#tickets.set(key, ticket);
    group.add(ticket);
    // No other had found a slot before it came, so none does now.
    group.handOut();
    if (!ticket.holds) this.#waiting++;
    return ticket.holds;
  }
}

const isAt = ({ need }: Ticket, other: SlotNeed | undefined): boolean =>
  need.target === other?.target && need.tenant === other.tenant;

/** The targets of a tenant are bounded together, one of no tenant by itself. */
const groupOf = ({ target, tenant }: SlotNeed): string =>
  tenant === undefined ? `target ${target}` : `tenant ${tenant}`;

interface Target {
  busy: number;
  readonly line: TicketHeap;
  /** By owner: the tickets in line that are only listed. */
  readonly listed: Map<string, TicketHeap>;
}

const newTarget = (): Target => ({ busy: 0, line: new TicketHeap(), listed: new Map() });

/** A changed key takes the place of the first of its owner that is only listed, so that no other owner waits longer. */
function lineUp({ line, listed }: Target, ticket: Ticket): void {
  const ofOwner = listed.get(ticket.owner) ?? new TicketHeap();
  const { first } = ofOwner;
  if (ticket.isListed) {
    ofOwner.put(ticket);
    listed.set(ticket.owner, ofOwner);
  } else if (first !== undefined && first.arrival < ticket.arrival) {
    line.delete(first);
    ofOwner.delete(first);
    const { turn, arrival } = ticket;
    Object.assign(ticket, { turn: first.turn, arrival: first.arrival });
    Object.assign(first, { turn, arrival });
    line.put(first);
    ofOwner.put(first);
  }
  line.put(ticket);
}

function leaveLine({ line, listed }: Target, ticket: Ticket): void {
  line.delete(ticket);
  const ofOwner = listed.get(ticket.owner);
  ofOwner?.delete(ticket);
  if (ofOwner?.first === undefined) listed.delete(ticket.owner);
}

/** All targets of one tenant. */
class Group {
  readonly #limits: { readonly perTarget: number; readonly maxBusy: number };
  #busy = 0;
  /** Targets with a key that holds a slot or waits for one. */
  readonly #targets = new Map<string, Target>();
  /** The first key of each target that has a slot for it. */
  readonly #next = new TicketHeap();
  /** By owner: its keys that wait, and the turn of the last one. */
  readonly #owners = new Map<string, { waiting: number; readonly turn: number }>();
  /** The turn of the key that got the last slot. */
  #turn = 0;

  constructor(limits: { readonly perTarget: number; readonly maxBusy: number }) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#targets.size === 0;
  }

  /** The turn that the next key of this owner has. */
  turnOf(owner: string): number {
    return Math.max(this.#turn, this.#owners.get(owner)?.turn ?? 0) + 1;
  }

  /** The ticket waits from now on. */
  add(ticket: Ticket): void {
    const { owner, turn, need } = ticket;
    this.#owners.set(owner, { waiting: (this.#owners.get(owner)?.waiting ?? 0) + 1, turn });
    const target = this.#targets.get(need.target) ?? newTarget();
    this.#targets.set(need.target, target);
    this.#change(need.target, target, () => lineUp(target, ticket));
  }

  /** The ticket waits, as listed so far. */
  advance(ticket: Ticket): void {
    const { target: name } = ticket.need;
    const target = this.#targets.get(name);
    if (target === undefined) return;
    this.#change(name, target, () => {
      leaveLine(target, ticket);
      ticket.isListed = false;
      lineUp(target, ticket);
    });
  }

  remove(ticket: Ticket): void {
    const { target: name } = ticket.need;
    const target = this.#targets.get(name);
    if (target === undefined) return;
    this.#change(name, target, () => {
      if (ticket.holds) {
        target.busy--;
        this.#busy--;
      } else {
        leaveLine(target, ticket);
        this.#waitsNoMore(ticket);
      }
    });
  }

  /** Gives slots to those that find one, and resolves with them. */
  handOut(): readonly Ticket[] {
    const granted: Ticket[] = [];
    while (this.#busy < this.#limits.maxBusy && this.#next.first !== undefined) {
      const ticket = this.#next.first;
      this.#grant(ticket);
      granted.push(ticket);
    }
    return granted;
  }

  #grant(ticket: Ticket): void {
    const { target: name } = ticket.need;
    const target = this.#targets.get(name) as Target;
    this.#change(name, target, () => {
      leaveLine(target, ticket);
      target.busy++;
      this.#busy++;
      ticket.holds = true;
    });
    this.#turn = Math.max(this.#turn, ticket.turn);
    this.#waitsNoMore(ticket);
  }

  #waitsNoMore({ owner: name }: Ticket): void {
    const owner = this.#owners.get(name);
    if (owner !== undefined && --owner.waiting === 0) this.#owners.delete(name);
  }

  /** Another key may be the first of the target by then, or none. */
  #change(name: string, target: Target, change: () => void): void {
    if (target.line.first !== undefined) this.#next.delete(target.line.first);
    change();
    const { first } = target.line;
    if (first === undefined && target.busy === 0) this.#targets.delete(name);
    if (first !== undefined && target.busy < this.#limits.perTarget) this.#next.put(first);
  }
}

/** Tickets by their turn. */
class TicketHeap {
  readonly #tickets = new Map<string, Ticket>();
  readonly #heap = new DelayHeap();

  get first(): Ticket | undefined {
    const { first } = this.#heap;
    return first === undefined ? undefined : this.#tickets.get(first);
  }

  put(ticket: Ticket): void {
    this.#tickets.set(ticket.key, ticket);
    this.#heap.put(ticket.key, ticket.turn, ticket.arrival);
  }

  delete({ key }: Ticket): void {
    this.#tickets.delete(key);
    this.#heap.delete(key);
  }
}
