import { apiVersion } from '../../api/names.ts';
import { clusters } from '../../api/resources.ts';
import type { ErrorCode } from '../../errors.ts';
import { BackOff } from '../../kube/back-off.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock, Timer } from '../../kube/clock.ts';
import { isNotFound, KubeError } from '../../kube/kube-error.ts';
import { sleep } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';
import { liveCredentials } from '../../scope/gate/agents.ts';
import { type FollowedCredentials, silenceMs } from './followed-credentials.ts';
import { BadStream, maxLineBytes } from './line-reader.ts';

export interface StreamFollowerOptions {
  /** Of the platform's gateway, as the agent. */
  readonly client: Pick<KubeClient, 'watch'>;
  readonly cluster: string;
  readonly followed: FollowedCredentials;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** For the first line: the gateway asks for the right of the agent before. */
const firstLineMs = 15_000;
/** A stream whose gateway proves nothing for so long is left for another one, milliseconds. It may have 100,000 users to ask about first. */
const maxUnprovedMs = { synced: 60_000, syncing: 10 * 60_000 };
const checkMs = 1_000;

/** Follows the stream of live credentials, and begins a new one whenever it ends. */
export class StreamFollower {
  readonly #options: StreamFollowerOptions;

  constructor(options: StreamFollowerOptions) {
    this.#options = options;
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, followed, log, random } = this.#options;
    const backOff = new BackOff({ initialMs: 500, maxMs: 10_000, random });
    while (!signal.aborted) {
      try {
        await this.#follow(signal, () => backOff.reset());
        if (!signal.aborted) log.info({}, 'the stream of live credentials has ended; another one begins');
      } catch (error) {
        if (signal.aborted) break;
        this.#onFailure(error);
      }
      followed.end();
      await sleep(clock, backOff.next(), signal);
    }
  }

  #onFailure(error: unknown): void {
    const { cluster, followed, log } = this.#options;
    if (isNoCluster(error)) {
      followed.forget();
      log.warn({ cluster }, 'the platform has no such Cluster: no token is good here');
      return;
    }
    log.warn(
      { err: error, cause: causeOf(error) },
      'the stream of live credentials is broken; another one begins',
    );
  }

  async #follow(signal: AbortSignal, onProved: () => void): Promise<void> {
    const { client, cluster, followed } = this.#options;
    const left = new AbortController();
    const guard = this.#guard(left);
    const query = new URLSearchParams({ watch: 'true' });
    const ended = AbortSignal.any([signal, left.signal]);
    const path = `/apis/${apiVersion}/${clusters.plural}/${cluster}/${liveCredentials}`;
    const limits = { signal: ended, idleMs: silenceMs, firstEventMs: firstLineMs, maxLineBytes };
    followed.begin();
    try {
      for await (const line of client.watch(path, query, limits)) {
        followed.take(line);
        if (!followed.isAway) onProved();
      }
    } finally {
      guard.cancel();
    }
  }

  /** Leaves a stream that goes on without a proof. */
  #guard(left: AbortController): Timer {
    const { clock, followed } = this.#options;
    const began = clock.monotonic();
    let timer: Timer;
    const check = () => {
      const unprovedMs = Math.min(followed.silentMs, clock.monotonic() - began);
      const maxMs = followed.isSynced ? maxUnprovedMs.synced : maxUnprovedMs.syncing;
      if (unprovedMs >= maxMs) return left.abort(new BadStream('it proves nothing for too long'));
      timer = clock.setTimer(check, checkMs);
    };
    timer = clock.setTimer(check, checkMs);
    return { cancel: () => timer.cancel() };
  }
}

/**
 * The gateway itself says that the Cluster is not there. Any other 404 may come from a proxy, or from a platform whose path has
 * changed, and must not lock everyone out.
 */
const isNoCluster = (error: unknown): boolean =>
  isNotFound(error) && (error.details?.causes?.some(({ reason }) => reason === noCluster) ?? false);
const noCluster: ErrorCode = 'ERR_TARGET_UNKNOWN';

/** One word for the log: an agent without its right is mended on the platform, everything else is not. */
const causeOf = (error: unknown): string => {
  if (error instanceof BadStream) return error.message;
  if (!(error instanceof KubeError)) return 'unexpected';
  return error.status === 401 || error.status === 403
    ? 'the platform refuses the agent'
    : 'the platform is away';
};
