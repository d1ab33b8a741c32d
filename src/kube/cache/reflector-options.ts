import type { Resource } from '../../api/resources.ts';
import type { Logger } from '../../logger.ts';
import type { KubeClient } from '../client/client.ts';
import type { KubeObject } from '../object.ts';
import type { RetriesOptions } from './retries.ts';
import type { Store, StoredRecord } from './store.ts';

export type ReflectorClient = Pick<KubeClient, 'list' | 'watch' | 'overOneConnection'>;

/**
 * The slim record of an object, with the key of `keyOf`; `undefined` leaves the object out. It must not keep the
 * object. Where it throws, the object counts as not there: what cannot be read must grant nothing.
 */
export type ToRecord<R> = (object: KubeObject) => R | undefined;

export interface ReflectorOptions<R extends StoredRecord> extends RetriesOptions {
  readonly client: ReflectorClient;
  readonly resource: Resource;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly toRecord: ToRecord<R>;
  readonly store: Store<R>;
  readonly log: Logger;
  /** How long the server keeps a watch open, in seconds; a random time between both. Default 300 to 600. */
  readonly watchSeconds?: readonly [number, number];
  /**
   * A watch without a byte for this long has failed. Whether watches bring anything at all is asked before the next. Default 130 s,
   * because bookmarks come every 1 to 2 minutes; with `proofTimeoutMs`, and no question, a few seconds more than the server keeps
   * the watch.
   */
  readonly idleMs?: number;
  /**
   * For what must not be believed once its news stays away: the server says before each watch how far things are, within this time and
   * over the same connection. The store is fresh since then once the watch has brought as much, be it by a bookmark. `watchSeconds`
   * bounds how old that gets: an API server sends a bookmark two seconds before the end. Default: an open watch counts.
   */
  readonly proofTimeoutMs?: number;
  /** Default 16 MiB. */
  readonly maxLineBytes?: number;
  /** Objects a page where the server has no streaming lists. Default 500. */
  readonly pageSize?: number;
  /** Called after each failure, for metrics. */
  readonly onRestart?: () => void;
}
