import { defined } from '../../api/json.ts';
import { labels, purposes, systemNamespace, targetsNamespace } from '../../api/names.ts';
import { secrets } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { isGone } from '../../kube/kube-error.ts';
import type { KubeList, KubeObject, ObjectKey } from '../../kube/object.ts';
import { sleep } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';
import { targetSecretKey } from '../../platform/targets/target-access.ts';

export interface TargetSweepOptions {
  /** Of the platform. */
  readonly client: Pick<KubeClient, 'list' | 'delete'>;
  /** Whether an object that a target belongs to has this UID; to be asked only when all of them are known. */
  readonly isKnown: (uid: string) => boolean;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** Between two sweeps. */
const intervalMs = 3_600_000;
const pageSize = 500;
/** In one sweep. The next one goes on. */
const maxDeletes = 200;

/**
 * Deletes the access to targets whose object is gone: it was let go of while its Secret could not be deleted, or its
 * finalizer was stripped while no operator was there. Deletes also what earlier releases kept in the system namespace,
 * where no one looks for it any more.
 */
export class TargetSweep {
  readonly #options: TargetSweepOptions;

  constructor(options: TargetSweepOptions) {
    this.#options = options;
  }

  /** Sweeps at once and then every hour, until the signal aborts. To be started when the stores have synced. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    while (!signal.aborted) {
      await this.sweep(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, 'Secrets of former targets could not be swept');
      });
      await sleep(clock, intervalMs * (0.9 + 0.2 * random()), signal);
    }
  }

  /** Resolves with the number of Secrets that it deleted. */
  async sweep(signal: AbortSignal): Promise<number> {
    const { isKnown, log } = this.#options;
    const orphans = await this.#deleteIn(targetsNamespace, (uid) => !isKnown(uid), maxDeletes, signal);
    const moved = await this.#deleteIn(systemNamespace, () => true, maxDeletes - orphans, signal);
    if (orphans > 0) log.info({ count: orphans }, 'Secrets of former targets were deleted');
    if (moved > 0)
      log.info({ count: moved }, 'Secrets of targets were deleted where earlier releases kept them');
    return orphans + moved;
  }

  /** Resolves with the number of Secrets that it deleted, at most `max`. */
  async #deleteIn(
    namespace: string,
    isLeft: (ownerUID: string) => boolean,
    max: number,
    signal: AbortSignal,
  ): Promise<number> {
    const labelSelector = `${labels.purpose}=${purposes.target}`;
    let deleted = 0;
    let next: string | undefined;
    do {
      const page: KubeList<KubeObject> = await this.#options.client.list<KubeObject>(secrets, {
        ...{ namespace, labelSelector, limit: pageSize, signal },
        ...defined({ continue: next }),
      });
      const left = page.items.filter((secret) => isOf(secret, isLeft)).slice(0, max - deleted);
      for (const { metadata } of left) await this.#delete({ ...metadata, namespace }, signal);
      deleted += left.length;
      next = page.metadata.continue || undefined;
    } while (next !== undefined && deleted < max);
    return deleted;
  }

  async #delete({ name, namespace, uid }: Required<ObjectKey> & { uid: string }, signal: AbortSignal) {
    await this.#options.client
      .delete(secrets, { namespace, name }, { preconditions: { uid }, signal })
      .catch((error: unknown) => {
        if (!isGone(error)) throw error;
      });
  }
}

/** The name is part of it: a copy under another name is not ours. */
function isOf({ metadata }: KubeObject, isLeft: (ownerUID: string) => boolean): boolean {
  const uid = metadata.labels?.[labels.ownerUID];
  return uid !== undefined && metadata.name === targetSecretKey({ uid }).name && isLeft(uid);
}
