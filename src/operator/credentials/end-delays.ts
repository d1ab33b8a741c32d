import { conditionTypes, findCondition } from '../../api/conditions.ts';
import type { CredentialKind } from '../../api/credential-kinds.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';

export interface EndDelaysOptions {
  readonly stores: readonly Pick<Store<CredentialRecord>, 'subscribe'>[];
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly onRecorded: (kind: CredentialKind, seconds: number) => void;
}

interface SpecChange {
  readonly generation: number;
  readonly at: number;
}

/**
 * How late status says that a credential has ended, or that someone disabled it. Of what was disabled while no operator led, no
 * one knows since when.
 */
export class EndDelays {
  readonly #options: EndDelaysOptions;
  /** By UID: the last change of a spec that no status answers yet. */
  readonly #changes = new Map<string, SpecChange>();

  constructor(options: EndDelaysOptions) {
    this.#options = options;
    for (const store of options.stores)
      store.subscribe(({ origin, previous, current }) => {
        if (previous === undefined) return;
        if (current === undefined) this.#changes.delete(previous.uid);
        else if (origin !== 'write' && current.generation !== previous.generation)
          this.#changes.set(current.uid, { generation: current.generation, at: options.now() });
      });
  }

  /** Call it when status has got this reason. `endedAt`: when the life ended, epoch milliseconds. */
  recorded(record: CredentialRecord, reason: Reason, endedAt?: number): void {
    const changedAt = this.#takeChange(record);
    if (findCondition(record.conditions, conditionTypes.ready)?.reason === reason) return;
    const { now, onRecorded } = this.#options;
    const due = dueOf(reason, changedAt, endedAt);
    if (due !== undefined) onRecorded(record.kind, Math.max(0, now() - due) / 1000);
  }

  /** A change that came after the decision waits for the next one. */
  #takeChange({ uid, generation }: CredentialRecord): number | undefined {
    const change = this.#changes.get(uid);
    if (change === undefined || change.generation > generation) return undefined;
    this.#changes.delete(uid);
    return change.at;
  }
}

function dueOf(
  reason: Reason,
  changedAt: number | undefined,
  endedAt: number | undefined,
): number | undefined {
  if (reason === reasons.disabled) return changedAt;
  if (reason !== reasons.expired || endedAt === undefined) return undefined;
  // A shorter `ttl` can put the end before the change.
  return Math.max(endedAt, changedAt ?? endedAt);
}
