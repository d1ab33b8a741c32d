import { beatMs } from '../../api/live-credentials.ts';
import { apiVersion } from '../../api/names.ts';
import { clusters } from '../../api/resources.ts';
import type { Identity } from '../../credentials/identity.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { sleep } from '../../kube/sleep.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import { liveCredentials } from '../../scope/gate/agents.ts';
import { type EntryPermissions, keyFor } from '../gate/entry-permissions.ts';
import { Questions } from '../gate/questions.ts';
import { UpstreamBusy } from '../turns/request-slots.ts';
import { type FollowedCredentials, silenceMs } from './followed-credentials.ts';

export interface PlatformQuestionsOptions {
  /** Of the platform's gateway, as the agent. */
  readonly client: Pick<KubeClient, 'request'>;
  readonly cluster: string;
  readonly clock: Clock;
  readonly followed: Pick<FollowedCredentials, 'hashOf'>;
  /** Of the space that the question is about. */
  readonly spaceUID: (entry: AccessQuestion) => string | undefined;
  readonly onAnswer: (answer: SpaceAnswer) => void;
}

export interface SpaceAnswer {
  readonly identity: Identity;
  readonly entry: AccessQuestion;
  /** Of the space, when the question was sent. */
  readonly uid: string;
  readonly isAllowed: boolean;
}

/** Questions under way at once, and those that wait. The gateway of the platform counts them all as one user's. */
const limits = { max: 16, maxWaiting: 256, maxWaitMs: 10_000 };

/** Asks the platform which spaces the user of a token may use: the stream does not say it, for that would be every user and every space. */
export function platformQuestions(options: PlatformQuestionsOptions): Questions {
  const { client, cluster, clock, followed, spaceUID, onAnswer } = options;
  const path = `/apis/${apiVersion}/${clusters.plural}/${cluster}/${liveCredentials}`;
  const isAllowed = async (identity: Identity, question: AccessQuestion) => {
    const { namespace = '', name: space } = question;
    const uid = spaceUID(question);
    const query = new URLSearchParams({ namespace, space, hash: followed.hashOf(identity) ?? '' });
    const answer = await client.request<{ readonly allowed?: unknown }>('GET', path, { query });
    const allowed = answer?.allowed === true;
    if (uid !== undefined) onAnswer({ identity, entry: question, uid, isAllowed: allowed });
    return allowed;
  };
  return new Questions({ ...limits, clock, isAllowed });
}

export interface SpaceRightsOptions {
  /** By what {@link platformQuestions} answered. */
  readonly permissions: Pick<EntryPermissions, 'find' | 'ask' | 'mayStay'>;
  readonly clock: Clock;
  readonly followed: Pick<FollowedCredentials, 'isAway' | 'silentMs'>;
  /** Of the space that it is about. Undefined where no such space is in this cluster. */
  readonly spaceUID: (entry: AccessQuestion) => string | undefined;
  /** How long what was known in an outage counts after it for requests under way, until it is asked again. */
  readonly staleAfterMs: number;
  /** How long an outage may last, and how old a yes may be when it begins, milliseconds. */
  readonly outageMs: number;
}

interface AwayOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  readonly orProvedAfter?: number;
}

/** A yes that is kept for an outage. */
export interface KeptRight {
  readonly user: string;
  /** Of the question: user, groups, and the space with its UID. */
  readonly key: string;
  /** Epoch milliseconds of the answer. */
  readonly at: number;
}

/** More are not kept for an outage. The oldest of the user whose last yes is the oldest goes. */
export const maxKeptRights = 10_000;
/** Of one user; the oldest go. Without it one user could push out the rights of all others. */
export const maxKeptRightsOfUser = 200;

/**
 * Who may enter the cluster and its spaces. The stream drops tokens of users who may not `use` the cluster; spaces are asked about.
 * In an outage the last answer counts if it was a yes, at most `outageMs` before the last proof of the platform. No one takes a yes back
 * while the user stays away, so an older one may be about a right that was lost long ago. A right that was lost within that time
 * still counts.
 */
export class SpaceRights {
  readonly #options: SpaceRightsOptions;
  /** Monotonic milliseconds of each last answer that was a yes, by user and key. Users and keys with the oldest yes come first. */
  readonly #kept = new Map<string, Map<string, number>>();
  #size = 0;
  /** The last moment at which the platform was known to be away, and its last proof before, monotonic milliseconds. */
  #lastAway = { at: Number.NEGATIVE_INFINITY, proved: Number.NEGATIVE_INFINITY };

  constructor(options: SpaceRightsOptions) {
    this.#options = options;
  }

