import { type CredentialKind, credentialKinds } from '../../api/credential-kinds.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { provenWatches } from '../../kube/cache/watch-requests.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../logger.ts';
import { Informers, type InformersOptions } from '../../platform/informers.ts';
import { Locks } from '../../platform/locks.ts';
import { Activity, type ActivityOptions } from './activity.ts';
import { CredentialRecords } from './credential-records.ts';
import { LiveTokens } from './live-tokens.ts';
import type { TargetRecords } from './target-records.ts';
import type { Refused, Verdict } from './verdict.ts';
import { Verdicts } from './verdicts.ts';

export interface CredentialIndexOptions {
  readonly client: InformersOptions['client'];
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metricsOf: InformersOptions['metricsOf'];
  /** As the account that writes the last activity of keys. */
  readonly activityClient: ActivityOptions['client'];
  readonly activityIntervalMs: number;
  readonly activityWritesPerSecond: number;
  readonly projectNamespacePrefix: string;
  /** Without a proof that it is current for this long, nothing is granted any more. */
  readonly staleAfterMs: number;
  readonly onDropped: (hash: string) => void;
  /** Watched with the credentials, because what is not known of it is not granted either. */
  readonly targets: TargetRecords;
}

/** How often freshness is looked at again: each look goes through all informers. */
const freshnessMs = 250;

/** Every credential of the platform by the SHA-256 of its bearer string, kept current by watches. */
export class CredentialIndex {
  readonly records = new CredentialRecords();
  readonly locks = new Locks();
  /** For direct endpoints. */
  readonly tokens: LiveTokens;
  readonly #options: CredentialIndexOptions;
  readonly #informers: Informers;
  readonly #verdicts: Verdicts;
  readonly #activity: Activity;
  #problem: string | undefined = 'not synced';
  #checked = Number.NEGATIVE_INFINITY;

  constructor(options: CredentialIndexOptions) {
    const { activityIntervalMs: activityInterval, targets } = options;
    const { records, locks } = this;
    this.#options = options;
    this.#informers = new Informers(options);
    records.addTo(this.#informers);
    targets.addTo(this.#informers);
    this.#informers.add('credentiallocks', { ...locks.source(), ...provenWatches });
    const now = steadyTime(options.clock);
    this.#activity = new Activity({
      ...options,
      client: options.activityClient,
      keys: records.ofKind.OwnedAccessKey,
      now,
      intervalMs: activityInterval,
      writesPerSecond: options.activityWritesPerSecond,
    });
    const ownActivity = this.#activity.lastUse;
    const shared = { ...options, records, locks, now, activityInterval, ownActivity };
    this.#verdicts = new Verdicts(shared);
    this.tokens = new LiveTokens(shared);
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#informers.run(signal), this.#activity.run(signal)]);
  }

  /** Up to which resourceVersion it knows all credentials of a kind; undefined while it does not. */
  position(kind: CredentialKind): string | undefined {
    return this.#informers.position(credentialKinds[kind].plural);
  }

  /** The verdict on the credential with this hash; `undefined` when there is none. */
  find(hash: string): Verdict | Refused | undefined {
    return this.#verdicts.find(hash);
  }

  /** The verdict on the access key of this name; `undefined` when there is none. */
  findKey(name: string): Verdict | Refused | undefined {
    return this.#verdicts.findKey(name);
  }

  /** For every request that goes through with the credential of this record. */
  used(record: LiveRecord): void {
    this.#activity.used(record);
  }

  /** How many keys have a use that is still to be written. */
  get waitingActivity(): number {
    return this.#activity.waiting;
  }

  /** Why its answers do not count: something is not read yet, or too old. It costs next to nothing. */
  problem(): string | undefined {
    const now = this.#options.clock.monotonic();
    if (now - this.#checked >= freshnessMs) {
      this.#checked = now;
      this.#problem = this.#informers.unsynced() ?? this.#informers.stale(this.#options.staleAfterMs);
    }
    return this.#problem;
  }
}

/**
 * The wall clock, but never behind the time that has passed since it was made: a clock that is set back must not bring
 * ended credentials to life again.
 */
export function steadyTime(clock: Clock): () => number {
  const offset = clock.now() - clock.monotonic();
  return () => Math.max(clock.now(), offset + clock.monotonic());
}
