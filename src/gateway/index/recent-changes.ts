import { allCredentialKinds, byCredentialKind, type CredentialKind } from '../../api/credential-kinds.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { StoreChange } from '../../kube/cache/store.ts';
import { isNewerVersion } from '../../kube/object.ts';
import { type CredentialRecords, withoutLongParts } from './credential-records.ts';

export type CredentialChange = StoreChange<LiveRecord>;

interface Placed {
  readonly change: CredentialChange;
  /** Its resourceVersion, or a later one; undefined as long as none is known. */
  position: string | undefined;
}

/** So many of each kind; a client that comes back later has to list again. */
const kept = 2_000;

interface History {
  /** The version up to which changes are not known any more; undefined before everything was read for the first time. */
  floor: string | undefined;
  position: string;
  readonly changes: Placed[];
}

/** The latest changes, for watches that go on where an earlier one ended. */
export class RecentChanges {
  readonly #histories = byCredentialKind((): History => ({ floor: undefined, position: '0', changes: [] }));
  readonly #positionOf: (kind: CredentialKind) => string | undefined;

  /** `positionOf`: up to where the index is equal to what the API server has; undefined while it does not know. */
  constructor(
    records: Pick<CredentialRecords, 'ofKind'>,
    positionOf: (kind: CredentialKind) => string | undefined,
  ) {
    this.#positionOf = positionOf;
    for (const kind of allCredentialKinds)
      records.ofKind[kind].subscribe((change) => this.#add(kind, change));
  }

  /** Up to where this process knows everything of the kind, as a resourceVersion. */
  position(kind: CredentialKind): string {
    return this.#settled(kind).position;
  }

  /** The changes after it, the oldest first; undefined when that is not known any more. */
  since(kind: CredentialKind, resourceVersion: string): readonly CredentialChange[] | undefined {
    const { floor, changes } = this.#settled(kind);
    if (floor === undefined || isNewerVersion(floor, resourceVersion)) return undefined;
    return changes
      .filter(({ position }) => position === undefined || isNewerVersion(position, resourceVersion))
      .map(({ change }) => change);
  }

  #add(kind: CredentialKind, change: CredentialChange): void {
    const history = this.#settled(kind);
    // A record that is read at the start is no change.
    if (history.floor === undefined) return;
    const version = change.current?.resourceVersion;
    if (version !== undefined && isNewerVersion(version, history.position)) history.position = version;
    history.changes.push({ change: lean(change), position: version });
    if (history.changes.length > 2 * kept) forget(history);
  }

  /** A deletion does not say its version here: it is not later than the next position that is known. */
  #settled(kind: CredentialKind): History {
    const history = this.#histories[kind];
    const position = this.#positionOf(kind);
    if (position === undefined) return history;
    history.floor ??= position;
    if (isNewerVersion(position, history.position)) history.position = position;
    for (let last = history.changes.length - 1; history.changes[last]?.position === undefined; last--) {
      const placed = history.changes[last];
      if (placed === undefined) break;
      placed.position = position;
    }
    return history;
  }
}

/** Whose a credential is does not depend on its scope, and each version of an object has a copy of that. */
const lean = ({ previous, current, ...rest }: CredentialChange): CredentialChange => ({
  ...rest,
  ...(previous && { previous: withoutLongParts(previous) }),
  ...(current && { current: withoutLongParts(current) }),
});

function forget(history: History): void {
  for (const { position = history.position } of history.changes.splice(0, kept)) {
    if (isNewerVersion(position, history.floor ?? '0')) history.floor = position;
  }
}
