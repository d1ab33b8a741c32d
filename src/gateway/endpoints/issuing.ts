import type { Condition } from '../../api/conditions.ts';
import { asObject, type JsonObject } from '../../api/json.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import { refusalIn } from './kubeconfig-object.ts';
import { type Change, ObjectChanges } from './object-changes.ts';
import type { OwnRequest } from './own-request.ts';
import { readWhole } from './read-own.ts';
import { Refusal } from './refusal.ts';
import { tooManyBytes } from './request-body.ts';

/** What became of a new object. */
export interface Outcome {
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
export async function untilIssued(request: OwnRequest, created: JsonObject, maxMs: number): Promise<Outcome> {
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
async function examine(
  request: OwnRequest,
  change: Change,
): Promise<Outcome | 'waiting' | 'unread' | 'gone'> {
  const object = await wholeOf(request, change).catch((error: unknown) => {
    if (request.response.destroyed) throw error;
    return null;
  });
  if (object === null) return 'unread';
  if (object === undefined) return 'gone';
  if (isConfirmed(change.record)) return { object };
  const refusal = refusalIn(object as KubeObject & JsonObject);
  if (refusal === undefined) return 'waiting';
  return { object, refusal, problem: `${refusal.reason}: ${refusal.message}` };
}

/** The watch brings it with the same right that it would be read with, and it takes as much memory. */
async function wholeOf(request: OwnRequest, { record, arrived }: Change): Promise<JsonObject | undefined> {
  if (arrived === undefined) return await readWhole(request, record);
  if (!request.held.take(Buffer.byteLength(JSON.stringify(arrived)))) throw new Refusal(tooManyBytes);
  return { ...arrived };
}

/** The index holds no hash of a certificate. */
const isConfirmed = ({ kubeConfig, fingerprints, status }: LiveRecord): boolean =>
  (status.credentialHash !== undefined || kubeConfig?.clientCert === true) &&
  status.fingerprint !== undefined &&
  fingerprints.includes(status.fingerprint);
