import { type Condition, conditionTypes, findCondition } from '../../../api/conditions.ts';
import { asObject, type JsonObject } from '../../../api/json.ts';
import { type Reason, reasons } from '../../../api/reasons.ts';
import { parseConditions } from '../../../credentials/confirmation.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import type { HTTPErrorCode } from '../../../errors.ts';
import type { Store } from '../../../kube/cache/store.ts';
import type { Clock, Timer } from '../../../kube/clock.ts';
import { isVersion, type KubeObject, keyOf } from '../../../kube/object.ts';
import type { Arrivals } from '../../index/arrivals.ts';
import { type ErrorAnswer, errorAnswer } from '../../server/error-answer.ts';
import type { EndpointServices } from '../shared/endpoint.ts';
import { foundInArrival, type Reading, readWhole } from './request.ts';

/** A request that made a credential. */
export interface Issuing extends Reading {
  readonly services: Pick<EndpointServices, 'clock'> & {
    readonly index: Pick<EndpointServices['index'], 'records'>;
  };
}

/** The outcome for a new object. */
interface Outcome {
  /** As it came last, credentials included. */
  readonly object: JsonObject;
  /** Why it has no credential that works here. */
  readonly problem?: string;
  /** The same, where it will have none. */
  readonly refusal?: Condition;
}

/**
 * Waits until the index of this gateway holds what the operator confirmed, so that the next request finds it; or until the
 * operator has said that it cannot; at most for some time.
 */
