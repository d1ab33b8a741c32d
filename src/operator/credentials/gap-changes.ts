import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import { isConfirmedSpec } from './review.ts';
import { asksForMoreLife } from './wider-life.ts';

/**
 * Which objects were made or changed while the policies that stamp were away. Their stamps may name anyone, so no right of
 * the one that they name counts.
 */
export class GapChanges {
  /** By UID: what the object said then. */
  readonly #marked = new Map<string, string>();
  /** By UID: what was given more life then. Not all that asks for it is stamped later, so nothing lifts this mark. */
  readonly #prolonged = new Set<string>();
  readonly #isGap: () => boolean;

  constructor(stores: readonly Pick<Store<CredentialRecord>, 'subscribe'>[], isGap: () => boolean) {
    this.#isGap = isGap;
    for (const store of stores)
      store.subscribe(({ previous, current }) => {
        if (current === undefined) this.#forget(previous?.uid ?? '');
        else this.#observe(previous, current);
      });
  }

  has(record: CredentialRecord): boolean {
    if (this.#prolonged.has(record.uid)) return true;
    const marked = this.#marked.get(record.uid);
    return marked !== undefined && marked === contentOf(record);
  }

  #forget(uid: string): void {
    this.#marked.delete(uid);
    this.#prolonged.delete(uid);
  }

  #observe(previous: CredentialRecord | undefined, current: CredentialRecord): void {
    const isSame = previous?.uid === current.uid;
    if (previous !== undefined && !isSame) this.#forget(previous.uid);
    if (isSame && asksForMoreLife(previous, current) && this.#isGap()) this.#prolonged.add(current.uid);
    const content = contentOf(current);
    if (this.#marked.get(current.uid) === content) return;
    if (isSame && contentOf(previous) === content) return;
    // A new leader meets everything for the first time. What was confirmed before must not end because a policy is away then.
    if (previous === undefined && isConfirmedSpec(current)) return;
    if (this.#isGap()) this.#marked.set(current.uid, content);
    else this.#marked.delete(current.uid);
  }
}

/**
 * Stamps, what the fingerprint covers, and who may name it as a parent; nothing that changes without them, or a second change
 * would lift the mark.
 */
function contentOf(record: CredentialRecord): string {
  const { fingerprints, requester, changedBy, isBeyondLimits, createdWith, allowedNamespaces } = record;
  return JSON.stringify([fingerprints, requester, changedBy, isBeyondLimits, createdWith, allowedNamespaces]);
}
