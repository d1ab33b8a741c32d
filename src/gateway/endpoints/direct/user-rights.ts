import type { Identity } from '../../../credentials/identity.ts';
import type { Clock } from '../../../kube/clock.ts';
import type { AccessQuestion } from '../../../platform/access-review.ts';
import type { EntryPermissions } from '../../gate/entry-permissions.ts';

export interface UserRightsOptions {
  readonly permissions: Pick<EntryPermissions, 'isAllowed' | 'mayStay'>;
  readonly clock: Clock;
  /** The right that entering the cluster needs. */
  readonly entry: AccessQuestion;
  /** Called with every token of a user whose right is known, or has changed. */
  readonly onChange: (hash: string) => void;
}

/** Who may enter the cluster. `asking`: the first answer is not there yet. */
interface UserRight {
  readonly identity: Identity;
  readonly hashes: Set<string>;
  state: 'asking' | 'yes' | 'no';
  isQueued: boolean;
  /** When it was answered last. */
  answered: number;
}

/** Questions at once; all gateways together ask the API server. */
const maxAsking = 4;
/** Before a question is asked again that failed, or that was answered with no, milliseconds. Of most users the answer stays no. */
const askAgainMs = { failed: 5_000, no: 60_000 };

const pauseOf = ({ state }: UserRight): number => (state === 'no' ? askAgainMs.no : askAgainMs.failed);

/** The right of the users of tokens to enter one cluster, asked once for all tokens of one user, and kept current. */
export class UserRights {
  readonly #options: UserRightsOptions;
  readonly #rights = new Map<string, UserRight>();
  readonly #byHash = new Map<string, UserRight>();
  readonly #queue: UserRight[] = [];
  #asking = 0;
  #unknown = 0;

  constructor(options: UserRightsOptions) {
    this.#options = options;
  }

  /** Whether some first answer is missing. */
  get isAsking(): boolean {
    return this.#unknown > 0;
  }

  /** Whether the user of a live token may enter; undefined while that is asked. */
  find(hash: string, identity: Identity): boolean | undefined {
    const { user, groups } = identity;
    const key = JSON.stringify([user, groups]);
    const right = this.#rights.get(key) ?? this.#create(key, identity);
    const former = this.#byHash.get(hash);
    if (former !== right) {
      if (former !== undefined) this.forget(hash);
      right.hashes.add(hash);
      this.#byHash.set(hash, right);
    }
    return right.state === 'asking' ? undefined : right.state === 'yes';
  }

  /** For a token that is gone. */
  forget(hash: string): void {
    const right = this.#byHash.get(hash);
    if (right === undefined) return;
    this.#byHash.delete(hash);
    right.hashes.delete(hash);
  }

  /** To be called often. */
  check(): void {
    const { permissions, clock, entry } = this.#options;
    const now = clock.monotonic();
    for (const [key, right] of this.#rights) {
      if (right.hashes.size === 0 && !right.isQueued) this.#delete(key, right);
      else if (right.state === 'yes' && !permissions.mayStay(right.identity, entry)) this.#set(right, 'no');
      else if (right.state !== 'yes' && now - right.answered >= pauseOf(right)) this.#enqueue(right);
    }
  }

  #delete(key: string, right: UserRight): void {
    if (right.state === 'asking') this.#unknown -= 1;
    this.#rights.delete(key);
  }

  #create(key: string, identity: Identity): UserRight {
    const state = 'asking';
    const right: UserRight = { identity, hashes: new Set(), state, isQueued: false, answered: 0 };
    this.#rights.set(key, right);
    this.#unknown += 1;
    this.#enqueue(right);
    return right;
  }

  #enqueue(right: UserRight): void {
    if (right.isQueued) return;
    right.isQueued = true;
    this.#queue.push(right);
    this.#work();
  }

  #work(): void {
    while (this.#asking < maxAsking) {
      const right = this.#queue.shift();
      if (right === undefined) return;
      this.#asking += 1;
      void this.#ask(right).finally(() => {
        this.#asking -= 1;
        this.#work();
      });
    }
  }

  async #ask(right: UserRight): Promise<void> {
    const { permissions, clock, entry } = this.#options;
    try {
      const isAllowed = await permissions.isAllowed(right.identity, entry);
      this.#set(right, isAllowed ? 'yes' : 'no');
    } catch {
      // Not known stays not known: a token that the reader has stays until the right is too old to count, which `check` sees.
    } finally {
      right.isQueued = false;
      right.answered = clock.monotonic();
    }
  }

  #set(right: UserRight, state: 'yes' | 'no'): void {
    if (right.state === 'asking') this.#unknown -= 1;
    if (right.state === state) return;
    right.state = state;
    right.answered = this.#options.clock.monotonic();
    for (const hash of right.hashes) this.#options.onChange(hash);
  }
}
