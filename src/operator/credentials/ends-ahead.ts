import { isReady } from '../../api/conditions.ts';
import { byCredentialKind, type CredentialKind } from '../../api/credential-kinds.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';

/** A week has 2,016 of them, so a scrape costs the same however many credentials there are. */
const slotMs = 300_000;

/**
 * How many credentials that work will end soon, by kind. Each is counted in the five minutes of its end as it comes and goes, and
 * a scrape adds these up.
 */
export class EndsAhead {
  readonly #slots = byCredentialKind(() => new Map<number, number>());

  constructor(stores: readonly Store<CredentialRecord>[]) {
    for (const store of stores)
      store.subscribe(({ previous, current }) => {
        this.#add(previous, -1);
        this.#add(current, 1);
      });
  }

  /** Counts the ends between `now` and `spanMs` later, to five minutes. */
  within(kind: CredentialKind, now: number, spanMs: number): number {
    const slots = this.#slots[kind];
    const last = slotOf(now + spanMs);
    let count = 0;
    for (let slot = slotOf(now); slot <= last; slot++) count += slots.get(slot) ?? 0;
    return count;
  }

  #add(record: CredentialRecord | undefined, difference: 1 | -1): void {
    const end = record?.status.expirationTimestamp;
    if (record === undefined || end === undefined || !isReady(record)) return;
    const slots = this.#slots[record.kind];
    const slot = slotOf(end);
    const count = (slots.get(slot) ?? 0) + difference;
    if (count === 0) slots.delete(slot);
    else slots.set(slot, count);
  }
}

const slotOf = (instant: number): number => Math.floor(instant / slotMs);