export async function untilIssued(request: Issuing, created: JsonObject, maxMs: number): Promise<Outcome> {
  const { services, kind, response } = request;
  const metadata = asObject(created['metadata']);
  const key = keyOf({ name: String(metadata['name']), namespace: String(metadata['namespace'] ?? '') });
  const uid = String(metadata['uid']);
  const { ofKind, arrivals } = services.index.records;
  const changes = new ObjectChanges({ store: ofKind[kind], arrivals: arrivals[kind], key, uid });
  const timer = services.clock.setTimer(() => changes.end(), maxMs);
  const onClose = () => changes.end();
  response.once('close', onClose);
  try {
    let seen = metadata['resourceVersion'];
    for await (const change of changes) {
      const { uid: present, resourceVersion } = change.record;
      if (present !== uid || resourceVersion === seen) continue;
      // Each object takes the place of the one before.
      request.held.giveBack(request.held.size);
      const found = await examine(request, change);
      if (found === 'gone') break;
      if (found === 'unread') changes.lookAgain(services.clock);
      else seen = resourceVersion;
      if (typeof found === 'object') return found;
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
async function examine(request: Issuing, change: Change): Promise<Outcome | 'waiting' | 'unread' | 'gone'> {
  const object = await wholeOf(request, change).catch((error: unknown) => {
    if (request.response.destroyed) throw error;
    return null;
  });
  if (object === null) return 'unread';
  if (object === undefined) return 'gone';
  const refusal = refusalIn(object as KubeObject & JsonObject);
  if (isConfirmed(change.record) && !isBlocked(refusal)) return { object };
  if (refusal === undefined) return 'waiting';
  return { object, refusal, problem: `${refusal.reason}: ${refusal.message}` };
}

const wholeOf = async (request: Issuing, { record, arrived }: Change): Promise<JsonObject | undefined> =>
  arrived === undefined ? await readWhole(request, record) : foundInArrival(request, arrived).object;

/** A key below one that does not work is confirmed, and does not work either. One that is to be disabled is as its maker wants it. */
const isBlocked = (refusal: Condition | undefined): boolean =>
  refusal !== undefined && codeByReason.has(refusal.reason);

/** The index holds no hash of a certificate. */
const isConfirmed = ({ kubeConfig, fingerprints, status }: LiveRecord): boolean =>
  (status.credentialHash !== undefined || kubeConfig?.clientCert === true) &&
  status.fingerprint !== undefined &&
  fingerprints.includes(status.fingerprint);

/** Why the operator does not issue what an object asks for, where waiting does not change that, or not soon. */
export function refusalIn(object: KubeObject): Condition | undefined {
  const status = asObject((object as { readonly status?: unknown }).status);
  const conditions = parseConditions(status['conditions']);
  const ready = findCondition(conditions, conditionTypes.ready);
  if (ready?.status !== 'False' || ready.observedGeneration !== object.metadata.generation) return undefined;
  const isStalled = findCondition(conditions, conditionTypes.stalled)?.status === 'True';
  return isStalled || codeByReason.has(ready.reason) ? ready : undefined;
}

type RefusalCode = Extract<HTTPErrorCode, `ERR_KUBECONFIG_${string}`>;

/** The answer with the words of the operator, which hold no credential. */
export function refusalOf(
  code: RefusalCode,
  { reason, message }: { readonly reason: string; readonly message?: string | undefined },
): ErrorAnswer {
  const headers = code === 'ERR_KUBECONFIG_PENDING' ? ['retry-after', '5'] : [];
  const values = { reason, problem: (message ?? 'the operator gives no reason').replace(/\.$/, '') };
  return errorAnswer(code, values, { headers, details: { causes: [{ reason }] } });
}

const codesByRefusal: Readonly<Partial<Record<RefusalCode, readonly Reason[]>>> = {
  ERR_KUBECONFIG_ENDPOINT: [reasons.noIngressEndpoint],
  ERR_KUBECONFIG_FORBIDDEN: [
    reasons.useNotAllowed,
    reasons.clientCertNotAllowed,
    reasons.requesterNotAllowed,
    reasons.requesterNotPermitted,
    reasons.requesterUnknown,
    reasons.changedBeyondLimits,
    reasons.changeNotAllowed,
    reasons.accessKeyNotAllowed,
    reasons.accessKeyRequired,
  ],
  ERR_KUBECONFIG_INSTANCE: [reasons.instanceGone],
  ERR_KUBECONFIG_INVALID: [
    reasons.noProject,
    reasons.identityInvalid,
    reasons.accessKeyNotFound,
    reasons.accessKeyGone,
    reasons.accessKeyNotLive,
    reasons.locked,
    reasons.accessKeyChainInvalid,
    reasons.tokenTooLarge,
    reasons.objectTooLarge,
    reasons.quotaExceeded,
    reasons.certificateDenied,
    reasons.kubeConfigRefused,
    reasons.addressRefused,
    reasons.targetInUse,
    reasons.secretConflict,
  ],
};

/** Of what the operator calls Stalled, and of what it asks about again although it will hardly change while a client waits. */
export const codeByReason: ReadonlyMap<string, RefusalCode> = new Map(
  Object.entries(codesByRefusal).flatMap(([code, list]) =>
    list.map((reason) => [reason, code as RefusalCode] as const),
  ),
);

interface Change {
  readonly record: LiveRecord;
  /** The object behind the record; undefined where the watch brought it before anyone waited for it. */
  readonly arrived: KubeObject | undefined;
}

interface ChangesOptions {
  readonly store: Store<LiveRecord>;
  readonly arrivals: Pick<Arrivals, 'on'>;
  readonly key: string;
  /** Of the object that is meant: what others make under its name is not kept. */
  readonly uid: string;
}

/** Until the same is brought once more. */
const pauseMs = 500;

/** The record under one key of the index: as it is, and then as it becomes. Changes that come in between count as one. Call `end`. */
class ObjectChanges implements AsyncIterable<Change> {
  readonly #options: ChangesOptions;
  readonly #unsubscribe: readonly (() => void)[];
  #next = Promise.withResolvers<void>();
  #isOver = false;
  #timer: Timer | undefined;
  #arrived: KubeObject | undefined;

  constructor(options: ChangesOptions) {
    const { store, arrivals, key, uid } = options;
    this.#options = options;
    this.#unsubscribe = [
      store.subscribe((change) => {
        if (change.key === key) this.#next.resolve();
      }),
      arrivals.on(key, (object) => {
        if (object.metadata.uid === uid) this.#arrived = object;
      }),
    ];
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Change> {
    const { store, key } = this.#options;
    while (!this.#isOver) {
      const record = store.get(key);
      if (record !== undefined) yield { record, arrived: this.#takeArrived(record) };
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
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#next.resolve();
  }

  /** It holds a credential, so it is given away and not kept. */
  #takeArrived(record: LiveRecord): KubeObject | undefined {
    const object = this.#arrived;
    this.#arrived = undefined;
    return isVersion(object, record) ? object : undefined;
  }
}
