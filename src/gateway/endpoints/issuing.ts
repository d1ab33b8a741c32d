import type { Condition } from '../../api/conditions.ts';
import { asObject, type JsonObject } from '../../api/json.ts';
import { parseConditions } from '../../credentials/confirmation.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
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
      seen = record.resourceVersion;
      // Each reading takes the place of the one before.
      request.held.giveBack(request.held.size);
      const object = await readWhole(request, record);
      if (object === undefined) break;
      if (isConfirmed(record)) return { object };
      const stalled = conditionOf(object, 'Stalled');
      if (stalled?.status === 'True') return { object, problem: `${stalled.reason}: ${stalled.message}` };
    }
    return { object: created, problem: 'the operator has not confirmed it yet' };
  } finally {
    timer.cancel();
    changes.end();
    response.off('close', onClose);
  }
}

/** The index holds no hash of a certificate. */
const isConfirmed = ({ kubeConfig, fingerprints, status }: LiveRecord): boolean =>
  (status.credentialHash !== undefined || kubeConfig?.clientCert === true) &&
  status.fingerprint !== undefined &&
  fingerprints.includes(status.fingerprint);

const conditionOf = (object: JsonObject, type: Condition['type']): Condition | undefined =>
  parseConditions(asObject(object['status'])['conditions']).find((condition) => condition.type === type);

/** The record under one key: as it is, and then as it becomes. Changes that come in between count as one. */
class KeyChanges implements AsyncIterable<LiveRecord> {
  readonly #store: Store<LiveRecord>;
  readonly #key: string;
  readonly #unsubscribe: () => void;
  #next = Promise.withResolvers<void>();
  #isOver = false;

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

  end(): void {
    this.#isOver = true;
    this.#unsubscribe();
    this.#next.resolve();
  }
}
