import type { Identity } from '../../credentials/identity.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { type AccessQuestion, isSelfAllowed } from '../../platform/access-review.ts';

export interface EntryPermissionsOptions {
  /** Of the platform; asks as the user. */
  readonly client: Pick<KubeClient, 'as'>;
  readonly clock: Clock;
}

/** How long an answer counts, milliseconds. */
const keptMs = 5_000;
/** So much longer at least it counts when it comes late: those who wait for it look at it next. */
const lateMs = 100;
/** Beyond this number those that no longer count are thrown away. */
const sweepAbove = 1_000;

interface Answer {
  readonly allowed: boolean;
  readonly until: number;
}

/** Who may enter which target, by what the API server of the platform said some seconds ago. */
export class EntryPermissions {
  readonly #options: EntryPermissionsOptions;
  readonly #answers = new Map<string, Answer>();
  readonly #asking = new Map<string, Promise<void>>();

  constructor(options: EntryPermissionsOptions) {
    this.#options = options;
  }

  /** `undefined`: not known, so {@link ask}. */
  find(identity: Identity, entry: AccessQuestion): boolean | undefined {
    const answer = this.#answers.get(keyFor(identity, entry));
    return answer !== undefined && this.#options.clock.monotonic() < answer.until
      ? answer.allowed
      : undefined;
  }

  /** Resolves when the answer is known; rejects with the client's errors. */
  async ask(identity: Identity, entry: AccessQuestion): Promise<void> {
    const key = keyFor(identity, entry);
    const asking = this.#asking.get(key) ?? this.#ask(key, identity, entry);
    this.#asking.set(key, asking);
    await asking;
  }

  async #ask(key: string, { user, groups }: Identity, entry: AccessQuestion): Promise<void> {
    const { client, clock } = this.#options;
    const began = clock.monotonic();
    try {
      const allowed = await isSelfAllowed(client.as({ user, groups }), entry);
      if (this.#answers.size >= sweepAbove) this.#sweep();
      const until = Math.max(began + keptMs, clock.monotonic() + lateMs);
      this.#answers.set(key, { allowed, until });
    } finally {
      this.#asking.delete(key);
    }
  }

  #sweep(): void {
    const now = this.#options.clock.monotonic();
    for (const [key, { until }] of this.#answers) if (until <= now) this.#answers.delete(key);
  }
}

const keyFor = ({ user, groups }: Identity, { resource, namespace, name }: AccessQuestion): string =>
  JSON.stringify([user, groups, resource, namespace, name]);