  find(identity: Identity, entry: AccessQuestion): boolean | undefined {
    if (isOfCluster(entry)) return true;
    // The same answer as without the right. And no one makes the platform answer questions about names that they think of.
    if (this.#options.spaceUID(entry) === undefined) return false;
    if (!this.#isAway()) return this.#options.permissions.find(identity, entry);
    return this.#isKept(identity, entry) ? true : undefined;
  }

  /** Also ends when an outage is noticed: then what is kept counts. */
  async ask(identity: Identity, entry: AccessQuestion): Promise<void> {
    // No one waits for a time-out of which the end is known.
    if (this.#isAway()) throw new Error('the platform is away');
    try {
      await this.#askUntilAway(identity, entry);
    } catch (error) {
      if (error instanceof UpstreamBusy) throw error;
      // It may have failed because the platform is lost, which is noticed some seconds later. Or it can answer now.
      const isAway = await this.#untilAway({ orProvedAfter: this.#options.clock.monotonic() });
      if (!isAway) await this.#askUntilAway(identity, entry);
    }
  }

  mayStay(identity: Identity, entry: AccessQuestion): boolean {
    if (isOfCluster(entry)) return true;
    const { clock, permissions, staleAfterMs } = this.#options;
    if (this.#isAway()) return this.#isKept(identity, entry);
    if (permissions.mayStay(identity, entry)) return true;
    if (clock.monotonic() - this.#lastAway.at >= staleAfterMs || !this.#isKept(identity, entry)) return false;
    if (permissions.find(identity, entry) === undefined)
      permissions.ask(identity, entry).catch(() => undefined);
    return true;
  }

  /** For {@link platformQuestions}. */
  onAnswer({ identity, entry, uid, isAllowed }: SpaceAnswer): void {
    const key = keptKey(identity, entry, uid);
    if (isAllowed) this.#keep(identity.user, key, this.#options.clock.monotonic());
    else this.#remove(identity.user, key);
  }

  /** To be kept for a restart: all that may count in an outage. */
  get kept(): readonly KeptRight[] {
    const { clock, followed, outageMs } = this.#options;
    const epoch = clock.now() - clock.monotonic();
    const oldest = clock.monotonic() - followed.silentMs - outageMs;
    return [...this.#kept].flatMap(([user, keys]) =>
      [...keys]
        .filter(([, at]) => at >= oldest)
        .map(([key, at]) => ({ user, key, at: Math.round(epoch + at) })),
    );
  }

  restore(rights: readonly KeptRight[]): void {
    const { clock } = this.#options;
    const now = clock.monotonic();
    const epoch = clock.now() - now;
    for (const { user, key, at } of rights) this.#keep(user, key, Math.min(now, at - epoch));
  }

  #isKept(identity: Identity, entry: AccessQuestion): boolean {
    const uid = this.#options.spaceUID(entry);
    if (uid === undefined) return false;
    const at = this.#kept.get(identity.user)?.get(keptKey(identity, entry, uid));
    return at !== undefined && this.#lastAway.proved - at <= this.#options.outageMs;
  }

  #keep(user: string, key: string, at: number): void {
    const keys = this.#kept.get(user) ?? new Map<string, number>();
    this.#remove(user, key);
    this.#kept.delete(user);
    this.#kept.set(user, keys.set(key, at));
    this.#size += 1;
    if (keys.size > maxKeptRightsOfUser) this.#removeOldest(user, keys);
    const [first] = this.#kept;
    if (this.#size > maxKeptRights && first !== undefined) this.#removeOldest(...first);
  }

  #removeOldest(user: string, keys: ReadonlyMap<string, number>): void {
    const [oldest] = keys.keys();
    if (oldest !== undefined) this.#remove(user, oldest);
  }

  #remove(user: string, key: string): void {
    const keys = this.#kept.get(user);
    if (keys?.delete(key) !== true) return;
    this.#size -= 1;
    if (keys.size === 0) this.#kept.delete(user);
  }

  async #askUntilAway(identity: Identity, entry: AccessQuestion): Promise<void> {
    const ended = new AbortController();
    const asking = this.#options.permissions.ask(identity, entry);
    try {
      await Promise.race([asking, this.#untilAway({ signal: ended.signal })]);
    } finally {
      ended.abort();
    }
  }

  /** Resolves to true once the platform is away, and to false once it has proved later than that, monotonic milliseconds, that it is there. */
  async #untilAway({ signal, orProvedAfter = Number.POSITIVE_INFINITY }: AwayOptions): Promise<boolean> {
    const { clock, followed } = this.#options;
    while (signal?.aborted !== true && !this.#isAway()) {
      if (clock.monotonic() - followed.silentMs > orProvedAfter) return false;
      await sleep(clock, Math.min(beatMs, silenceMs - followed.silentMs + 1), signal);
    }
    return this.#isAway();
  }

  #isAway(): boolean {
    const { clock, followed } = this.#options;
    const { isAway, silentMs } = followed;
    const at = clock.monotonic();
    if (isAway) this.#lastAway = { at, proved: at - silentMs };
    return isAway;
  }
}

const isOfCluster = ({ resource }: AccessQuestion): boolean => resource === clusters.plural;

/** With the UID: a space that is made again under its name is another one. */
const keptKey = (identity: Identity, entry: AccessQuestion, uid: string): string =>
  `${keyFor(identity, entry)} ${uid}`;
