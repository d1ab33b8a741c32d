import { apiVersion } from '../../api/names.ts';
import { clusters } from '../../api/resources.ts';
import type { Identity } from '../../credentials/identity.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import { liveCredentials } from '../../scope/gate/agents.ts';
import { type EntryPermissions, keyFor } from '../gate/entry-permissions.ts';
import { Questions } from '../gate/questions.ts';
import type { FollowedCredentials } from './followed-credentials.ts';

export interface PlatformQuestionsOptions {
  /** Of the platform's gateway, as the agent. */
  readonly client: Pick<KubeClient, 'request'>;
  readonly cluster: string;
  readonly clock: Clock;
  readonly followed: Pick<FollowedCredentials, 'hashOf'>;
  /** Told each answer. */
  readonly onAnswer: (key: string, isAllowed: boolean) => void;
}

/** Questions under way at once, and those that wait. The gateway of the platform counts them all as one user's. */
const limits = { max: 16, maxWaiting: 256, maxWaitMs: 10_000 };

/** Asks the platform which spaces the user of a token may use: the stream does not say it, for that would be every user and every space. */
export function platformQuestions(options: PlatformQuestionsOptions): Questions {
  const { client, cluster, clock, followed, onAnswer } = options;
  const path = `/apis/${apiVersion}/${clusters.plural}/${cluster}/${liveCredentials}`;
  const isAllowed = async (identity: Identity, question: AccessQuestion) => {
    const { namespace = '', name: space } = question;
    const query = new URLSearchParams({ namespace, space, hash: followed.hashOf(identity) ?? '' });
    const answer = await client.request<{ readonly allowed?: unknown }>('GET', path, { query });
    const allowed = answer?.allowed === true;
    onAnswer(keyFor(identity, question), allowed);
    return allowed;
  };
  return new Questions({ ...limits, clock, isAllowed });
}

export interface SpaceRightsOptions {
  /** By what {@link platformQuestions} answered. */
  readonly permissions: Pick<EntryPermissions, 'find' | 'ask' | 'mayStay'>;
  readonly clock: Clock;
  readonly followed: Pick<FollowedCredentials, 'isAway'>;
  /** Whether it is about a space that is in this cluster. */
  readonly isSpace: (entry: AccessQuestion) => boolean;
  /** How long what was known in an outage counts after it for requests under way, until it is asked again. */
  readonly staleAfterMs: number;
}

/** More are not kept for an outage; the oldest go. */
export const maxKeptRights = 10_000;

/**
 * Who may enter the cluster and its spaces. The stream drops tokens of users who may not `use` the cluster; spaces are asked about.
 * In an outage the last yes counts, as the last set does.
 */
export class SpaceRights {
  readonly #options: SpaceRightsOptions;
  /** Keys of the last answers that were a yes, the oldest first. */
  readonly #kept = new Set<string>();
  #lastAway = Number.NEGATIVE_INFINITY;

  constructor(options: SpaceRightsOptions) {
    this.#options = options;
  }

  find(identity: Identity, entry: AccessQuestion): boolean | undefined {
    if (isOfCluster(entry)) return true;
    // The same answer as without the right. And no one makes the platform answer questions about names that they think of.
    if (!this.#options.isSpace(entry)) return false;
    if (!this.#isAway()) return this.#options.permissions.find(identity, entry);
    return this.#kept.has(keyFor(identity, entry)) ? true : undefined;
  }

  async ask(identity: Identity, entry: AccessQuestion): Promise<void> {
    // No one waits for a time-out of which the end is known.
    if (this.#isAway()) throw new Error('the platform is away');
    await this.#options.permissions.ask(identity, entry);
  }

  mayStay(identity: Identity, entry: AccessQuestion): boolean {
    if (isOfCluster(entry)) return true;
    const { clock, permissions, staleAfterMs } = this.#options;
    if (this.#isAway()) return this.#kept.has(keyFor(identity, entry));
    if (permissions.mayStay(identity, entry)) return true;
    if (!this.#kept.has(keyFor(identity, entry)) || clock.monotonic() - this.#lastAway >= staleAfterMs)
      return false;
    if (permissions.find(identity, entry) === undefined)
      permissions.ask(identity, entry).catch(() => undefined);
    return true;
  }

  /** For {@link platformQuestions}. */
  readonly onAnswer = (key: string, isAllowed: boolean): void => {
    this.#kept.delete(key);
    if (!isAllowed) return;
    this.#kept.add(key);
    const [oldest] = this.#kept;
    if (this.#kept.size > maxKeptRights && oldest !== undefined) this.#kept.delete(oldest);
  };

  /** To be kept for a restart in an outage. */
  get kept(): readonly string[] {
    return [...this.#kept];
  }

  restore(keys: readonly string[]): void {
    for (const key of keys) this.onAnswer(key, true);
  }

  #isAway(): boolean {
    const { clock, followed } = this.#options;
    if (followed.isAway) this.#lastAway = clock.monotonic();
    return followed.isAway;
  }
}

const isOfCluster = ({ resource }: AccessQuestion): boolean => resource === clusters.plural;
