import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { sleep } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';
import type { DirectEndpointMetrics } from '../../telemetry/metrics/direct-endpoint.ts';
import { type FollowedCredentials, silenceMs } from './followed-credentials.ts';
import { type Kept, loadKept, storeKept } from './kept-set.ts';
import type { SpaceRights } from './space-rights.ts';

export interface OutageRecordOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly cluster: string;
  readonly followed: FollowedCredentials;
  readonly rights: Pick<SpaceRights, 'kept' | 'restore'>;
  readonly metrics: DirectEndpointMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Between two writes of the Secret, milliseconds. */
const writeMs = 60_000;
const checkMs = 1_000;
const warnMs = 60_000;

/** Keeps what is known for a restart in an outage, and says how long an outage has lasted. */
export class OutageRecord {
  readonly #options: OutageRecordOptions;
  #kept: Kept | undefined;
  #wrote = Number.NEGATIVE_INFINITY;
  #warned = Number.NEGATIVE_INFINITY;
  #loaded = 0;
  /** Since when the platform is asked, monotonic milliseconds. */
  #began = 0;
  /** Nothing more is read: it was, or something newer counts. */
  #isRead = false;
  #complained = Number.NEGATIVE_INFINITY;

  constructor(options: OutageRecordOptions) {
    const { followed, metrics } = options;
    this.#options = options;
    metrics.read(
      () => (Number.isFinite(followed.silentMs) ? (followed.isAway ? followed.silentMs / 1_000 : 0) : -1),
      () => followed.set?.credentials.size ?? 0,
    );
  }

  /**
   * Up to where an earlier process knew counts at once, and the last yes about each space, which is for an outage and has an age.
   * Which tokens it knew counts in an outage alone: some may have been revoked since.
   */
  async load(): Promise<void> {
    const { client, cluster, clock, followed, log, rights } = this.#options;
    this.#loaded = clock.monotonic();
    try {
      this.#kept = await loadKept(client, cluster, { clock, set: followed.createSet() });
      this.#isRead = true;
      if (this.#kept === undefined) return;
      followed.remember(this.#kept.set.positions);
      // With a set there may be newer answers, which an older yes must not replace.
      if (followed.set === undefined) rights.restore(this.#kept.rights);
    } catch (error) {
      if (this.#loaded - this.#complained < warnMs) return;
      this.#complained = this.#loaded;
      log.warn({ err: error }, 'the set of an earlier process cannot be read yet');
    }
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, followed } = this.#options;
    this.#began = clock.monotonic();
    while (!signal.aborted) {
      await sleep(clock, checkMs, signal);
      if (signal.aborted) return;
      // The API server of the cluster may have been away at the start, as after a cut of its power, and the platform still is.
      if (followed.set !== undefined) this.#discard();
      else if (!this.#isRead) await this.load();
      this.#restore();
      this.#warn();
      await this.#store();
    }
  }

  /** Once the platform has said nothing for so long that it is away. A stream that is cut while it begins is no outage. */
  #restore(): void {
    const { clock, followed, log } = this.#options;
    const now = clock.monotonic();
    if (this.#kept === undefined || Math.min(now - this.#began, followed.unheardMs) <= silenceMs) return;
    const { set, ageMs } = this.#kept;
    followed.restore({ set, ageMs: ageMs + now - this.#loaded });
    this.#kept = undefined;
    if (followed.set !== set) return;
    log.warn({ tokens: set.credentials.size }, 'the platform is away: the set of an earlier process counts');
  }

  /** The platform has said what is good, so an earlier set never counts again. */
  #discard(): void {
    this.#kept = undefined;
    this.#isRead = true;
  }

  #warn(): void {
    const { clock, followed, log } = this.#options;
    const now = clock.monotonic();
    if (!followed.isAway || now - this.#warned < warnMs) return;
    this.#warned = now;
    const seconds = Number.isFinite(followed.silentMs) ? Math.round(followed.silentMs / 1_000) : undefined;
    if (followed.isBehind)
      log.warn({ seconds }, 'the gateway that was reached knows less than another did before');
    else log.warn({ seconds }, 'the platform is away: no revocation has reached this endpoint since');
  }

  async #store(): Promise<void> {
    const { client, cluster, clock, followed, log, metrics, rights } = this.#options;
    const { set } = followed;
    const now = clock.monotonic();
    if (set === undefined || followed.isAway || now - this.#wrote < writeMs) return;
    this.#wrote = now;
    try {
      const proved = clock.now() - followed.silentMs;
      const toKeep = { set, proved: Math.round(proved), rights: rights.kept };
      const left = await storeKept(client, cluster, toKeep, clock);
      metrics.unkept.set(left);
      if (left > 0)
        log.warn({ tokens: left }, 'not all tokens fit into the Secret for a restart in an outage');
    } catch (error) {
      log.warn({ err: error }, 'the present set cannot be kept for a restart in an outage');
    }
  }
}
