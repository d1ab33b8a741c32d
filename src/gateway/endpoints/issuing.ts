import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { asObject, type JsonObject } from '../../api/json.ts';
import { parseConditions } from '../../credentials/confirmation.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { Clock, Timer } from '../../kube/clock.ts';
import { keyOf } from '../../kube/object.ts';
import type { OwnRequest } from './own-request.ts';
import { readWhole } from './read-own.ts';

/** What became of a new object. */
export interface Outcome {
  /** As it was read last, credentials included. */
  readonly object: JsonObject;
  /** Why it has no credential that works here. */
  readonly problem?: string;
}

/**
 * Waits until the index of this gateway holds what the operator confirmed, so that the next request finds it; or until the
 * operator has said that it cannot; at most for some time.
 */
export async function untilIssued(request: OwnRequest, created: JsonObject, maxMs: number): Promise<Outcome> {
  const { services, kind, response } = request;
  const metadata = asObject(created['metadata']);
  const key = keyOf({ name: String(metadata['name']), namespace: String(metadata['namespace'] ?? '') });
  const uid = metadata['uid'];
  const changes = new KeyChanges(services.index.records.ofKind[kind], key);
  const timer = services.clock.setTimer(() => changes.end(), maxMs);
  const onClose = () => changes.end();
  response.once('close', onClose);
  try {
    let seen = metadata['resourceVersion'];
    for await (const record of changes) {
      if (record.uid !== uid || record.resourceVersion === seen) continue;
      // Each reading takes the place of the one before.
      request.held.giveBack(request.held.size);
      const read = await examine(request, record);
      if (read === 'gone') break;
      if (read === 'unread') changes.lookAgain(services.clock);
      else seen = record.resourceVersion;
      if (typeof read === 'object') return read;
    }
    return { object: created, problem: 'the operator has not confirmed it yet' };
  } finally {
    timer.cancel();
    changes.end();
    response.off('close', onClose);
  }
}

/**
 * One that cannot be read is made all the same, and with an error its credential would be lost: an API server that is too busy for this
 * may not be so the next time.
 */
async function examine(
  request: OwnRequest,
  record: LiveRecord,
): Promise<Outcome | 'waiting' | 'unread' | 'gone'> {
  const object = await readWhole(request, record).catch((error: unknown) => {
    if (request.response.destroyed) throw error;
    return null;
  });
  if (object === null) return 'unread';
  if (object === undefined) return 'gone';
  if (isConfirmed(record)) return { object };
  const conditions = parseConditions(asObject(object['status'])['conditions']);
  const stalled = findCondition(conditions, conditionTypes.stalled);
  if (stalled?.status !== 'True') return 'waiting';
  return { object, problem: `${stalled.reason}: ${stalled.message}` };
}

/** The index holds no hash of a certificate. */
const isConfirmed = ({ kubeConfig, fingerprints, status }: LiveRecord): boolean =>
  (status.credentialHash !== undefined || kubeConfig?.clientCert === true) &&
  status.fingerprint !== undefined &&
  fingerprints.includes(status.fingerprint);

/** Until what could not be read is read again. */
const pauseMs = 500;

/** The record under one key: as it is, and then as it becomes. Changes that come in between count as one. */
class KeyChanges implements AsyncIterable<LiveRecord> {
  readonly #store: Store<LiveRecord>;
  readonly #key: string;
  readonly #unsubscribe: () => void;
  #next = Promise.withResolvers<void>();
  #isOver = false;
  #timer: Timer | undefined;

  constructor(store: Store<LiveRecord>, key: string) {
    this.#store = store;
    this.#key = key;
    this.#unsubscribe = store.subscribe((change) => {
      if (change.key === key) this.#next.resolve();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LiveRecord> {
    while (!this.#isOver) {
      const record = this.#store.get(this.#key);
      if (record !== undefined) yield record;
      await this.#next.promise;
      this.#next = Promise.withResolvers<void>();
    }
  }

  /** Brings the record once more, after a pause. */
  lookAgain(clock: Clock): void {
    this.#timer?.cancel();
    this.#timer = clock.setTimer(() => this.#next.resolve(), pauseMs);
  }

  end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#unsubscribe();
    this.#next.resolve();
  }
}
