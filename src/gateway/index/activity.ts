import { formatInstant } from '../../api/instant.ts';
import { ownedAccessKeys } from '../../api/resources.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { isConflict, isNotFound, KubeError } from '../../kube/kube-error.ts';
import { sleep } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';

export interface ActivityOptions {
  /** Acts as the account that may write the last activity and nothing else. */
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly keys: Store<LiveRecord>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds between two writes about one key. */
  readonly intervalMs: number;
  readonly writesPerSecond: number;
}

const tickMs = 500;
/** After a failure the API server has other worries for a while, milliseconds. */
const pauseMs = 5_000;
/** Between two tries about a key that is refused time and again, milliseconds. */
const longestRefusalMs = 3_600_000;

interface Use {
  readonly name: string;
  lastUse: number;
  /** The time in the object, as far as we know; epoch milliseconds. */
  recorded: number;
  /** The version of the object that a write was refused for, because there is a newer one. */
  overtaken?: string;
  /** Writes about this key that were refused one after the other. */
  refusals: number;
  /** Not before then is such a key tried again; epoch milliseconds. */
  retryAt: number;
}

/**
 * Records when access keys were used. No request waits for it: uses are noted in memory, and written a few a second. When
 * there are more than that, the keys that would end soonest without it go first, and last those that were refused: by what its owner
 * does to one key, no one can hold up the others.
 */
export class Activity {
  readonly #options: ActivityOptions;
  readonly #uses = new Map<string, Use>();
  /** UIDs of keys with a use that is to be written. */
  readonly #due = new Set<string>();

  constructor(options: ActivityOptions) {
    this.#options = options;
    options.keys.subscribe(({ type, previous }) => {
      if (type === 'deleted' && previous !== undefined) this.#forget(previous.uid);
    });
  }

  /** For every request that goes through. It costs next to nothing. */
  used(record: LiveRecord): void {
    const { kind, uid, name } = record;
    if (kind !== 'OwnedAccessKey') return;
    const now = this.#options.now();
    const use = this.#uses.get(uid) ?? { name, lastUse: now, recorded: 0, refusals: 0, retryAt: 0 };
    use.lastUse = now;
    this.#uses.set(uid, use);
    if (this.#isDue(use, record)) this.#due.add(uid);
  }

  /** Other replicas write too, and what one of them has written need not be written again. */
  #isDue(use: Use, { ttl = 0, ttlAfterLastActivity, status }: LiveRecord): boolean {
    use.recorded = Math.max(use.recorded, status.lastActivity ?? 0);
    // A key that ends soon after its last use cannot wait for the interval.
    const interval = ttlAfterLastActivity && ttl > 0 ? (ttl * 1_000) / 2 : Number.POSITIVE_INFINITY;
    return use.lastUse - use.recorded >= Math.min(this.#options.intervalMs, interval);
  }

  /** When this process saw the key used last; epoch milliseconds. */
  readonly lastUse = (uid: string): number | undefined => this.#uses.get(uid)?.lastUse;

  /** Keys with a use that is still to be written. */
  get waiting(): number {
    return this.#due.size;
  }

  /** Writes until the signal aborts, and then once more what the budget allows. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, tickMs, signal);
      if (!(await this.#writeSome())) await sleep(clock, pauseMs, signal);
    }
  }

  /** False when the API server takes none of them at the moment. */
  async #writeSome(): Promise<boolean> {
    const budget = Math.max(1, Math.floor((this.#options.writesPerSecond * tickMs) / 1_000));
    const results = await Promise.all(this.#mostUrgent(budget).map((uid) => this.#write(uid)));
    return !results.includes(false);
  }

  #mostUrgent(count: number): readonly string[] {
    const isWaiting = (uid: string) => (this.#uses.get(uid)?.retryAt ?? 0) > this.#options.now();
    if (this.#due.size <= count) return [...this.#due].filter((uid) => !isWaiting(uid));
    // One pass: to sort 100,000 keys twice a second would leave little time for requests.
    const first: { readonly uid: string; readonly end: number }[] = [];
    for (const uid of this.#due) {
      if (isWaiting(uid)) continue;
      const end = this.#idleEndOf(uid);
      if (first.length === count && end >= (first.at(-1)?.end ?? end)) continue;
      const later = first.findIndex((other) => other.end > end);
      first.splice(later === -1 ? first.length : later, 0, { uid, end });
      if (first.length > count) first.pop();
    }
    return first.map(({ uid }) => uid);
  }

  /** When every other replica would refuse the key, if this use were not written. */
  #idleEndOf(uid: string): number {
    const use = this.#uses.get(uid);
    const record = use && this.#options.keys.get(use.name);
    if (use !== undefined && use.refusals > 0) return Number.POSITIVE_INFINITY;
    if (use === undefined || record === undefined || !record.ttlAfterLastActivity) return Number.MAX_VALUE;
    return use.recorded + (record.ttl ?? 0) * 1_000;
  }

  async #write(uid: string): Promise<boolean> {
    const use = this.#uses.get(uid);
    const record = use && this.#options.keys.get(use.name);
    if (use === undefined || record?.uid !== uid) {
      this.#forget(uid);
      return true;
    }
    const isByOthers = (record.status.lastActivity ?? 0) > use.recorded;
    if (isByOthers && !this.#isDue(use, record)) {
      this.#due.delete(uid);
      return true;
    }
    // Until the watch has brought the newer version, the same write would be refused again.
    return use.overtaken === record.resourceVersion || (await this.#send(uid, use, record));
  }

  async #send(uid: string, use: Use, { resourceVersion }: LiveRecord): Promise<boolean> {
    const { client, log } = this.#options;
    const { name, lastUse } = use;
    // A patch of the status takes any UID for the right one, so the version says which object is meant.
    const patch = { metadata: { resourceVersion }, status: { lastActivity: formatInstant(lastUse) } };
    try {
      await client.mergePatch(ownedAccessKeys, { name }, patch, { subresource: 'status', retries: 0 });
    } catch (error) {
      if (isConflict(error)) {
        use.overtaken = resourceVersion;
        return true;
      }
      if (!isOvertaken(error) && !isNotFound(error)) {
        if (isAboutObject(error)) {
          this.#putOff(use, error);
          return true;
        }
        log.warn({ err: error }, 'the last activity of keys cannot be written; it will be tried again');
        return false;
      }
    }
    use.refusals = 0;
    use.recorded = lastUse;
    this.#due.delete(uid);
    return true;
  }

  #putOff(use: Use, error: unknown): void {
    const { intervalMs, log, now } = this.#options;
    // Once of each such key: its owner decides how long it is refused.
    if (use.refusals === 0)
      log.warn(
        { name: use.name, err: error },
        'the last activity of a key is refused; it will be tried again',
      );
    use.refusals += 1;
    use.retryAt = now() + Math.min(intervalMs * 2 ** (use.refusals - 1), longestRefusalMs);
  }

  #forget(uid: string): void {
    this.#uses.delete(uid);
    this.#due.delete(uid);
  }
}

/** Another replica was first, with a later use: the policy takes only later times. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof KubeError && error.status === 403 && error.statusMessage.includes('only a later time');

/** Refused for what this one object is, by a policy, a webhook or its schema. A missing right would be missing for all of them. */
const isAboutObject = (error: unknown): boolean =>
  error instanceof KubeError &&
  ([400, 413, 422].includes(error.status) ||
    (error.status === 403 && /ValidatingAdmissionPolicy|denied the request/.test(error.statusMessage)));
