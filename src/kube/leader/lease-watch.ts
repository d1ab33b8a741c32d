import { leases } from '../../api/resources.ts';
import { watchQuery } from '../cache/watch-requests.ts';
import type { KubeClient } from '../client/client.ts';
import type { WatchEvent } from '../client/watch-stream.ts';
import type { Clock, Timer } from '../clock.ts';
import { badAnswer } from '../kube-error.ts';
import { collectionPath } from '../resource-path.ts';
import type { Lease } from './lease.ts';

export interface LeaseWatchOptions {
  readonly client: Pick<KubeClient, 'watch'>;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  /** Of the lease that is known. */
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  /** Asked at the start and after each event: silence for longer than this ends the watch. */
  readonly maxSilenceMs: () => number;
  /** Returns whether the watch has done its duty. */
  readonly onLease: (lease: Lease) => boolean;
}

/** `told`: by `onLease`. `silent`: also where the signal aborted. `ended`: by the server, or because the lease was deleted. */
export type WatchEnd = 'told' | 'silent' | 'ended';

/** A server ends a watch after some time by itself; seconds. */
const watchSeconds = 540;
const maxLineBytes = 2 ** 20;

/** Follows one lease for as long as there is news of it. Rejects with a KubeError where the watch fails. */
export async function watchLease(options: LeaseWatchOptions): Promise<WatchEnd> {
  const { client, namespace, signal, onLease } = options;
  const silence = new Silence(options);
  const path = collectionPath(leases, namespace);
  const watching = { signal: AbortSignal.any([signal, silence.signal]), idleMs, maxLineBytes };
  try {
    for await (const event of client.watch(path, queryOf(options), watching)) {
      const lease = leaseOf(event, path);
      if (lease === undefined) return 'ended';
      if (onLease(lease)) return 'told';
      silence.begin();
    }
    return 'ended';
  } catch (error) {
    if (watching.signal.aborted) return 'silent';
    throw error;
  } finally {
    silence.end();
  }
}

/** `undefined` where it was deleted. */
function leaseOf({ type, object }: WatchEvent, path: string): Lease | undefined {
  if (type === 'ADDED' || type === 'MODIFIED') return object as Lease;
  if (type === 'DELETED') return undefined;
  throw badAnswer({ verb: 'WATCH', path }, `an event of type ${type}`, 200);
}

/** Silence ends it long before. */
const idleMs = 1_000 * (watchSeconds + 60);

function queryOf({ name, resourceVersion }: LeaseWatchOptions): URLSearchParams {
  const query = watchQuery({ fieldSelector: `metadata.name=${name}` }, watchSeconds);
  query.delete('allowWatchBookmarks');
  query.set('resourceVersion', resourceVersion);
  return query;
}

/** Aborts its signal when it has lasted too long. */
class Silence {
  readonly #options: Pick<LeaseWatchOptions, 'clock' | 'maxSilenceMs'>;
  readonly #tooLong = new AbortController();
  #timer: Timer | undefined;

  constructor(options: Pick<LeaseWatchOptions, 'clock' | 'maxSilenceMs'>) {
    this.#options = options;
    this.begin();
  }

  get signal(): AbortSignal {
    return this.#tooLong.signal;
  }

  begin(): void {
    this.end();
    const { clock, maxSilenceMs } = this.#options;
    this.#timer = clock.setTimer(() => this.#tooLong.abort(), maxSilenceMs());
  }

  end(): void {
    this.#timer?.cancel();
  }
}
